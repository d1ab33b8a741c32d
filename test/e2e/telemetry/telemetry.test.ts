import { Registry } from 'prom-client';
import { afterAll, beforeAll, describe, expect, it, onTestFailed } from 'vitest';
import { sharedControlPlane } from '../../../lab/controlplane/shared.ts';
import { conditionOf, entryOf, type Stored, secretAt } from '../../../lab/operator/api.ts';
import { RunningOperator } from '../../../lab/operator/running-operator.ts';
import { healthOf, listeningPort, metricsOf } from '../../../lab/operator/telemetry.ts';
import { until } from '../../../lab/operator/until.ts';
import { operatorWorld, untilLeading } from '../../../lab/operator/world.ts';
import { WriteGate } from '../../../lab/operator/write-gate.ts';
import { directClusterEndpointTokens, ownedAccessKeys } from '../../../src/api/resources.ts';
import { credentialHash } from '../../../src/credentials/keys/credential-hash.ts';
import { concurrency } from '../../../src/operator/assembly/queues.ts';
import { ClientMetrics } from '../../../src/telemetry/metrics/client.ts';
import { OperatorMetrics } from '../../../src/telemetry/metrics/operator.ts';
import { version } from '../../../src/version.ts';
import { Scrape } from './scrape.ts';

const controllers = ['ownedaccesskeys', 'directclusterendpointtokens', 'signing-keys'];
const reflectors = ['ownedaccesskeys', 'directclusterendpointtokens', 'secrets', 'signing-keys', 'discovery'];
const kinds = ['OwnedAccessKey', 'DirectClusterEndpointToken'];
const outcomes = ['success', 'requeue', 'conflict', 'error'];

const plane = await sharedControlPlane();
const gate = await WriteGate.start(plane);
afterAll(async () => await gate.close());
const world = await operatorWorld({ plane, operator: false });
const { admin } = world;
let operator: RunningOperator;

const scrape = async (): Promise<Scrape> => new Scrape(await metricsOf(operator));

beforeAll(async () => {
  operator = await RunningOperator.start(gate.access, world.guard, { name: world.name('operator') });
  await untilLeading(operator);
  await until('it is ready', async () => (await healthOf(operator, '/readyz')).status === 200);
});

describe('the probes of a running operator', () => {
  it.each([
    { path: '/livez', text: 'ok\n' },
    { path: '/readyz', text: 'ok\n' },
    { path: '/livez?verbose', text: '[+]process ok\nlivez check passed\n' },
    {
      path: '/readyz?verbose',
      text: '[+]api ok\n[+]admission ok\n[+]sync ok\n[+]watches ok\n[+]freshness ok\n[+]signing-key ok\nreadyz check passed\n',
    },
    { path: '/readyz/api', text: 'ok\n' },
    { path: '/readyz/admission', text: 'ok\n' },
    { path: '/readyz/sync', text: 'ok\n' },
    { path: '/readyz/watches', text: 'ok\n' },
    { path: '/readyz/freshness', text: 'ok\n' },
    { path: '/readyz/signing-key', text: 'ok\n' },
  ])('answer $path', async ({ path, text }) => {
    expect(await healthOf(operator, path)).toEqual({ status: 200, text });
  });

  it.each(['/', '/metrics', '/readyz/other', '/healthz'])('know nothing of %s', async (path) => {
    expect(await healthOf(operator, path)).toEqual({ status: 404, text: 'not found\n' });
  });

  it('stand on another port than the metrics', async () => {
    const port = await listeningPort(operator, 'metrics');
    const answer = await fetch(`http://127.0.0.1:${port}/readyz`);
    expect(answer.status).toBe(404);
  });
});

describe('the metrics of a running operator', () => {
  it('are Prometheus text with every metric that the program knows', async () => {
    const port = await listeningPort(operator, 'metrics');
    const answer = await fetch(`http://127.0.0.1:${port}/metrics`);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    const seen = new Scrape(await answer.text());
    const registry = new Registry();
    new ClientMetrics(registry);
    new OperatorMetrics(registry);
    const known = registry.getMetricsAsArray().map(({ name }) => name);
    expect(known.filter((name) => !seen.names.has(name))).toEqual([]);
    expect(
      [...seen.names].filter((name) => name.startsWith('process_') || name.startsWith('nodejs_')).length,
    ).toBeGreaterThan(10);
    expect(seen.values.filter(Number.isNaN)).toEqual([]);
    expect(seen.value('latchkey_build_info', { version, node: process.versions.node })).toBe(1);
  });

  it('have every series that may rise from the start', async () => {
    const seen = await scrape();
    for (const controller of controllers) {
      for (const outcome of outcomes)
        expect(seen.value('latchkey_reconcile_total', { controller, outcome })).toBeDefined();
      expect(seen.value('latchkey_reconcile_duration_seconds_count', { controller })).toBeDefined();
      expect(seen.value('latchkey_workqueue_adds_total', { controller })).toBeDefined();
      expect(seen.value('latchkey_workqueue_retries_total', { controller })).toBeDefined();
      expect(seen.value('latchkey_workqueue_depth', { controller })).toBeDefined();
    }
    for (const resource of reflectors) {
      expect(seen.value('latchkey_reflector_restarts_total', { resource })).toBeDefined();
      expect(seen.value('latchkey_reflector_objects', { resource })).toBeDefined();
      expect(seen.value('latchkey_reflector_freshness_seconds', { resource })).toBeLessThan(300);
    }
    for (const kind of kinds) {
      expect(seen.value('latchkey_finalizers_released_total', { kind })).toBe(0);
      for (const within of ['1h', '24h', '7d'])
        expect(seen.value('latchkey_credentials_ending', { kind, within })).toBeDefined();
    }
    expect(seen.value('latchkey_events_dropped_total')).toBe(0);
    expect(seen.value('latchkey_expiry_budget_waiting')).toBe(0);
    expect(seen.value('latchkey_lock_budget_waiting')).toBe(0);
    expect(seen.value('latchkey_admission_missing')).toBe(0);
    expect(seen.value('latchkey_leader')).toBe(1);
  });

  it('tell since when the signing key is there, and until when it signs', async () => {
    const seen = await scrape();
    const now = Date.now() / 1000;
    const created = seen.value('latchkey_signing_key_created_timestamp_seconds') ?? 0;
    const replaced = seen.value('latchkey_signing_key_rotation_timestamp_seconds') ?? 0;
    expect(created).toBeGreaterThan(now - 86_400);
    expect(created).toBeLessThanOrEqual(now);
    expect(replaced - created).toBeGreaterThan(29 * 86_400);
    expect(replaced - created).toBeLessThan(31 * 86_400);
  });

  it('count credentials by kind and state as they are on the API server', async () => {
    const key = `${world.name('some')}-key-that-two-objects-have`;
    const ready = await admin.untilReady(await admin.createKey({ user: 'alice', key }));
    await admin.untilRefused(await admin.createKey({ user: 'alice', disabled: true }), 'Disabled');
    await admin.untilRefused(await admin.createKey({ user: 'alice', ttl: 1 }), 'Expired');
    await admin.untilRefused(await admin.createKey({ user: 'alice', key }), 'DuplicateKey');
    const token = await admin.untilReady(await admin.createToken());
    await untilCounted();
    expect(
      (await scrape()).value('latchkey_credentials', { kind: 'OwnedAccessKey', state: 'Expired' }),
    ).toBeGreaterThan(0);
    for (const object of [ready, token]) await admin.delete(object);
    for (const object of [ready, token]) await admin.untilGone(object);
    await untilCounted();
  });

  it('time how late the ends of keys are recorded, by the clock and by disabling', async () => {
    const before = await scrape();
    const disabled = await admin.untilReady(await admin.createKey());
    await Promise.all([
      admin.untilRefused(await admin.createKey({ user: 'alice', ttl: 1 }), 'Expired'),
      admin.untilRefused(await admin.patch(disabled, { spec: { disabled: true } }), 'Disabled'),
    ]);
    const after = await untilQuiet();
    const name = 'latchkey_credential_end_delay_seconds';
    const labels = { kind: 'OwnedAccessKey' };
    expect(after.rise(before, `${name}_count`, labels)).toBe(2);
    // Only a machine that stands still takes so long.
    expect(after.rise(before, `${name}_sum`, labels)).toBeLessThan(60);
    expect(after.value(`${name}_count`, { kind: 'VirtualClusterInstanceKubeConfig' })).toBe(0);
  });

  it('count reconciles, and what goes into the queues, without a gap', async () => {
    const before = await untilQuiet();
    const names = Array.from({ length: 5 }, () => world.name('counted'));
    const keys = await Promise.all(
      names.map(async (name) => await admin.createKey({ user: 'alice' }, { name })),
    );
    await Promise.all(keys.map(async (key) => await admin.untilReady(key)));
    const after = await untilQuiet();
    const labels = { controller: 'ownedaccesskeys' };
    const count = (seen: Scrape) => seen.sum('latchkey_reconcile_total', labels);
    expect(count(after) - count(before)).toBeGreaterThanOrEqual(keys.length);
    const timed = (seen: Scrape) => seen.value('latchkey_reconcile_duration_seconds_count', labels) ?? 0;
    expect(timed(after)).toBe(count(after));
  });

  it('show keys that wait, and a failure that is tried again and how long it took', async () => {
    const before = await untilQuiet();
    const labels = { controller: 'ownedaccesskeys' };
    const released = Promise.withResolvers<'lost'>();
    onTestFailed(() => {
      released.resolve('lost');
      gate.judge = () => 'pass';
    });
    gate.judge = () => released.promise;
    // As many as there are workers for one requester keep all other keys of theirs waiting.
    const held = await Promise.all(Array.from({ length: concurrency }, async () => await admin.createKey()));
    const isHeld = ({ metadata }: Stored) =>
      gate.requests.some((line) => line.startsWith('PATCH') && line.includes(metadata.name));
    await until('all workers wait', async () => held.every(isHeld));
    const waiting = await Promise.all([1, 2, 3].map(async () => await admin.createKey()));
    const depth = async () => (await scrape()).value('latchkey_workqueue_depth', labels) === waiting.length;
    await until('three keys wait', depth);
    released.resolve('lost');
    gate.judge = () => 'pass';
    for (const key of [...held, ...waiting]) await admin.untilReady(key);
    const after = await untilQuiet();
    const ended = (outcome: string) => after.rise(before, 'latchkey_reconcile_total', { ...labels, outcome });
    expect(ended('error')).toBeGreaterThanOrEqual(1);
    expect(after.rise(before, 'latchkey_workqueue_retries_total', labels)).toBe(
      ended('error') + ended('conflict'),
    );
    expect(after.rise(before, 'latchkey_reconcile_duration_seconds_sum', labels)).toBeGreaterThan(0.02);
    const unanswered = { verb: 'PATCH', resource: 'ownedaccesskeys', code: '0' };
    expect(after.rise(before, 'latchkey_client_requests_total', unanswered)).toBe(held.length);
  });

  it('count requests as the API server answered them', async () => {
    await admin.untilReady(await admin.createKey());
    await untilQuiet();
    await gate.settled();
    const seen = await scrape();
    for (const plural of ['ownedaccesskeys', 'directclusterendpointtokens']) {
      const answered = gate.passed.filter(
        (write) => write.method === 'PATCH' && write.plural === plural && write.status === 200,
      );
      const labels = { verb: 'PATCH', resource: plural, code: '200' };
      expect(seen.value('latchkey_client_requests_total', labels)).toBe(answered.length);
    }
  });

  it('say how many objects the stores hold', async () => {
    await untilQuiet();
    const seen = await scrape();
    const size = async (resource: typeof ownedAccessKeys) => (await admin.client.list(resource)).items.length;
    const objects = (resource: string) => seen.value('latchkey_reflector_objects', { resource });
    expect(objects('ownedaccesskeys')).toBe(await size(ownedAccessKeys));
    expect(objects('directclusterendpointtokens')).toBe(await size(directClusterEndpointTokens));
    expect(objects('signing-keys')).toBe(1);
    expect(objects('discovery')).toBe(1);
  });

  it('count watches that break', async () => {
    const before = await scrape();
    gate.shut();
    gate.open();
    const labels = { resource: 'ownedaccesskeys' };
    const broken = async () => (await scrape()).rise(before, 'latchkey_reflector_restarts_total', labels) > 0;
    await until('a restart', broken);
    await admin.untilReady(await admin.createKey());
  });

  it('hold no secret, no hash and no name of an object', async () => {
    const place = { namespace: 'default', name: world.name('secret') };
    const key = await admin.untilReady(await admin.createKey());
    const token = await admin.untilReady(await admin.createToken());
    const hidden = await admin.untilReady(await admin.createKey({ user: 'mallory', secretRef: place }));
    const credentials = [
      key.spec.key,
      token.status.token,
      entryOf(await admin.get(secretAt(place.namespace, place.name)), 'key'),
    ];
    const text = await metricsOf(operator);
    const telling = [
      ...credentials,
      ...credentials.map(credentialHash),
      ...[key, token, hidden].flatMap(({ metadata }) => [metadata.name, metadata.uid]),
      ...['alice', 'mallory', place.name, 'lk_', 'eyJ'],
    ];
    expect(telling.filter((secret) => text.includes(secret))).toEqual([]);
  });
});

/** Waits until the gauge says of every kind and state what the API server has. */
async function untilCounted(): Promise<void> {
  const counted = async () => {
    const seen = (await scrape()).series('latchkey_credentials').filter(({ value }) => value > 0);
    const told = seen.map(({ labels, value }) => `${labels['kind']} ${labels['state']} ${value}`);
    const expected = Object.entries(await presentStates()).map(([state, count]) => `${state} ${count}`);
    return told.sort().join() === expected.sort().join();
  };
  await until('all credentials are counted', counted);
}

async function presentStates(): Promise<Record<string, number>> {
  const lists = await Promise.all(
    [ownedAccessKeys, directClusterEndpointTokens].map(async (resource) => {
      const { items } = await admin.client.list<Stored>(resource);
      return items.map((item) => `${resource.kind} ${conditionOf(item)?.reason}`);
    }),
  );
  const counts: Record<string, number> = {};
  for (const state of lists.flat()) counts[state] = (counts[state] ?? 0) + 1;
  return counts;
}

/** Waits until whatever went into a queue has been worked on, and nothing waits. */
async function untilQuiet(): Promise<Scrape> {
  return await until('every queue is empty', async () => {
    const seen = await scrape();
    const quiet = controllers.every((controller) => {
      const added = seen.value('latchkey_workqueue_adds_total', { controller });
      const worked = seen.sum('latchkey_reconcile_total', { controller });
      return added === worked && seen.value('latchkey_workqueue_depth', { controller }) === 0;
    });
    return quiet && seen;
  });
}
