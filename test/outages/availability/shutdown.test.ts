import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { startInstalled } from '../../../lab/operator/installed-plane.ts';
import { RunningOperator } from '../../../lab/operator/running-operator.ts';
import { healthOf, listeningPort } from '../../../lab/operator/telemetry.ts';
import { until } from '../../../lab/operator/until.ts';
import { freeLease, operatorWorld, untilLeading, untilStandingBy } from '../../../lab/operator/world.ts';
import { outlineOf } from '../../../lab/operator/write.ts';
import { confirmationsOf, WriteGate } from '../../../lab/operator/write-gate.ts';
import { systemNamespace, systemObjects } from '../../../src/api/names.ts';
import { leases } from '../../../src/api/resources.ts';
import type { Lease } from '../../../src/kube/leader/lease.ts';

/** Of the Deployment; the program's own limit is below it. */
const graceSeconds = 30;

// Of its own: an operator that ends gives its lease back, and no one else may take it meanwhile.
const plane = await startInstalled({ name: 'shutdown' });
// Registered before the clean-up of gate and world, so it runs after it.
afterAll(async () => await plane.stop());
const gate = await WriteGate.start(plane);
// Operators give their lease back through the gate, so the gate goes after the world.
afterAll(async () => await gate.close());
const world = await operatorWorld({ plane, operator: false });
const { admin } = world;

const started: RunningOperator[] = [];
/** One that a failed test left would hold the lease in all tests after it. */
afterEach(async () => {
  gate.judge = () => 'pass';
  const left = started.splice(0).filter(({ exited }) => !exited);
  if (left.length === 0) return;
  for (const operator of left) await operator.end('SIGKILL');
  await freeLease(admin);
});

async function start(): Promise<RunningOperator> {
  const operator = await RunningOperator.start(gate.access, world.guard, { name: world.name('operator') });
  started.push(operator);
  await untilLeading(operator);
  return operator;
}

const holder = async (): Promise<string | undefined> => {
  const key = { namespace: systemNamespace, name: systemObjects.lease };
  return (await admin.client.get<Lease>(leases, key)).spec?.holderIdentity;
};

/** Exit code, and how long the end took by the last line of the operator's own log. */
async function end(operator: RunningOperator, ...signals: readonly NodeJS.Signals[]) {
  const told = Date.now();
  for (const signal of signals) process.kill(operator.process.pid, signal);
  const exitCode = await operator.process.exited;
  const lines = (await operator.log()).trim().split('\n');
  const { msg, time } = JSON.parse(lines.at(-1) ?? '{}');
  expect(msg).toBe('ended');
  return { exitCode, seconds: (Date.parse(time) - told) / 1000 };
}

describe('an operator that is told to end', () => {
  it('gives the lease back, closes every connection and port, and ends with 0', async () => {
    const operator = await start();
    expect(await holder()).toBe(await operator.identity());
    const ports = [await listeningPort(operator, 'health'), await listeningPort(operator, 'metrics')];
    const before = await operator.log();
    const sent = gate.passed.length;
    const { exitCode, seconds } = await end(operator, 'SIGTERM');
    expect(exitCode).toBe(0);
    expect(seconds).toBeLessThan(10);
    expect(await holder()).toBe('');
    for (const port of ports) {
      const asking = fetch(`http://127.0.0.1:${port}/livez`).catch((error: Error) => error.cause);
      expect(await asking).toMatchObject({ code: 'ECONNREFUSED' });
    }
    await until('no connection is left', async () => gate.connections === 0);
    await gate.settled();
    const written = gate.passed.slice(sent).map(outlineOf);
    expect(written.filter((write) => write !== 'POST events').at(-1)).toBe('PUT leases');
    const said = (await operator.log()).slice(before.length).trim().split('\n');
    const loud = said.filter((line) => ['error', 'fatal'].includes(JSON.parse(line).level));
    expect(loud).toEqual([]);
  });

  it.each([{ signals: ['SIGTERM', 'SIGTERM', 'SIGTERM'] }, { signals: ['SIGINT', 'SIGTERM'] }] as const)(
    'ends as orderly on $signals',
    async ({ signals }) => {
      const operator = await start();
      const { exitCode, seconds } = await end(operator, ...signals);
      expect(exitCode).toBe(0);
      expect(seconds).toBeLessThan(10);
      expect(await holder()).toBe('');
    },
  );

  it('finishes what it has in hand and leaves the rest to the next one', async ({ annotate }) => {
    const operator = await start();
    const names = Array.from({ length: 120 }, () => world.name('ending'));
    const making = Promise.all(
      names.map(async (name) => {
        const secretRef = { namespace: 'default', name };
        await admin.createKey({ user: 'alice', secretRef }, { name });
      }),
    );
    const confirmed = () => confirmationsOf(gate).filter(({ name }) => names.includes(name)).length;
    await until('it is at work', async () => confirmed() > 10, { everyMs: 2 });
    const { exitCode, seconds } = await end(operator, 'SIGTERM');
    expect(exitCode).toBe(0);
    await annotate(`${seconds.toFixed(1)} s`);
    expect(seconds).toBeLessThan(graceSeconds);
    await gate.settled();
    expect(confirmed()).toBeLessThan(names.length);
    // A key that is in a Secret and not confirmed would be work that was left half done.
    const written = gate.passed.filter(({ method, name }) => method === 'POST' && names.includes(name));
    expect(written).toHaveLength(confirmed());
    expect(await holder()).toBe('');
    await making;
    const next = await start();
    for (const name of names) {
      const { status } = await admin.untilReady({ kind: 'OwnedAccessKey', metadata: { name } });
      expect(status.serial).toBe(1);
    }
    expect(confirmed()).toBe(names.length);
    expect((await end(next, 'SIGTERM')).exitCode).toBe(0);
  });

  it('ends at once while it stands by, and leaves the leader alone', async () => {
    const leader = await start();
    const standby = await RunningOperator.start(gate.access, world.guard, { name: world.name('standby') });
    started.push(standby);
    await untilStandingBy(standby);
    const { exitCode, seconds } = await end(standby, 'SIGTERM');
    expect(exitCode).toBe(0);
    expect(seconds).toBeLessThan(10);
    expect(await holder()).toBe(await leader.identity());
    expect((await healthOf(leader, '/readyz')).status).toBe(200);
    expect((await end(leader, 'SIGTERM')).exitCode).toBe(0);
  });

  it('ends within its grace also when the API server has stopped answering', async ({ annotate }) => {
    const operator = await start();
    const never = Promise.withResolvers<'lost'>();
    gate.judge = () => never.promise;
    await admin.createKey();
    const sent = gate.requests.length;
    await until('it waits for an answer', async () => gate.requests.length > sent);
    const { exitCode, seconds } = await end(operator, 'SIGTERM');
    await annotate(`${seconds.toFixed(1)} s`);
    expect(seconds).toBeLessThan(graceSeconds);
    expect(exitCode).toBe(0);
    never.resolve('lost');
    gate.judge = () => 'pass';
    // Its lease is still in force; no one has to wait for it.
    await freeLease(admin);
  });
});
