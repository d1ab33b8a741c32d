import { setTimeout as sleep } from 'node:timers/promises';
import { parseInstant } from '../../api/instant.ts';
import { asObject, asText, defined, parseJSON } from '../../api/json.ts';
import { apiVersion } from '../../api/names.ts';
import type { Platform } from '../gateway/platform.ts';
import type { Answer, Context } from '../shared/context.ts';
import { Failure, printable } from '../shared/failure.ts';
import { scopeOfTarget } from '../targets/direct-endpoint.ts';
import { readTarget } from '../targets/targets.ts';
import { NewRefused, type Obtained, refusedRetryMs, type Source } from './renewal.ts';
import { accessKeyOf, childNamePrefix, timeoutMs } from './sources.ts';

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
  /** The parent comes of a renewal with a lock of its own. */
  readonly isParentRenewed: boolean;
}

const plural = 'directclusterendpointtokens';

/** A short-lived token for one cluster or space, which its direct endpoint accepts. Throws a Failure for another target. */
export function directSource(
  { platform, version, target, ttl, parent, isParentRenewed }: DirectSource,
  context: Context,
): Source {
  const scope = scopeOfTarget(readTarget(target));
  let prepared: Parent | undefined;
  const prepare = async () => {
    prepared = await parent();
  };
  return {
    version,
    isRenewable: true,
    prepare: isParentRenewed ? prepare : undefined,
    isAccepted: async (token) => {
      // The client may reach it all the same, by a proxy that is named in the kubeconfig.
      const answer = await answerAt(context, token, checkMs).catch(unlessAway);
      return answer === undefined ? undefined : problemIn(answer) === undefined;
    },
    obtain: async () => {
      const { key, name } = prepared ?? (await parent());
      const body = {
        apiVersion,
        kind: 'DirectClusterEndpointToken',
        metadata: { generateName: `${childNamePrefix(name ?? 'exchanged')}-direct-` },
        spec: defined({ accessKey: name, ttl, scope }),
      };
      const made = await platform.own(plural, { method: 'POST', body, key, timeoutMs });
      try {
        return await readyToken(made, context);
      } catch (error) {
        await remove(platform, made, key);
        throw error;
      }
    },
  };
}

async function readyToken(made: object, context: Context): Promise<Obtained> {
  const token = readToken(made);
  const problem = await untilAccepted(context, token.key);
  if (problem !== undefined) throw new NewRefused(problem, refusedRetryMs);
  return token;
}

/** No one uses it, and it would count among the tokens that a user may have. Where that fails, it ends by itself. */
async function remove(platform: Platform, made: object, key: string): Promise<void> {
  const name = asText(asObject((made as { readonly metadata?: unknown }).metadata)['name']);
  if (name === undefined) return;
  try {
    await platform.own(`${plural}/${name}`, { method: 'DELETE', key, timeoutMs: removeMs });
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
  }
}

/** An access key of a person, by its name: below it the token ends with the key. */
export async function parentOf(platform: Platform, key: string): Promise<Parent> {
  const { name } = await accessKeyOf({ platform, key, timeoutMs: checkMs, wanted: tokens });
  return { key, name };
}

const tokens = { what: 'tokens', option: '--direct' } as const;

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
const acceptedMs = 1_500;
const removeMs = 1_200;
/** So that the last question is one, and not over before an answer can come. */
const minAnswerMs = 250;
/** One process at a time asks, so these need no jitter. */
const pausesMs = [25, 50, 100, 200, 300, 300, 300, 300];

/**
 * The endpoint learns of a token by a stream, and a client does not ask twice: without this, its first request could come before. Tells
 * why the endpoint refuses the token. One that does not answer is left to the client, which explains it better.
 */
async function untilAccepted(context: Context, token: string): Promise<string | undefined> {
  const end = performance.now() + acceptedMs;
  let problem: string | undefined;
  for (const pause of pausesMs) {
    const left = Math.max(minAnswerMs, Math.ceil(end - performance.now()));
    const answer = await answerAt(context, token, left).catch(() => undefined);
    // An endpoint that refused it and then falls silent has refused it.
    if (answer === undefined) return problem;
    problem = problemIn(answer);
    if (problem === undefined || performance.now() + pause > end) return problem;
    await sleep(pause);
  }
  return problem;
}

/** An API server asks the endpoint after it has taken the token, so its refusal is a 403. */
const webhookRefusal = 'ERR_WEBHOOK_CREDENTIAL';

/** Why the endpoint does not accept the token; undefined where it does, or refuses the request alone. */
function problemIn({ status, text }: Answer): string | undefined {
  const isRefused = status === 401 || (status === 403 && text.includes(webhookRefusal));
  if (!isRefused) return undefined;
  return printable(asText(asObject(parseJSON(text))['message']) ?? `it answers ${status}`);
}

function unlessAway(error: unknown): undefined {
  if (error instanceof Failure && error.kind === 'unavailable') return undefined;
  throw error;
}

/** How the endpoint of the kubeconfig answers the token; undefined where a person asks, and there is no kubeconfig. */
async function answerAt(context: Context, token: string, timeoutMs: number): Promise<Answer | undefined> {
  const info = asObject(asObject(parseJSON(context.env['KUBERNETES_EXEC_INFO'] ?? ''))['spec']);
  const { server, ...cluster } = asObject(info['cluster']);
  const data = asText(cluster['certificate-authority-data']);
  if (typeof server !== 'string' || !server.startsWith('https://')) return undefined;
  return await context.send({
    method: 'GET',
    url: `${server}/version`,
    headers: { accept: 'application/json', 'user-agent': 'latchkey-cli', authorization: `Bearer ${token}` },
    ...(data === undefined ? {} : { ca: Buffer.from(data, 'base64').toString('utf8') }),
    ...{ timeoutMs, signal: context.signal },
  });
}
