import { readFile, rename, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ControlPlaneAccess } from '../../../lab/controlplane/access.ts';
import { startControlPlane } from '../../../lab/controlplane/control-plane.ts';
import { FaultProxy } from '../../../lab/operator/fault-proxy.ts';
import { accountKubeconfig, RunningOperator } from '../../../lab/operator/running-operator.ts';
import { until } from '../../../lab/operator/until.ts';
import { operatorWorld, untilLeading, untilStandingBy } from '../../../lab/operator/world.ts';
import { serviceAccounts, systemNamespace } from '../../../src/api/names.ts';
import { secrets } from '../../../src/api/resources.ts';
import { type AuditEvent, auditEvents, auditPolicyFor } from '../../integration/rbac/audit-uses.ts';

const username = `system:serviceaccount:${systemNamespace}:${serviceAccounts.operator}`;
const plane = await startControlPlane({ name: 'apart', auditPolicy: auditPolicyFor(username) });
const network = await FaultProxy.start(plane);
afterAll(async () => {
  await network.close();
  await plane.stop();
});
const world = await operatorWorld({ plane, operator: false, clear: false });
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

/** What changes objects. Events only tell what was done and may be late; the lease is what it is about. */
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
    const first = await start('first', network.access);
    await untilLeading(first);
    await admin.untilReady(await admin.createKey());
    const writer = credentialOf((await works()).at(-1)!);
    const second = await start('second', plane);
    await untilStandingBy(second);

    const keys = Promise.all(Array.from({ length: 40 }, async () => await admin.createKey()));
    network.blackhole();
    for (const key of await keys) await admin.untilReady(key, { timeoutMs: 90_000 });
    // What it had sent may arrive now.
    await network.heal();
    await untilStandingBy(first);
    for (let count = 0; count < 5; count++) await admin.untilReady(await admin.createKey());

    const log = (await works()).toSorted((one, other) =>
      one.requestReceivedTimestamp.localeCompare(other.requestReceivedTimestamp),
    );
    const writers = log.map(credentialOf).filter((of, index, all) => of !== all[index - 1]);
    expect(writers).toEqual([writer, credentialOf(log.at(-1)!)]);
    expect(new Set(writers).size).toBe(2);
    for (const operator of [first, second]) expect(await operator.end()).toBe(0);
  });
});

describe('credentials of the operator that are rotated', () => {
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
