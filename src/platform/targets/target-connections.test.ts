import { describe, expect, it } from 'vitest';
import { formatInstant } from '../../api/instant.ts';
import { Store } from '../../kube/cache/store.ts';
import type { KubeObject } from '../../kube/object.ts';
import { renderTargetMark, renderTargetSecret } from './target-access.ts';
import { type TargetAccessRecord, TargetConnections, toTargetAccessRecord } from './target-connections.ts';

const owner = { kind: 'Cluster', uid: 'u1' } as const;
const access = {
  server: 'https://a.example',
  ca: 'ca',
  token: 'one',
  issued: 0,
  expires: 1_000,
  isPlatform: false,
};

function secretOf(changes: Partial<typeof access> = {}, metadata: object = {}): KubeObject {
  const secret = renderTargetSecret(owner, { ...access, ...changes });
  return {
    ...secret,
    metadata: { ...secret.metadata, uid: 's1', resourceVersion: `${Math.random()}`, ...metadata },
  } as unknown as KubeObject;
}

function start() {
  const store = new Store<TargetAccessRecord>();
  const connections = new TargetConnections({
    store,
    lookup: () => undefined,
    connections: 1,
    watchConnections: 1,
  });
  const put = (secret: KubeObject) => {
    const record = toTargetAccessRecord(secret);
    if (record !== undefined) store.upsert(record);
    return record;
  };
  return { store, connections, put };
}

describe('toTargetAccessRecord', () => {
  it('reads what the operator wrote', () => {
    expect(toTargetAccessRecord(secretOf())).toMatchObject({ owner: 'u1', access: { token: 'one' } });
  });

  it.each<[string, KubeObject]>([
    ['under another name', secretOf({}, { name: 'latchkey-target-u2' })],
    ['without labels', secretOf({}, { labels: {} })],
    ['of another type', { ...secretOf(), type: 'kubernetes.io/tls' } as KubeObject],
    ['for plain HTTP', secretOf({ server: 'http://a.example' })],
    ['for no URL', secretOf({ server: 'a' })],
    ['without access yet', renderTargetMark(owner) as unknown as KubeObject],
    ['without a date', secretOf({}, { annotations: { a: formatInstant(0) } })],
  ])('takes no Secret %s', (_, secret) => {
    expect(toTargetAccessRecord(secret)).toBeUndefined();
  });
});

describe('TargetConnections', () => {
  it('find nothing without access, and the same connections while there is some', () => {
    const { connections, put } = start();
    expect(connections.find('u1')).toBeUndefined();
    put(secretOf());
    const found = connections.find('u1');
    put(secretOf({ token: 'two' }));
    expect(connections.find('u1')).toBe(found);
  });

  it('use the token that is stored now, and have another one to try only when there is one', async () => {
    const { connections, put } = start();
    put(secretOf());
    const identity = connections.find('u1')?.identity;
    const first = await identity?.current();
    expect(first?.headers).toEqual(['authorization', 'Bearer one']);
    expect(first?.tls).toMatchObject({ rejectUnauthorized: true, minVersion: 'TLSv1.2' });
    expect(await identity?.refreshed(first as never)).toBe(false);
    put(secretOf({ token: 'two' }));
    expect(await identity?.refreshed(first as never)).toBe(true);
    expect((await identity?.current())?.headers).toEqual(['authorization', 'Bearer two']);
  });

  it('are closed when the access goes', () => {
    const { connections, store, put } = start();
    const record = put(secretOf());
    const found = connections.find('u1');
    store.remove(record?.key ?? '');
    expect(connections.find('u1')).toBeUndefined();
    const identity = { server: new URL('https://a.example') } as never;
    expect(() => found?.connections.for(identity)).toThrow('closed');
  });
});
