import { setTimeout as sleep } from 'node:timers/promises';
import { parseInstant } from '../../api/instant.ts';
import { asObject, asText, defined, parseJSON } from '../../api/json.ts';
import { apiVersion } from '../../api/names.ts';
import type { Platform } from '../gateway/platform.ts';
import type { Context } from '../shared/context.ts';
import { Failure } from '../shared/failure.ts';
import { scopeOfTarget } from '../targets/direct-endpoint.ts';
import { readTarget } from '../targets/targets.ts';
import type { Obtained, Source } from './renewal.ts';
import { childNamePrefix, timeoutMs } from './sources.ts';

/** As long as a direct endpoint goes on in an outage of the platform by default: nothing renews a token meanwhile. */
export const directTTL = 3_600;

/** The key below which a token is made. `name`: of its object, where the gateway does not put the token there by itself. */
interface Parent {
  readonly key: string;
  readonly name?: string | undefined;
}

interface DirectSource {
  readonly platform: Platform;
  readonly version: string;
  /** As `cluster/<name>` or `space/<project>/<name>`. */
  readonly target: string;
  readonly ttl: number;
  readonly parent: () => Promise<Parent>;
}

/** A short-lived token for one cluster or space, which its direct endpoint accepts. Throws a Failure for another target. */
export function directSource(
  { platform, version, target, ttl, parent }: DirectSource,
  context: Context,
): Source {
  const scope = scopeOfTarget(readTarget(target));
  return {
    version,
    isRenewable: true,
    isAccepted: async (token) => (await statusAt(context, token, checkMs)) !== 401,
    obtain: async () => {
      const { key, name } = await parent();
      const body = {
        apiVersion,
        kind: 'DirectClusterEndpointToken',
        metadata: { generateName: `${childNamePrefix(name ?? 'exchanged')}-direct-` },
        spec: defined({ accessKey: name, ttl, scope }),
      };
      const made = await platform.own('directclusterendpointtokens', {
        method: 'POST',
        body,
        key,
        timeoutMs,
      });
      const token = readToken(made);
      await untilAccepted(context, token.key);
      return token;
    },
  };
}

/** An access key of a person, by its name: below it the token ends with the key. */
export async function parentOf(platform: Platform, key: string): Promise<Parent> {
  const self = asObject((await platform.self({ key, timeoutMs }))['status']);
  const name = asText(self['accessKey']);
  if (name !== undefined) return { key, name };
  throw new Failure(
    'usage',
    'only an access key makes tokens, and this is another credential',
    'Leave `--direct` out, or use an access key.',
  );
}

function readToken(made: object): Obtained {
  const { metadata, spec, status } = made as Record<string, unknown>;
  const { token, expirationTimestamp } = asObject(status);
  if (typeof token !== 'string' || token === '')
    throw new Failure('unavailable', 'the platform has not made the token yet', 'Try again in a moment.');
  const created = parseInstant(asObject(metadata)['creationTimestamp']);
  const { ttl } = asObject(spec);
  const counted = created === undefined || typeof ttl !== 'number' ? undefined : created + ttl * 1_000;
  return defined({ key: token, end: parseInstant(expirationTimestamp) ?? counted });
}

const checkMs = 3_000;
/** The lock of a renewal has no more to spare beside the questions to the gateway. */
const acceptedMs = 800;
/** One process at a time asks, so these need no jitter. */
const pausesMs = [25, 50, 100, 200, 400];

/**
 * The endpoint learns of a token by a stream, and a client does not ask twice: without this, its first request could come before. An
 * endpoint that does not answer is left to the client, which explains it better.
 */
async function untilAccepted(context: Context, token: string): Promise<void> {
  const end = performance.now() + acceptedMs;
  for (const pause of pausesMs) {
    const left = Math.ceil(end - performance.now());
    if (left <= 0) return;
    const status = await statusAt(context, token, left).catch(() => undefined);
    if (status !== 401) return;
    await sleep(Math.min(pause, Math.max(0, end - performance.now())));
  }
}

/** The status with which the endpoint of the kubeconfig answers the token; undefined where a person asks, and there is no kubeconfig. */
async function statusAt(context: Context, token: string, timeoutMs: number): Promise<number | undefined> {
  const info = asObject(asObject(parseJSON(context.env['KUBERNETES_EXEC_INFO'] ?? ''))['spec']);
  const { server, ...cluster } = asObject(info['cluster']);
  const data = asText(cluster['certificate-authority-data']);
  if (typeof server !== 'string' || !server.startsWith('https://')) return undefined;
  const { status } = await context.send({
    method: 'GET',
    url: `${server}/version`,
    headers: { accept: 'application/json', 'user-agent': 'latchkey-cli', authorization: `Bearer ${token}` },
    ...(data === undefined ? {} : { ca: Buffer.from(data, 'base64').toString('utf8') }),
    ...{ timeoutMs, signal: context.signal },
  });
  return status;
}
