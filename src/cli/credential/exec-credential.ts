/** The answer that a Kubernetes client waits for. */
export function execCredential(
  credential: Ends & { readonly key: string },
  info: string | undefined,
  now: number,
): string {
  const until = askAgainAt(credential, now);
  return `${JSON.stringify({
    apiVersion: apiVersionIn(info) ?? newest,
    kind: 'ExecCredential',
    status: {
      // Clients that run for long ask again then, while the present key still works.
      ...(until === undefined ? {} : { expirationTimestamp: instant(until) }),
      token: credential.key,
    },
  })}\n`;
}

interface Ends {
  readonly end?: number;
  readonly renewAt?: number;
}

/** A renewal that is due and has not come about, in an outage, is tried again soon, and not at each request. */
function askAgainAt({ end, renewAt }: Ends, now: number): number | undefined {
  if (renewAt === undefined || renewAt > now) return renewAt ?? end;
  return Math.min(end ?? Number.POSITIVE_INFINITY, now + soonMs);
}

const soonMs = 30_000;

const newest = 'client.authentication.k8s.io/v1';

/** The version that the client speaks. It may send kilobytes besides, which are not needed here. */
const apiVersionIn = (info: string | undefined): string | undefined =>
  info === undefined
    ? undefined
    : /"apiVersion"\s*:\s*"(client\.authentication\.k8s\.io\/v1(?:beta1)?)"/.exec(info)?.[1];

const instant = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`;
