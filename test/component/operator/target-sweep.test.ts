import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createKubeClient, type KubeClient } from '../../../src/kube/client/client.ts';
import { silentLogger } from '../../../src/logger.ts';
import { TargetSweep } from '../../../src/operator/targets/target-sweep.ts';
import { FakeApiServer } from '../../fakes/fake-api-server.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { waitFor } from '../../fakes/wait-for.ts';

const clock = new FakeClock();
const log = { ...silentLogger, warn: vi.fn() };
const never = new AbortController().signal;
let server: FakeApiServer;
let client: KubeClient;
let sweep: TargetSweep;

beforeEach(async () => {
  server = await FakeApiServer.start();
  client = createKubeClient({ kubeConfig: server.kubeConfig(), userAgent: 'test', clock, random: () => 0 });
  sweep = new TargetSweep({ client, isKnown: (uid) => uid === 'known', clock, random: () => 0.5, log });
  log.warn.mockClear();
});
afterEach(async () => {
  await client.close();
  await server.stop();
});

const secret = (ownerUID: string, name = `latchkey-target-${ownerUID}`, namespace = 'latchkey-targets') => {
  const labels = { 'management.platform.sh/owner-uid': ownerUID };
  server.storage('secrets').put({ metadata: { namespace, name, labels } });
};
const left = () =>
  server
    .storage('secrets')
    .list()
    .map(({ metadata }) => metadata.name);

describe('TargetSweep', () => {
  it('deletes what belongs to no target, and nothing else', async () => {
    for (const uid of ['gone', 'known']) secret(uid);
    secret('gone', 'a-copy');
    expect(await sweep.sweep(never)).toBe(1);
    expect(left()).toEqual(['latchkey-target-known', 'a-copy']);
    const lists = server.exchanges.filter(({ method }) => method === 'GET');
    expect(lists.map(({ path, query }) => [path, query.get('labelSelector')])).toEqual([
      ['/api/v1/namespaces/latchkey-targets/secrets', 'management.platform.sh/purpose=target'],
      ['/api/v1/namespaces/latchkey-system/secrets', 'management.platform.sh/purpose=target'],
    ]);
  });

  it('deletes what earlier releases kept in the system namespace, also of targets that are there', async () => {
    for (const uid of ['gone', 'known']) secret(uid, undefined, 'latchkey-system');
    secret('known', 'a-copy', 'latchkey-system');
    secret('known');
    expect(await sweep.sweep(never)).toBe(2);
    const places = server.storage('secrets').list();
    expect(places.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)).toEqual([
      'latchkey-system/a-copy',
      'latchkey-targets/latchkey-target-known',
    ]);
  });

  it('deletes only the very Secret that it has seen', async () => {
    secret('gone');
    server.once(
      ({ method }) => method === 'DELETE',
      (exchange) => exchange.refuse(409, 'Conflict'),
    );
    await sweep.sweep(never);
    const sent = server.exchanges.find(({ method }) => method === 'DELETE')?.json();
    expect(sent).toMatchObject({ preconditions: { uid: expect.any(String) } });
    expect(left()).toEqual(['latchkey-target-gone']);
  });

  it('does no more than so much at a time', async () => {
    for (let i = 0; i < 203; i++) secret(`gone-${i}`);
    expect(await sweep.sweep(never)).toBe(200);
    expect(left()).toHaveLength(3);
    expect(await sweep.sweep(never)).toBe(3);
  });

  it('sweeps at once and every hour, also when one sweep fails', async () => {
    const over = new AbortController();
    server.once(
      () => true,
      (exchange) => exchange.refuse(403, 'Forbidden'),
    );
    const running = sweep.run(over.signal);
    await waitFor('a warning', () => log.warn.mock.calls.length === 1);
    secret('gone');
    await clock.settle();
    clock.advance(3_600_000);
    await waitFor('the second sweep', () => left().length === 0);
    over.abort();
    await running;
  });
});
