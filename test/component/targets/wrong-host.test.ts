import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Store } from '../../../src/kube/cache/store.ts';
import type { KubeObject } from '../../../src/kube/object.ts';
import { TargetAddresses } from '../../../src/platform/targets/addresses.ts';
import { renderTargetSecret } from '../../../src/platform/targets/target-access.ts';
import {
  type TargetAccessRecord,
  TargetConnections,
  toTargetAccessRecord,
} from '../../../src/platform/targets/target-connections.ts';
import { FakeApiServer } from '../../fakes/fake-api-server.ts';
import { four } from './target-world.ts';

let server: FakeApiServer;

beforeEach(async () => {
  server = await FakeApiServer.start();
});
afterEach(async () => await server.stop());

/** Reaches a target as the gateway does, with the access that the operator stored for a server of this name. */
async function ask(host: string, way: 'requests' | 'watches') {
  const store = new Store<TargetAccessRecord>();
  const { lookup } = new TargetAddresses(['127.0.0.0/8'], async () => [four('127.0.0.1')]);
  const targets = new TargetConnections({ store, lookup, connections: 1, watchConnections: 1 });
  const access = {
    ca: server.authority.certificate,
    token: 'canary',
    issued: 0,
    expires: 1,
    isPlatform: false,
  };
  const url = server.url.replace('127.0.0.1', host);
  const secret = renderTargetSecret({ kind: 'Cluster', uid: 'u1' }, { ...access, server: url });
  const metadata = { ...secret.metadata, uid: 's1', resourceVersion: '1' };
  store.upsert(toTargetAccessRecord({ ...secret, metadata } as unknown as KubeObject) as TargetAccessRecord);
  const found = targets.find('u1');
  if (found === undefined) throw new Error('no access');
  try {
    const identity = await found.identity.current();
    const pool = found.connections.for(identity)[way];
    const { statusCode } = await pool.request({
      ...{ method: 'GET', path: '/api/v1/configmaps', headers: [...identity.headers] },
    });
    return statusCode;
  } finally {
    await targets.close();
  }
}

describe('the gateway', () => {
  it.each(['requests', 'watches'] as const)(
    'gives a server whose certificate is for another host nothing of its %s',
    async (way) => {
      await expect(ask('target.test', way)).rejects.toMatchObject({ code: 'ERR_TLS_CERT_ALTNAME_INVALID' });
      expect(server.exchanges).toEqual([]);
      expect(await ask('localhost', way)).toBe(200);
    },
  );
});
