import { asObject, asText } from '../api/json.ts';
import { systemNamespace } from '../api/names.ts';
import { LatchkeyError } from '../errors.ts';
import { BackOff } from '../kube/back-off.ts';
import type { KubeClient } from '../kube/client/client.ts';
import type { Clock } from '../kube/clock.ts';
import { KubeError } from '../kube/kube-error.ts';
import { isEmulated, servedVersion } from '../kube/served-version.ts';
import { sleep } from '../kube/sleep.ts';
import type { Logger } from '../logger.ts';

type Requests = Pick<KubeClient, 'request'>;

/** Which process this is, and the name of the ServiceAccount that it runs as. */
interface Self {
  readonly component: string;
  readonly account: string;
}

interface Waiting {
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly log: Logger;
}

const minimum = { major: 1, minor: 36 };

/**
 * Checks what nothing works without: the version of the API server, and that this process is the account which the
 * admission policies name in full. Throws `ERR_KUBERNETES_VERSION` or `ERR_INSTALLATION`.
 */
export async function checkInstallation(client: Requests, self: Self, signal: AbortSignal): Promise<void> {
  await checkVersion(client, signal);
  await checkIdentity(client, self, signal);
}

/**
 * The same, and waits for as long as the API server is away or refuses to answer: a process that ended would be started
 * again with longer and longer pauses, and come minutes after the API server.
 */
export async function untilInstalled(
  client: Requests,
  self: Self,
  { clock, random, log }: Waiting,
  signal: AbortSignal,
): Promise<void> {
  const backOff = new BackOff({ initialMs: 500, maxMs: 10_000, random });
  for (;;) {
    try {
      return await checkInstallation(client, self, signal);
    } catch (error) {
      if (signal.aborted || !(error instanceof KubeError)) throw error;
      const delayMs = backOff.next();
      log.warn({ err: error, delayMs }, 'the API server does not answer yet; it will be asked again');
      await sleep(clock, delayMs, signal);
    }
  }
}

async function checkVersion(client: Requests, signal: AbortSignal): Promise<void> {
  const answer = await client.request<unknown>('GET', '/version', { signal });
  const { major, minor } = servedVersion(answer);
  if (major > minimum.major || (major === minimum.major && minor >= minimum.minor)) return;
  const { gitVersion } = asObject(answer);
  const version = asText(gitVersion) ?? 'unknown';
  throw new LatchkeyError('ERR_KUBERNETES_VERSION', {
    minimum: `${minimum.major}.${minimum.minor}`,
    version: isEmulated(answer) ? `${version}, which works as ${major}.${minor}` : version,
  });
}

async function checkIdentity(
  client: Requests,
  { component, account }: Self,
  signal: AbortSignal,
): Promise<void> {
  const ownName = `system:serviceaccount:${systemNamespace}:${account}`;
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
  const path = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
  const review = await client.request<{ status?: { userInfo?: { username?: string } } }>('POST', path, {
    body,
    signal,
    unguarded: true,
  });
  const name = review.status?.userInfo?.username ?? 'nobody';
  if (name !== ownName) {
    throw new LatchkeyError('ERR_INSTALLATION', {
      problem: `the ${component} must run as ${ownName}, not as ${name}`,
    });
  }
}
