import type { Plain, PlainMap } from './plain-yaml.ts';
import { fieldRefusal, KubeConfigRefusal, type RefusalName, type Section, sections } from './refusals.ts';

/** The text of the fields that count, unchecked. */
export interface AdminKubeConfigFields {
  readonly server: Plain | undefined;
  readonly authority: Plain | undefined;
  readonly token: Plain | undefined;
  readonly certificate: Plain | undefined;
  readonly key: Plain | undefined;
}

/** Finds the one cluster and the one user of a kubeconfig; throws a KubeConfigRefusal when there is anything besides. */
export function findFields(document: Plain): AdminKubeConfigFields {
  const root = toMap(document, sections.root, 'root');
  if (root.get('apiVersion') !== 'v1') throw new KubeConfigRefusal('apiVersion');
  if (root.get('kind') !== 'Config') throw new KubeConfigRefusal('kind');
  checkPreferences(root);
  const cluster = findEntry(root, 'cluster');
  const user = findEntry(root, 'user');
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
  if (root.has('preferences')) toMap(root.get('preferences'), sections.preferences, 'preferences');
}

function checkContext(root: PlainMap, cluster: string, user: string): void {
  const { name, value } = findEntry(root, 'context');
  if (root.get('current-context') !== name) throw new KubeConfigRefusal('currentContext');
  if (value.get('cluster') !== cluster) throw new KubeConfigRefusal('contextCluster');
  if (value.get('user') !== user) throw new KubeConfigRefusal('contextUser');
  if (!['string', 'undefined'].includes(typeof value.get('namespace')))
    throw new KubeConfigRefusal('contextNamespace');
}

/** The only entry of one of the three lists. */
function findEntry(root: PlainMap, kind: 'cluster' | 'user' | 'context'): { name: string; value: PlainMap } {
  const list = root.get(`${kind}s`);
  if (!Array.isArray(list) || list.length !== 1) throw new KubeConfigRefusal(`${kind}s`);
  const entry = toMap(list[0], sections[`${kind}Entry`], `${kind}s`);
  const name = entry.get('name');
  if (typeof name !== 'string') throw new KubeConfigRefusal(`${kind}Name`);
  return { name, value: toMap(entry.get(kind), sections[kind], kind) };
}

function toMap(value: Plain | undefined, section: Section, otherwise: RefusalName): PlainMap {
  if (!(value instanceof Map)) throw new KubeConfigRefusal(otherwise);
  const map: PlainMap = value;
  const text = fieldRefusal(section, map.keys());
  if (text !== undefined) throw new KubeConfigRefusal({ text });
  return map;
}

/**
 * The address of the server. What the URL parser would silently correct (white space, backslashes, missing slashes) is
 * refused; numeric hosts come back as the addresses that they mean. Throws a KubeConfigRefusal.
 */
export function parseServer(text: Plain | undefined): URL {
  if (typeof text !== 'string' || !/^[\x21-\x7e]{1,2048}$/.test(text)) throw new KubeConfigRefusal('server');
  if (!/^https:/i.test(text)) throw new KubeConfigRefusal('serverScheme');
  const [, authority] = /^https:\/\/([^/\\?#]+)/i.exec(text) ?? [];
  const server = URL.parse(text);
  if (authority === undefined || server === null || text.includes('\\'))
    throw new KubeConfigRefusal('server');
  if (authority.includes('@') || server.username !== '' || server.password !== '')
    throw new KubeConfigRefusal('serverUser');
  if (/[?#]/.test(text)) throw new KubeConfigRefusal('serverQuery');
  return server;
}
