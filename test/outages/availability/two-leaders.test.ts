import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sharedControlPlane } from '../../../lab/controlplane/shared.ts';
import { entryOf, type Stored, secretAt } from '../../../lab/operator/api.ts';
import { RunningOperator } from '../../../lab/operator/running-operator.ts';
import { healthOf, metricOf, metricsOf } from '../../../lab/operator/telemetry.ts';
import { until } from '../../../lab/operator/until.ts';
import { operatorWorld, untilLeading } from '../../../lab/operator/world.ts';
import type { Write } from '../../../lab/operator/write.ts';
import { confirmationsOf, type PassedWrite, WriteGate } from '../../../lab/operator/write-gate.ts';
import { systemNamespace, systemObjects } from '../../../src/api/names.ts';
import { leases } from '../../../src/api/resources.ts';
import { credentialHash } from '../../../src/credentials/keys/credential-hash.ts';
import type { Lease } from '../../../src/kube/leader/lease.ts';
import { Subject, scenarios } from './scenarios.ts';

const env = { LATCHKEY_LEASE_DURATION: '5s' };

const plane = await sharedControlPlane();
// A gate for each, so that it is known of each write whose it is.
const gates = { first: await WriteGate.start(plane), second: await WriteGate.start(plane) };
// Operators give their lease back through the gates, so these go after the world.
afterAll(async () => await Promise.all(Object.values(gates).map(async (gate) => await gate.close())));
const world = await operatorWorld({ plane, operator: false });
const { admin } = world;

let first: RunningOperator;
let second: RunningOperator;

const start = async (name: keyof typeof gates): Promise<RunningOperator> =>
  await RunningOperator.start(gates[name].access, world.guard, { name: world.name(name), env });

/** Events only tell what was done and may be late; the lease is what it is about. */
const isWork = ({ plural }: Write) => plural !== 'leases' && plural !== 'events';

async function untilHolds(operator: RunningOperator): Promise<void> {
  const key = { namespace: systemNamespace, name: systemObjects.lease };
  const holds = async () => {
    const identity = await operator.identity();
    return (
      identity !== undefined && (await admin.client.get<Lease>(leases, key)).spec?.holderIdentity === identity
    );
  };
  await until(`${operator.process.name} leads`, holds, { timeoutMs: 90_000 });
}

/** Hashes of the credentials that were confirmed for the object so far, by any process. */
const confirmed = (name: string): readonly string[] =>
  [gates.first, gates.second]
    .flatMap(confirmationsOf)
    .flatMap((confirmation) => (confirmation.name === name ? [confirmation.hash] : []));

beforeAll(async () => {
  first = await start('first');
  await untilLeading(first);
  second = await start('second');
});

describe('a leader that is stopped for longer than its lease, and goes on', () => {
  const place = (name: string) => ({ namespace: 'default', name });
  const names = Array.from({ length: 40 }, () => world.name('stopped'));
  let keys: readonly Stored[];
  let late: readonly PassedWrite[];

  beforeAll(async () => {
    const make = async (name: string) =>
      await admin.createKey({ user: 'alice', secretRef: place(name) }, { name });
    const making = Promise.all(names.map(make));
    const atWork = async () => confirmationsOf(gates.first).length > 3;
    await until('it is at work', atWork, { everyMs: 2 });
    process.kill(first.process.pid, 'SIGSTOP');
    await making;
    await untilHolds(second);
    keys = await Promise.all(
      names.map(async (name) => await admin.untilReady({ kind: 'OwnedAccessKey', metadata: { name } })),
    );
    const passed = gates.first.passed.length;
    process.kill(first.process.pid, 'SIGCONT');
    const noticed = async () => (await metricOf(first, 'latchkey_leader')) === 0;
    await until('it notices', noticed);
    await admin.untilReady(await admin.createKey());
    await gates.first.settled();
    late = gates.first.passed.slice(passed);
  });

  it('was in the middle of its work', () => {
    const byFirst = confirmationsOf(gates.first);
    const bySecond = confirmationsOf(gates.second);
    expect(byFirst.filter(({ name }) => names.includes(name))).not.toEqual([]);
    expect(bySecond.filter(({ name }) => names.includes(name))).not.toEqual([]);
  });

  it('writes nothing any more', () => {
    expect(late.filter(isWork)).toEqual([]);
  });

  it('has issued nothing that was issued again', async () => {
    await gates.second.settled();
    for (const { metadata, status } of keys) {
      const secret = await admin.get(secretAt('default', metadata.name));
      expect(status).toMatchObject({ serial: 1, credentialHash: credentialHash(entryOf(secret, 'key')) });
      expect(confirmed(metadata.name)).toEqual([status.credentialHash]);
    }
  });

  it('shows no figures any more that only a leader knows', async () => {
    const text = await until('its term is over', async () => {
      const seen = await metricsOf(first);
      return seen.includes('latchkey_leader 0') && seen;
    });
    for (const figure of [
      'credentials',
      'reflector_objects',
      'reflector_freshness_seconds',
      'workqueue_depth',
    ])
      expect(text).not.toContain(`latchkey_${figure}{`);
    expect(text).toMatch(/latchkey_reconcile_total\{controller="ownedaccesskeys",outcome="success"\} [1-9]/);
    expect((await healthOf(first, '/readyz')).status).toBe(200);
  });

  it('writes again when it leads again', async () => {
    expect(await second.end()).toBe(0);
    await untilHolds(first);
    const passed = gates.first.passed.length;
    await admin.untilReady(await admin.createKey());
    await gates.first.settled();
    expect(gates.first.passed.slice(passed).filter(isWork)).not.toEqual([]);
  });
});

describe('writes of a former leader that are late', () => {
  const held = scenarios.flatMap(({ writes, ...scenario }) =>
    writes.map((write, index) => {
      const name = world.name('late');
      const made = new Subject(admin, name, async () => {
        await gates.second.settled();
        return confirmed(name);
      });
      return { ...scenario, made, write, nth: index + 1, count: 0 };
    }),
  );
  const released = Promise.withResolvers<'pass'>();
  let late: readonly PassedWrite[];

  beforeAll(async () => {
    second = await start('second');
    await Promise.all(held.map(async ({ prepare, made }) => await prepare?.(made)));
    const waiting = () => held.filter(({ count, nth }) => count >= nth).length;
    gates.first.judge = (write) => {
      const point = held.find(({ made }) => made.isMeantBy(write));
      if (point !== undefined) point.count += 1;
      // When all have come to their point nothing passes at all, so the lease is lost.
      const passes = point === undefined ? waiting() < held.length : point.count < point.nth;
      return passes ? 'pass' : released.promise;
    };
    await Promise.all(held.map(async ({ begin, made }) => await begin(made)));
    await until('all have come to their point', async () => waiting() === held.length, {
      seen: () => held.filter(({ count, nth }) => count < nth).map(({ title, nth }) => `${title} ${nth}`),
    });
    await untilHolds(second);
    await Promise.all(held.map(async ({ end, made }) => await end(made)));
    const passed = gates.first.passed.length;
    released.resolve('pass');
    await gates.first.settled();
    late = gates.first.passed.slice(passed);
  });

  it('are all refused', () => {
    expect(late.filter(isWork).length).toBeGreaterThanOrEqual(held.length);
    const accepted = late.filter((write) => isWork(write) && write.status < 400);
    expect(accepted.map(({ method, plural, name, status }) => ({ method, plural, name, status }))).toEqual(
      [],
    );
  });

  it.each(held)('change nothing about $title (write $nth, $write)', async ({ end, made }) => await end(made));
});
