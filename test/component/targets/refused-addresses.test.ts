import type { LookupAddress } from 'node:dns';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { configMaps } from '../../../src/api/resources.ts';
import { targetProblemOf } from '../../../src/platform/targets/target-problem.ts';
import { adminDocument } from '../../builders/admin-kube-config.ts';
import { FakeApiServer } from '../../fakes/fake-api-server.ts';
import { everything, four, TargetWorld, type TargetWorldOptions } from './target-world.ts';

let server: FakeApiServer;
let worlds: TargetWorld[];

beforeEach(async () => {
  server = await FakeApiServer.start();
  worlds = [];
});

afterEach(async () => {
  await Promise.all(worlds.map(({ clients }) => clients.close()));
  await server.stop();
});

/** A world whose Secret names this host, at the port of the server. */
function worldOf(host: string, options: TargetWorldOptions): TargetWorld {
  const world = new TargetWorld(options);
  worlds.push(world);
  world.put(adminDocument({ server: server.url.replace('127.0.0.1', host), authority: server.authority }));
  return world;
}

/** Sends one request; gives the reason why it failed. */
async function reasonOf(world: TargetWorld): Promise<string | undefined> {
  const result = await world.open();
  if ('problem' in result) return result.problem.reason;
  return result.target.client.list(configMaps, { timeoutMs: 2_000 }).then(
    () => undefined,
    (error: unknown) => targetProblemOf(error)?.reason ?? String(error),
  );
}

const dialled = () => server.openSockets + server.handshakes;

describe('a server named by its address', () => {
  it.each([
    '127.0.0.1',
    '127.1',
    '0x7f.1',
    '0x7f000001',
    '2130706433',
    '0177.0.0.1',
    '%31%32%37.0.0.1',
    '127.0.0.1.',
    '0.0.0.0',
    '0',
    '[::1]',
    '[::]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[::127.0.0.1]',
    '[64:ff9b::127.0.0.1]',
    '[2002:7f00:1::]',
    '169.254.169.254',
    '[fd00:ec2::254]',
    '[fe80::1]',
    '[fec0::1]',
    '[feff:ffff::1]',
    '[2001::1]',
    '[2001:0:4136:e378:8000:63bf:3fff:fdd2]',
    '[2001:db8::5efe:127.0.0.1]',
    '[2001:db8::200:5efe:7f00:1]',
    '240.0.0.1',
    '255.255.255.254',
    '192.88.99.1',
  ])('is refused before anything is dialled: %s', async (host) => {
    const world = worldOf(host, { allowed: everything });
    expect(await world.openProblem()).toMatchObject({ reason: 'AddressRefused' });
    expect(dialled()).toBe(0);
  });

  it('is dialled when the setting lists loopback', async () => {
    for (const allowed of [['127.0.0.0/8'], ['127.0.0.1/32'], [...everything, '127.0.0.1/32']])
      expect(await reasonOf(worldOf('127.0.0.1', { allowed }))).toBeUndefined();
    expect(server.handshakes).toBe(3);
  });

  it('is refused to a client of somebody else too, at the connection itself', async () => {
    const open = worldOf('127.0.0.1', {});
    const { config } = await open.openTarget();
    const strict = worldOf('127.0.0.1', { allowed: everything });
    const client = strict.clients.as(config, 'impersonator-token');
    const error = await client.list(configMaps).catch((reason: unknown) => reason);
    expect([targetProblemOf(error)?.reason, dialled()]).toEqual(['AddressRefused', 0]);
    await client.close();
  });
});

describe('a server named by a name', () => {
  it('that is ours is refused', async () => {
    expect(await reasonOf(worldOf('localhost', { allowed: everything }))).toBe('AddressRefused');
    expect(dialled()).toBe(0);
  });

  it('is dialled at the address that was checked, and resolved once for a connection', async () => {
    let asked = 0;
    const resolve = async (): Promise<LookupAddress[]> => {
      asked++;
      return [four('127.0.0.1')];
    };
    expect(await reasonOf(worldOf('localhost', { resolve }))).toBeUndefined();
    expect([asked, server.handshakes]).toEqual([1, 1]);
  });

  it.each([
    ['first', [four('127.0.0.1'), four('10.255.255.1')]],
    ['last', [four('10.255.255.1'), four('127.0.0.1')]],
    ['as IPv6', [four('10.255.255.1'), { address: '::1', family: 6 }]],
    ['in disguise', [four('10.255.255.1'), { address: '::ffff:127.0.0.1', family: 6 }]],
  ])('is refused when one of its addresses is ours: %s', async (_, found) => {
    expect(await reasonOf(worldOf('localhost', { allowed: everything, resolve: async () => found }))).toBe(
      'AddressRefused',
    );
    expect(dialled()).toBe(0);
  });

  it('is refused when it turns to an address of ours after one that was allowed', async () => {
    const answers = [[four('127.0.0.1')], [four('127.0.0.2')], [four('127.0.0.1')]];
    const resolve = async (): Promise<LookupAddress[]> => answers.shift() ?? [];
    const world = worldOf('localhost', { allowed: ['127.0.0.1/32'], resolve });
    expect(await reasonOf(world)).toBeUndefined();
    const handshakes = server.handshakes;
    await server.stop();
    await server.listen();
    expect(await reasonOf(world)).toBe('AddressRefused');
    expect(server.handshakes).toBe(handshakes);
    expect(await reasonOf(world)).toBeUndefined();
  });

  it('is unreachable when it has no address', async () => {
    expect(await reasonOf(worldOf('localhost', { resolve: async () => [] }))).toBe('TargetUnreachable');
  });
});
