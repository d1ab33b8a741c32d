import { endpointAuthority, endpointOrigin } from '../../api/direct-endpoint.ts';
import { asObject, asText, type JsonObject } from '../../api/json.ts';
import type { Connection, Platform, Question } from '../gateway/platform.ts';
import { Failure, usage } from '../shared/failure.ts';
import type { Target } from './targets.ts';

/** The scope that opens this target and nothing else, for a token that its direct endpoint sees. Throws a Failure. */
export function scopeOfTarget({ name }: Target): JsonObject {
  const [kind, first, second] = name.split('/');
  if (kind === 'cluster') return { clusters: [{ cluster: first }] };
  if (kind === 'space') return { spaces: [{ project: first, space: second }] };
  throw usage(
    `${name} is behind no direct endpoint: only clusters and the spaces in them are`,
    'Leave `--direct` out.',
  );
}

/**
 * Where the direct endpoint of a target is, and the authority of its certificate: its paths are those of the gateway. Asks as the holder
 * of the key of the question, or of the connection. Throws a Failure.
 */
export async function findDirectEndpoint(
  target: Target,
  platform: Platform,
  question: Pick<Question, 'key' | 'timeoutMs'> = {},
): Promise<Pick<Connection, 'baseURL' | 'ca'>> {
  scopeOfTarget(target);
  const cluster = await clusterOf(target, platform, question);
  const object = await platform.own(`clusters/${cluster}`, question).catch(explainSpace(target, cluster));
  const { host, caData } = asObject(asObject(object['spec'])['directEndpoint']);
  if (typeof host !== 'string' || host === '')
    throw new Failure(
      'failure',
      `the cluster ${cluster} has no direct endpoint`,
      'Leave `--direct` out, or ask for one: spec.directEndpoint.host of the Cluster names it.',
    );
  const baseURL = endpointOrigin(host);
  if (baseURL === undefined) throw unreadable(cluster, 'host');
  const ca = endpointAuthority(asText(caData));
  if (ca === undefined) throw unreadable(cluster, 'caData');
  return { baseURL, ...(ca !== '' && { ca }) };
}

async function clusterOf(
  { name }: Target,
  platform: Platform,
  question: Pick<Question, 'key' | 'timeoutMs'>,
): Promise<string> {
  const [kind, first = '', second = ''] = name.split('/');
  if (kind === 'cluster') return first;
  const self = asObject((await platform.self(question))['status']);
  const namespace = `${asText(self['projectNamespacePrefix']) ?? ''}${first}`;
  const space = await platform.own(`namespaces/${namespace}/spaceinstances/${second}`, question);
  const cluster = asText(asObject(asObject(space['spec'])['clusterRef'])['cluster']);
  if (cluster !== undefined && /^[a-z0-9.-]+$/.test(cluster)) return cluster;
  throw new Failure('failure', `${name} names no cluster`, 'Wait until its spec.clusterRef does.');
}

/** Who may use a space at the gateway need not know its cluster. */
const explainSpace =
  ({ name }: Target, cluster: string) =>
  (error: unknown): never => {
    if (name.startsWith('cluster/') || !(error instanceof Failure)) throw error;
    if (error.kind !== 'forbidden' && error.kind !== 'notFound') throw error;
    throw new Failure(
      error.kind,
      `you may not use the cluster ${cluster}, in which ${name} is: ${error.message}`,
      'Leave `--direct` out, or get the verb "use" on the Cluster, and a key whose scope names it.',
      { cause: error },
    );
  };

const unreadable = (cluster: string, field: string): Failure =>
  new Failure(
    'failure',
    `spec.directEndpoint.${field} of the cluster ${cluster} cannot be used`,
    'Tell who runs the cluster.',
  );
