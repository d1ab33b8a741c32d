import { readFile, rename, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it, onTestFailed } from 'vitest';
import type { ControlPlaneAccess } from '../../../lab/controlplane/access.ts';
import type { ControlPlane } from '../../../lab/controlplane/control-plane.ts';
import { FaultProxy } from '../../../lab/operator/fault-proxy.ts';
import { startInstalled } from '../../../lab/operator/installed-plane.ts';
import { accountKubeconfig, RunningOperator } from '../../../lab/operator/running-operator.ts';
import { timeUntil, until } from '../../../lab/operator/until.ts';
import { freeLease, operatorWorld, untilLeading, untilStandingBy } from '../../../lab/operator/world.ts';
import { WriteGate } from '../../../lab/operator/write-gate.ts';
import { serviceAccounts, systemNamespace, systemObjects } from '../../../src/api/names.ts';
import { leases, secrets } from '../../../src/api/resources.ts';
import type { Lease } from '../../../src/kube/leader/lease.ts';
import { type AuditEvent, auditEvents, auditPolicyFor } from '../../integration/rbac/audit-uses.ts';

const username = `system:serviceaccount:${systemNamespace}:${serviceAccounts.operator}`;
// On each of them something takes about a minute, so both happen at the same time. Of its own: objects of other tests would give
// the leader on the first work, and the log of the second lines.
const [idle, plane] = await Promise.all([
  startInstalled({ name: 'idle' }),
  startInstalled({ name: 'apart', auditPolicy: auditPolicyFor(username) }),
]);
const gates = { leader: await WriteGate.start(idle), standby: await WriteGate.start(idle) };
const network = await FaultProxy.start(plane);
afterAll(async () => {
  await Promise.all([network, ...Object.values(gates)].map(async (between) => await between.close()));
  await Promise.all([idle, plane].map(async (one) => await one.stop()));
});
const worldOn = async (on: ControlPlane) => await operatorWorld({ plane: on, operator: false, clear: false });
const [idleWorld, world] = await Promise.all([worldOn(idle), worldOn(plane)]);
const { admin } = world;

const credentialID = 'authentication.kubernetes.io/credential-id';

/** One request, and with which credential it came. */
interface LoggedRequest extends AuditEvent {
  readonly requestReceivedTimestamp: string;
  readonly user: AuditEvent['user'] & { readonly extra?: Readonly<Record<string, readonly string[]>> };
}

const requests = async (): Promise<readonly LoggedRequest[]> =>
  auditEvents(await readFile(plane.auditLog ?? '', 'utf8')) as LoggedRequest[];
const credentialOf = ({ user }: LoggedRequest) => user.extra?.[credentialID]?.[0] ?? '';

/** Tells requests that change objects. Events only tell what was done and may be late; the lease is what the test is about. */
const isWork = ({ verb, objectRef, responseStatus }: LoggedRequest) =>
  ['create', 'update', 'patch', 'delete'].includes(verb) &&
  !['events', 'leases', 'subjectaccessreviews', 'selfsubjectreviews'].includes(objectRef?.resource ?? '') &&
  (responseStatus?.code ?? 0) < 400;

const works = async () => (await requests()).filter(isWork);
const start = async (name: string, access: ControlPlaneAccess, env: Record<string, string> = {}) =>
  await RunningOperator.start(access, world.guard, {
    name: world.name(name),
    env: { LATCHKEY_LEASE_DURATION: '3s', ...env },
  });

describe('a leader and its API server that are apart for longer than the lease', () => {
  it('never write beside the other, by the log of the API server', async () => {
    // The tests after it find the lease free, also where it fails.
    const operators: RunningOperator[] = [];
    onTestFailed(async () => {
      await network.heal();
      for (const operator of operators) await operator.end('SIGKILL');
      await freeLease(admin);
    });
    const first = await start('first', network.access);
    operators.push(first);
    await untilLeading(first);
    await admin.untilReady(await admin.createKey());
    const writer = credentialOf((await works()).at(-1)!);
    const second = await start('second', plane);
    operators.push(second);
    await untilStandingBy(second);

    const keys = Promise.all(Array.from({ length: 40 }, async () => await admin.createKey()));
    network.blackhole();
    for (const key of await keys) await admin.untilReady(key, { timeoutMs: 90_000 });
    // Requests that it had sent may arrive now.
    await network.heal();
    await untilStandingBy(first);
    for (let count = 0; count < 5; count++) await admin.untilReady(await admin.createKey());

    const log = (await works()).toSorted((one, other) =>
      one.requestReceivedTimestamp.localeCompare(other.requestReceivedTimestamp),
    );
    const writers = log.map(credentialOf).filter((of, index, all) => of !== all[index - 1]);
    expect(writers).toEqual([writer, credentialOf(log.at(-1)!)]);
    expect(new Set(writers).size).toBe(2);
    for (const operator of operators) expect(await operator.end()).toBe(0);
  });
});

describe.concurrent('credentials of the operator that are rotated', () => {
  let file: string;
  let operator: RunningOperator;

  /** In place of the old one, in one step. */
  const replaceWith = async (from: string): Promise<void> => {
    await writeFile(`${file}.next`, await readFile(from), { mode: 0o600 });
    await rename(`${file}.next`, file);
  };
  const untilUsed = async (known: ReadonlySet<string>): Promise<string> =>
    await until(
      'the next credential is used',
      async () => {
        await admin.untilReady(await admin.createKey());
        return (await works()).map(credentialOf).find((id) => id !== '' && !known.has(id));
      },
      { timeoutMs: 120_000, everyMs: 1_000 },
    );

  beforeAll(async () => {
    file = await plane.kubeconfigFor(username);
    operator = await start('rotated', plane, { KUBECONFIG: file });
    await untilLeading(operator);
  });

  it('work on with another client certificate, then with a token, and when that has ended with the next', async () => {
    const known = new Set((await works()).map(credentialOf));
    await admin.untilReady(await admin.createKey());
    known.add(credentialOf((await works()).at(-1)!));

    await replaceWith(await plane.kubeconfigFor(username));
    const certificate = await untilUsed(known);
    expect(certificate).toMatch(/^X509SHA256=/);

    const name = world.name('bound');
    const metadata = { name, namespace: systemNamespace };
    const secret = await admin.createObject(secrets, { apiVersion: 'v1', kind: 'Secret', metadata });
    const bound = ['--bound-object-kind=Secret', `--bound-object-name=${name}`];
    const { stdout } = await plane.kubectl([
      ...['create', 'token', serviceAccounts.operator, '-n', systemNamespace, '--duration=1h', ...bound],
    ]);
    await replaceWith(await plane.kubeconfigWithToken(username, stdout.trim()));
    const token = await untilUsed(known.add(certificate));
    expect(token).toMatch(/^JTI=/);

    await replaceWith(await accountKubeconfig(plane, serviceAccounts.operator));
    await admin.delete(secret);
    await untilUsed(known.add(token));

    const log = await operator.log();
    expect(log).not.toContain('leadership lost');
    expect(operator.exited).toBe(false);
    expect(await operator.end()).toBe(0);
  });
});

const oneAfterTheOther = { concurrent: false };

const startIdle = async (name: keyof typeof gates): Promise<RunningOperator> =>
  await RunningOperator.start(gates[name].access, idleWorld.guard, { name: idleWorld.name(name) });

/** Seconds for which requests are counted. */
const countedSeconds = 60;
const counted: Record<keyof typeof gates, readonly string[]> = { leader: [], standby: [] };
let leader: RunningOperator;
let standby: RunningOperator;

const readLease = async () =>
  (await idleWorld.admin.client.get<Lease>(leases, { namespace: systemNamespace, name: systemObjects.lease }))
    .spec;
const renewedAt = async () => Date.parse((await readLease())?.renewTime ?? '');

/** By the renewals of the lease, so that a machine that stood still is not taken for an idle operator. */
async function passSeconds(seconds: number): Promise<void> {
  const from = await renewedAt();
  const passed = async () => (await renewedAt()) - from >= seconds * 1_000;
  await until(`${seconds} s of renewals`, passed, { timeoutMs: 240_000, everyMs: 500 });
}

const perSecond = (requests: readonly string[]) => requests.length / countedSeconds;

describe.concurrent('with nothing to do', () => {
  beforeAll(async () => {
    leader = await startIdle('leader');
    await untilLeading(leader);
    await idleWorld.admin.untilReady(await idleWorld.admin.createKey());
    standby = await startIdle('standby');
    await untilStandingBy(standby);
    // Consequences of the start, such as events, are told.
    await passSeconds(10);
    const before = { leader: gates.leader.requests.length, standby: gates.standby.requests.length };
    await passSeconds(countedSeconds);
    for (const name of ['leader', 'standby'] as const)
      counted[name] = gates[name].requests.slice(before[name]);
  });

  it('a standby sends at most 0.3 requests a second', oneAfterTheOther, async ({ annotate }) => {
    await annotate(`${perSecond(counted.standby).toFixed(2)} a second`);
    expect(perSecond(counted.standby), counted.standby.join('\n')).toBeLessThanOrEqual(0.3);
  });

  it('the leader sends at most 0.6 requests a second', oneAfterTheOther, async ({ annotate }) => {
    await annotate(`${perSecond(counted.leader).toFixed(2)} a second`);
    expect(perSecond(counted.leader), counted.leader.join('\n')).toBeLessThanOrEqual(0.6);
  });

  it(
    'an orderly stop hands over before the standby would have asked',
    oneAfterTheOther,
    async ({ annotate }) => {
      const former = (await readLease())?.holderIdentity;
      await leader.end();
      const took = await timeUntil(
        'the standby holds the lease',
        async () => ![former, ''].includes((await readLease())?.holderIdentity),
        {
          everyMs: 10,
        },
      );
      await annotate(`${took.toFixed(0)} ms after the end of the leader`);
      // It would have asked after five seconds of silence.
      expect(took).toBeLessThan(5_000);
    },
  );
});
