import { systemNamespace } from '../api/names.ts';
import { LatchkeyError } from '../errors.ts';
import type { KubeClient } from '../kube/client/client.ts';

type Requests = Pick<KubeClient, 'request'>;

/** Which process this is, and the name of the ServiceAccount that it runs as. */
interface Self {
  readonly component: string;
  readonly account: string;
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

async function checkVersion(client: Requests, signal: AbortSignal): Promise<void> {
  const { major, minor, gitVersion } = await client.request<Record<'major' | 'minor' | 'gitVersion', string>>(
    'GET',
    '/version',
    { signal },
  );
  const [served, fine] = [Number.parseInt(major, 10), Number.parseInt(minor, 10)];
  const recent = served > minimum.major || (served === minimum.major && fine >= minimum.minor);
  if (!recent) {
    throw new LatchkeyError('ERR_KUBERNETES_VERSION', {
      minimum: `${minimum.major}.${minimum.minor}`,
      version: gitVersion,
    });
  }
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
