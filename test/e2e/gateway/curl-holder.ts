import { spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { parse, stringify } from 'yaml';
import type { Stored } from '../../../lab/operator/api.ts';
import type { GatewayWorld } from './gateway-world.ts';
import { knownHolder } from './known-holder.ts';
import { ownKeys } from './own-client.ts';

export interface CurlAnswer {
  readonly status: number;
  /** The lines of the head. */
  readonly head: string;
  /** The body as it came. */
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: answers are checked by the tests
  readonly body: any;
}

interface CurlOptions {
  /** An object is sent in the form of the type. */
  readonly body?: unknown;
  /** Default: YAML. */
  readonly type?: string;
  readonly accept?: string;
}

/** curl in the hands of a holder, who sends and receives what the contract shows. */
export class CurlHolder {
  readonly key: string;
  readonly #world: GatewayWorld;
  readonly #place: { readonly url: string; readonly config: string };

  static async with(world: GatewayWorld, key: string, gateway = world.gateway): Promise<CurlHolder> {
    const file = (kind: string) => path.join(world.guard.folder, world.name(kind));
    const [caFile, config] = [file('gateway-ca'), file('curl')];
    await writeFile(caFile, gateway.ca);
    // Not among the arguments, which everybody on a machine sees.
    const lines = [`cacert = "${caFile}"`, `header = "Authorization: Bearer ${key}"`];
    await writeFile(config, lines.join('\n'), { mode: 0o600 });
    return new CurlHolder(world, key, { url: gateway.url, config });
  }

  private constructor(world: GatewayWorld, key: string, place: { url: string; config: string }) {
    this.#world = world;
    this.key = key;
    this.#place = place;
  }

  /** `place` begins behind the base URL. What is made there goes after the tests. */
  async send(method: string, place: string, options: CurlOptions = {}): Promise<CurlAnswer> {
    const { body, type = 'application/yaml', accept } = options;
    const sent = body === undefined ? [] : ['--header', `Content-Type: ${type}`, '--data-binary', '@-'];
    const asked = accept === undefined ? [] : ['--header', `Accept: ${accept}`];
    const args = [
      '--silent',
      '--show-error',
      '--include',
      '--max-time',
      '60',
      '--config',
      this.#place.config,
    ];
    const url = this.#place.url + place;
    const answer = await curl([...args, ...sent, ...asked, '--request', method, url], inForm(body, type));
    if (answer.status === 201 && !place.includes('dryRun')) this.#track(answer.body);
    return answer;
  }

  /** A new access key of this holder, where it stands, and its own holder. */
  async make(spec: object = {}, metadata: object = {}) {
    const { status, text: shown, body } = await this.send('POST', ownKeys, { body: { metadata, spec } });
    if (status !== 201) throw new Error(`no key was made: ${shown}`);
    const holder = await CurlHolder.with(this.#world, body.spec.key);
    return { object: body, place: `${ownKeys}/${body.metadata.name}`, holder };
  }

  #track(body: Stored): void {
    if (body.metadata?.uid !== undefined) this.#world.admin.track(body);
  }
}

/** The holder of a new key that the gateway accepts. */
export async function curlHolder(world: GatewayWorld, spec: object): Promise<CurlHolder> {
  return await CurlHolder.with(world, (await knownHolder(world, spec)).key);
}

const inForm = (body: unknown, type: string): string =>
  typeof body === 'string'
    ? body
    : /json$/.test(type)
      ? JSON.stringify(body)
      : stringify(body, { version: '1.1' });

async function curl(args: readonly string[], input: string): Promise<CurlAnswer> {
  const child = spawn('curl', args);
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  const ended = new Promise<number>((resolve) => child.once('close', (code) => resolve(code ?? 1)));
  const [stdout, stderr, exitCode] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  if (exitCode !== 0) throw new Error(`curl ended with ${exitCode}: ${stderr}`);
  // An answer that says to go on stands before the one that counts.
  const [, status, head = '', body = ''] =
    /^(?:HTTP\/1\.1 1\d\d.*\r\n(?:.+\r\n)*\r\n)*HTTP\/1\.1 (\d+).*\r\n((?:.+\r\n)*)\r\n([\s\S]*)$/.exec(
      stdout,
    ) ?? [];
  return {
    status: Number(status),
    head,
    text: body,
    body: body === '' ? undefined : parse(body, { version: '1.1' }),
  };
}
