import { type KubeObject, keyOf } from '../../src/kube/object.ts';
import type { Exchange } from './exchange.ts';
import type { StreamingLists } from './fake-api-server.ts';
import { mergePatch } from './merge-patch.ts';
import type { ObjectStorage } from './object-storage.ts';

interface Target {
  readonly plural: string;
  readonly namespace?: string;
  readonly name?: string;
}

/** Acts as an API server when no script interferes. Selectors and validation are left out. */
export function serveObjects(
  exchange: Exchange,
  storageOf: (plural: string) => ObjectStorage,
  streamingLists: StreamingLists,
): void {
  const target = targetOf(exchange.path);
  if (target === undefined) return exchange.refuse(404, 'NotFound');
  const storage = storageOf(target.plural);
  if (exchange.isWatch) return serveWatch(exchange, target, storage, streamingLists);
  if (target.name !== undefined) return serveObject(exchange, target, storage);
  if (exchange.method === 'POST') return create(exchange, target, storage);
  serveList(exchange, target, storage);
}

function targetOf(path: string): Target | undefined {
  const parts = path.split('/').slice(1).map(decodeURIComponent);
  const rest = parts[0] === 'api' ? parts.slice(2) : parts.slice(3);
  const [first, namespace, plural, name] = rest;
  if (first === 'namespaces' && plural !== undefined) {
    return { plural, ...(namespace ? { namespace } : {}), ...(name ? { name } : {}) };
  }
  return first === undefined ? undefined : { plural: first, ...(namespace ? { name: namespace } : {}) };
}

function serveList(exchange: Exchange, { namespace }: Target, storage: ObjectStorage): void {
  const all = storage.list(namespace);
  const start = Number(exchange.query.get('continue') ?? 0);
  const limit = Number(exchange.query.get('limit') ?? all.length);
  const items = all.slice(start, start + limit);
  const more = start + limit < all.length ? { continue: String(start + limit) } : {};
  exchange.answer(200, {
    kind: 'List',
    metadata: { resourceVersion: String(storage.revision), ...more },
    items,
  });
}

function serveWatch(exchange: Exchange, target: Target, storage: ObjectStorage, lists: StreamingLists): void {
  const wantsList = exchange.query.get('sendInitialEvents') === 'true';
  if (wantsList && lists === 'refused')
    return exchange.refuse(422, 'Invalid', { message: 'sendInitialEvents is forbidden' });
  const from = Number(exchange.query.get('resourceVersion') ?? storage.revision);
  if (from < storage.oldest) return exchange.refuse(410, 'Expired');
  exchange.open();
  if (wantsList && lists === 'served') sendInitialEvents(exchange, target, storage);
  else for (const { type, object } of storage.since(from, target.namespace)) exchange.event(type, object);
  const end = storage.subscribe(({ type, object }) => exchange.event(type, object));
  exchange.response.on('close', end);
}

function sendInitialEvents(exchange: Exchange, { namespace }: Target, storage: ObjectStorage): void {
  for (const object of storage.list(namespace)) exchange.event('ADDED', object);
  exchange.bookmark(String(storage.revision), { 'k8s.io/initial-events-end': 'true' });
}

function serveObject(exchange: Exchange, target: Target, storage: ObjectStorage): void {
  const key = keyOf({ name: '', ...target });
  const object = storage.get(key);
  const applies = exchange.headers['content-type'] === 'application/apply-patch+yaml';
  if (object === undefined && !applies) return exchange.refuse(404, 'NotFound');
  if (exchange.method === 'GET') return exchange.answer(200, object);
  if (exchange.method === 'DELETE') return remove(exchange, key, storage);
  const sent = exchange.json() as unknown as KubeObject;
  const { uid, resourceVersion } = sent.metadata ?? {};
  if (differs(uid, object?.metadata.uid) || differs(resourceVersion, object?.metadata.resourceVersion)) {
    return exchange.refuse(409, 'Conflict');
  }
  exchange.answer(200, storage.put(patched(exchange, object, sent)));
}

function remove(exchange: Exchange, key: string, storage: ObjectStorage): void {
  const { preconditions } = exchange.json() as { preconditions?: { uid?: string; resourceVersion?: string } };
  const metadata = storage.get(key)?.metadata;
  if (
    differs(preconditions?.uid, metadata?.uid) ||
    differs(preconditions?.resourceVersion, metadata?.resourceVersion)
  ) {
    return exchange.refuse(409, 'Conflict');
  }
  storage.remove(key);
  exchange.answer(200, { kind: 'Status', status: 'Success' });
}

function create(exchange: Exchange, { namespace }: Target, storage: ObjectStorage): void {
  const sent = exchange.json() as unknown as KubeObject;
  const metadata = { ...sent.metadata, ...(namespace === undefined ? {} : { namespace }) };
  if (storage.get(keyOf(metadata)) !== undefined) return exchange.refuse(409, 'AlreadyExists');
  exchange.answer(201, storage.put({ ...sent, metadata }));
}

function differs(wanted: string | undefined, present: string | undefined): boolean {
  return wanted !== undefined && wanted !== present;
}

function patched(exchange: Exchange, object: KubeObject | undefined, sent: KubeObject): KubeObject {
  if (exchange.method !== 'PATCH') return sent;
  const isMerge = exchange.headers['content-type'] === 'application/merge-patch+json';
  return isMerge ? (mergePatch(object, sent) as KubeObject) : merged(object, sent);
}

function merged(object: KubeObject | undefined, patch: KubeObject): KubeObject {
  return { ...object, ...patch, metadata: { ...object?.metadata, ...patch.metadata } };
}
