import type { Plain, PlainMap } from './plain-yaml.ts';
import { fieldRefusal, type Place, places, Refusal, type refusals } from './refusals.ts';

type RefusalName = keyof typeof refusals;

/** The text of the fields that count, unchecked. */
export interface AdminKubeConfigFields {
  readonly server: Plain | undefined;
  readonly authority: Plain | undefined;
  readonly token: Plain | undefined;
  readonly certificate: Plain | undefined;
  readonly key: Plain | undefined;
}

/** Finds the one cluster and the one user of a kubeconfig; throws a Refusal when there is anything besides. */
export function fieldsOf(document: Plain): AdminKubeConfigFields {
  const root = mapOf(document, places.root, 'root');
  if (root.get('apiVersion') !== 'v1') throw new Refusal('apiVersion');
  if (root.get('kind') !== 'Config') throw new Refusal('kind');
  checkPreferences(root);
  const cluster = entryOf(root, 'cluster');
  const user = entryOf(root, 'user');
  checkContext(root, cluster.name, user.name);
  return {
    server: cluster.value.get('server'),
    authority: cluster.value.get('certificate-authority-data'),
    token: user.value.get('token'),
    certificate: user.value.get('client-certificate-data'),
    key: user.value.get('client-key-data'),
  };
}

function checkPreferences(root: PlainMap): void {
  if (root.has('preferences')) mapOf(root.get('preferences'), places.preferences, 'preferences');
}

function checkContext(root: PlainMap, cluster: string, user: string): void {
  const { name, value } = entryOf(root, 'context');
  if (root.get('current-context') !== name) throw new Refusal('currentContext');
  if (value.get('cluster') !== cluster) throw new Refusal('contextCluster');
  if (value.get('user') !== user) throw new Refusal('contextUser');
  if (!['string', 'undefined'].includes(typeof value.get('namespace'))) throw new Refusal('contextNamespace');
}

/** The only entry of one of the three lists. */
function entryOf(root: PlainMap, kind: 'cluster' | 'user' | 'context'): { name: string; value: PlainMap } {
  const list = root.get(`${kind}s`);
  if (!Array.isArray(list) || list.length !== 1) throw new Refusal(`${kind}s`);
  const entry = mapOf(list[0], places[`${kind}Entry`], `${kind}s`);
  const name = entry.get('name');
  if (typeof name !== 'string') throw new Refusal(`${kind}Name`);
  return { name, value: mapOf(entry.get(kind), places[kind], kind) };
}

function mapOf(value: Plain | undefined, place: Place, otherwise: RefusalName): PlainMap {
  if (!(value instanceof Map)) throw new Refusal(otherwise);
  const map: PlainMap = value;
  const text = fieldRefusal(place, map.keys());
  if (text !== undefined) throw new Refusal({ text });
  return map;
}
