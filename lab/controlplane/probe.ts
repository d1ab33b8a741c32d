import { readFile } from 'node:fs/promises';
import { request } from 'node:https';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import type { Identity } from './certificates.ts';
import type { GuardedProcess } from './guard.ts';

export interface ProbeTarget {
  readonly server: string;
  readonly authority: Identity;
  readonly client: Identity;
}

/** Somebody else took a port between our choice and the component's bind. */
export class PortTakenError extends Error {}

const requestTimeoutMs = 2000;
const intervalMs = 40;
const logTailCharacters = 3000;

interface Answer {
  readonly status: number | undefined;
  readonly text: string;
}

/** Status code of a GET, or undefined when nothing answers (yet). */
export async function statusOf(target: ProbeTarget, path: string): Promise<number | undefined> {
  return (await answerTo(target, path))?.status;
}

/** The answer to a GET, or undefined when nothing answers (yet). */
export async function answerTo(target: ProbeTarget, path: string): Promise<Answer | undefined> {
  return await new Promise((resolve) => {
    const { authority, client } = target;
    const tls = { ca: authority.certificate, cert: client.certificate, key: client.key };
    const url = new URL(path, target.server);
    const outgoing = request(url, { ...tls, agent: false, timeout: requestTimeoutMs }, (response) => {
      const answer = (body: string) => resolve({ status: response.statusCode, text: body });
      text(response).then(answer, () => resolve(undefined));
    });
    outgoing.once('timeout', () => outgoing.destroy());
    outgoing.once('error', () => resolve(undefined));
    outgoing.end();
  });
}

/**
 * Waits until `ask` says yes.
 * @throws Error with the end of the component's log when the component ends first, or the signal aborts.
 */
export async function untilReady(
  component: GuardedProcess,
  signal: AbortSignal,
  ask: () => Promise<boolean>,
): Promise<void> {
  // Raced with the question: what answers on the port of a component that has ended may be anything, or nothing for ever.
  let exitCode: number | undefined;
  const ended = component.exited.then((code) => {
    exitCode = code;
    return false;
  });
  while (!(await Promise.race([ask(), ended]))) {
    if (exitCode !== undefined) throw await failure(component, `ended with code ${exitCode}`);
    if (signal.aborted) throw await failure(component, 'was not ready in time');
    await delay(intervalMs);
  }
}

async function failure(component: GuardedProcess, what: string): Promise<Error> {
  const log = await readFile(component.logPath, 'utf8').catch(() => '');
  const message = `${component.name} ${what}. The end of its log:\n${log.slice(-logTailCharacters)}`;
  return /address already in use/.test(log) ? new PortTakenError(message) : new Error(message);
}
