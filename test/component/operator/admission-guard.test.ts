import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { labels } from '../../../src/api/names.ts';
import { createKubeClient, type KubeClient } from '../../../src/kube/client/client.ts';
import { systemClock } from '../../../src/kube/clock.ts';
import { type Logger, silentLogger } from '../../../src/logger.ts';
import { type AdmissionCheck, AdmissionGuard } from '../../../src/operator/admission/admission-guard.ts';
import {
  type PolicyKind,
  policyVersion,
  type ShippedPolicy,
  shippedPolicies,
} from '../../../src/operator/admission/generated/shipped-policies.ts';
import { readPolicies } from '../../../src/operator/admission/policy-digest.ts';
import type { Guarded } from '../../../src/operator/admission/policy-history.ts';
import { FakeApiServer } from '../../fakes/fake-api-server.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { waitFor } from '../../fakes/wait-for.ts';

let server: FakeApiServer;
let client: KubeClient;
let abort: AbortController;
let running: Promise<void>;
let guard: AdmissionGuard;
let checks: AdmissionCheck[];
let warned: object[];

beforeEach(async () => {
  server = await FakeApiServer.start();
  client = createKubeClient({ kubeConfig: server.kubeConfig(), userAgent: 'tester' });
  abort = new AbortController();
  running = Promise.resolve();
  checks = [];
  warned = [];
  const log: Logger = { ...silentLogger, warn: (keys) => void warned.push(keys) };
  const onCheck = (check: AdmissionCheck) => void checks.push(check);
  const onKnown = () => undefined;
  guard = new AdmissionGuard({ client, clock: systemClock, random: () => 0.5, log, onCheck, onKnown });
});

afterEach(async () => {
  abort.abort();
  await running;
  await client.close();
  await server.stop();
});

const storageOf = (kind: PolicyKind) => server.storage(`${kind.toLowerCase().replace(/y$/, 'ie')}s`);

interface Shape {
  readonly version?: number;
  readonly spec?: object;
  readonly metadata?: object;
}

function put({ kind, name, spec }: ShippedPolicy, shape: Shape = {}): void {
  const versionLabel = { [labels.policyVersion]: (shape.version ?? policyVersion).toString() };
  const metadata = { name, labels: versionLabel, ...shape.metadata };
  storageOf(kind).put({ metadata, spec: { ...spec, ...shape.spec } } as never);
}

const remove = ({ kind, name }: ShippedPolicy): void => storageOf(kind).remove(name);

/** Each way in which a policy of this name, or its binding, can stop judging. */
const waysToTake = (name: string) =>
  shippedPolicies
    .filter((policy) => policy.name === name)
    .flatMap((piece) => {
      const edits: readonly Shape[] = piece.kind.endsWith('Binding')
        ? [{ spec: { validationActions: ['Audit'] } }, { spec: { policyName: 'another' } }]
        : [{ spec: { matchConditions: [{ name: 'never', expression: 'false' }] } }];
      const takings = [...edits.map((edit) => () => put(piece, edit)), () => remove(piece)];
      return takings.map((take) => ({ piece, take }));
    });

const find = (kind: PolicyKind, name: string): ShippedPolicy => {
  const found = shippedPolicies.find((policy) => policy.kind === kind && policy.name === name);
  if (found === undefined) throw new TypeError(`no ${kind} ${name} is shipped`);
  return found;
};

const binding = find('ValidatingAdmissionPolicyBinding', 'latchkey-requester-integrity');
const label = 'ValidatingAdmissionPolicyBinding/latchkey-requester-integrity';

/** As `put` of the storage says, unless somebody creates it again. */
const installedAt = Date.parse('2026-01-01T00:00:00Z');
/** API servers act on a policy some time after it was written, also on one that was there when the operator began. */
const actsAfterMs = 5_000;

async function startComplete(): Promise<void> {
  for (const policy of shippedPolicies) put(policy);
  running = guard.run(abort.signal);
  await waitFor('all policies are found', () => guard.problem() === undefined);
}

/** Another guard, whose time stands still. */
async function guardAt(now: number): Promise<FakeClock> {
  await client.close();
  const clock = new FakeClock(now);
  client = createKubeClient({ kubeConfig: server.kubeConfig(), userAgent: 'tester', clock });
  guard = new AdmissionGuard({
    ...{ client, clock, random: () => 0.5, log: silentLogger },
    onCheck: (check) => void checks.push(check),
    onKnown: () => undefined,
  });
  return clock;
}

const untilMissing = async (text: string): Promise<void> =>
  await waitFor(text, () => guard.problem() === `missing, older or edited: ${text}`);

const security = shippedPolicies.filter(({ protects }) => protects === 'security');
const comfort = shippedPolicies.filter(({ protects }) => protects === 'comfort');

describe('the guard of the admission policies', () => {
  it('lets nothing be confirmed before it knows them', () => {
    expect(() => guard.assertComplete()).toThrow(/admission policies or bindings/);
    expect(guard.trustedSince()).toBe(0);
  });

  it('is content when every policy and binding is there', async () => {
    await startComplete();
    expect(() => guard.assertComplete()).not.toThrow();
    expect(guard.trustedSince()).toBe(installedAt + actsAfterMs);
    await waitFor('it was reported', () => checks.length > 0);
    expect(checks).toEqual([{ missing: 0, comfortMissing: 0, unknown: 0 }]);
  });

  it('lets work begin once it knows, also when something is missing: ends and deletions go on', async () => {
    running = guard.run(abort.signal);
    await guard.firstCheck(abort.signal);
    expect(() => guard.assertComplete()).toThrow(`${security.length} admission policies`);
  });

  it('waits for each that protects security, and for none that is for comfort', async () => {
    await startComplete();
    expect([...new Set(comfort.map(({ name }) => name))].sort()).toEqual([
      'latchkey-key-delivery',
      'latchkey-last-applied',
      'latchkey-owner-references',
    ]);
    for (const [index, policy] of comfort.entries()) {
      if (index % 2 === 0) remove(policy);
      else put(policy, { spec: { matchConditions: [{ name: 'never', expression: 'false' }] } });
    }
    await waitFor('it is reported', () => checks.at(-1)?.comfortMissing === comfort.length);
    expect(checks.at(-1)).toEqual({ missing: 0, comfortMissing: comfort.length, unknown: 0 });
    expect(guard.problem()).toBeUndefined();
    expect(() => guard.assertComplete()).not.toThrow();
    expect(guard.trustedSince()).toBe(installedAt + actsAfterMs);
    for (const policy of security) {
      remove(policy);
      await untilMissing(`${policy.kind}/${policy.name}`);
      expect(() => guard.assertComplete()).toThrow('1 admission policies');
      put(policy, { metadata: { uid: 'again' } });
      await waitFor('it is back', () => !(guard.problem() ?? '').startsWith('missing'));
    }
  });

  it('does not keep a process that is told to stop', async () => {
    await expect(guard.firstCheck(AbortSignal.abort())).resolves.toBeUndefined();
  });

  it('names what is deleted, and trusts objects from the time when it was made again', async () => {
    await startComplete();
    storageOf(binding.kind).remove(binding.name);
    await untilMissing(label);
    expect(guard.trustedSince()).toBe(0);
    put(binding, { metadata: { uid: 'again', creationTimestamp: '2026-02-02T00:00:00Z' } });
    await waitFor('it is back', () => guard.problem() === undefined);
    expect(guard.trustedSince()).toBe(Date.parse('2026-02-02T00:00:05Z'));
  });

  it('names the field of what was edited in place, and trusts objects from the time when that was undone', async () => {
    await startComplete();
    put(binding, { spec: { validationActions: ['Audit'] } });
    await untilMissing(`${label} (spec.validationActions[0])`);
    put(binding, { metadata: { managedFields: [{ manager: 'kubectl', time: '2026-03-03T00:00:00Z' }] } });
    await waitFor('it is as shipped', () => guard.problem() === undefined);
    expect(guard.trustedSince()).toBe(Date.parse('2026-03-03T00:00:05Z'));
  });

  const repaired = { managedFields: [{ manager: 'kubectl', time: '2026-03-03T00:00:00Z' }] };
  const gutted = { validationActions: ['Audit'] };

  it.each<[string, readonly Shape[], Shape]>([
    [
      'edited, and labelled as older, then repaired',
      [{ spec: gutted }, { version: policyVersion - 1, spec: gutted }],
      {},
    ],
    ['edited, then replaced by the next release', [{ spec: gutted }], { version: policyVersion + 1 }],
    ['without a label, then repaired', [{ metadata: { labels: {} }, spec: gutted }], {}],
    ['of a newer release, then of this one', [{ version: policyVersion + 1, spec: gutted }], {}],
  ])('trusts objects from the last write on where a policy was %s', async (_, before, after) => {
    await startComplete();
    for (const shape of before) put(binding, shape);
    const counts = before.at(-1)?.version === policyVersion + 1;
    if (!counts) await waitFor('it is missing', () => guard.problem() !== undefined);
    put(binding, { ...after, metadata: repaired });
    await waitFor('it is trusted again', () => guard.trustedSince() === Date.parse('2026-03-03T00:00:05Z'));
    await waitFor('the time without it has ended', () => guard.problem() === undefined);
  });

  it('trusts objects from the last write on where the spec has changed and come back unseen', async () => {
    await startComplete();
    put(binding, { metadata: { ...repaired, generation: 3 } });
    await waitFor('it was noticed', () => guard.trustedSince() === Date.parse('2026-03-03T00:00:05Z'));
  });

  it('knows a time without policies while one that stamps is away or edited, and for some time after it is back', async () => {
    expect(guard.isUnguarded('records')).toBe(false);
    await startComplete();
    expect(guard.isUnguarded('records')).toBe(false);
    const other = shippedPolicies.find(({ name }) => name === 'latchkey-delete');
    if (other !== undefined) storageOf(other.kind).remove(other.name);
    await waitFor('another is missing', () => guard.problem() !== undefined);
    expect(guard.isUnguarded('records')).toBe(false);
    put(binding, { spec: gutted });
    await waitFor('it is noticed', () => guard.isUnguarded('records'));
    put(binding, { metadata: { managedFields: [{ manager: 'kubectl', time: '2999-03-03T00:00:00Z' }] } });
    await waitFor('it is as shipped', () => !(guard.problem() ?? '').includes(label));
    expect(guard.isUnguarded('records')).toBe(true);
  });

  it.each<[string, Guarded, readonly Guarded[]]>([
    ['latchkey-requester', 'records', ['changes']],
    ['latchkey-requester-integrity', 'records', ['changes']],
    ['latchkey-ownership', 'changes', []],
    ['latchkey-secret-reference', 'changes', []],
    ['latchkey-target-secrets', 'targets', []],
  ])('knows a time without %s, away, edited or in Audit, policy or binding', async (name, what, also) => {
    await startComplete();
    const others = (['records', 'changes', 'targets'] as const).filter((other) => other !== what);
    for (const { piece, take } of waysToTake(name)) {
      take();
      await waitFor('it is noticed', () => guard.isUnguarded(what));
      expect(others.filter((other) => guard.isUnguarded(other))).toEqual(also);
      put(piece, { metadata: { uid: 'again' } });
      await waitFor('it is over', () => !guard.isUnguarded(what));
    }
  });

  it('has another digest after each change of a policy that anyone could use, and no other one for all else', async () => {
    expect(guard.digest()).toBeUndefined();
    await startComplete();
    const first = guard.digest();
    expect((await readPolicies(client)).digest).toBe(first);
    const changed = async (shape: Shape, name: string) => {
      const before = guard.digest();
      put(binding, shape);
      await waitFor(name, () => guard.digest() !== before);
      expect((await readPolicies(client)).digest).toBe(guard.digest());
    };
    await changed({ metadata: { generation: 3 } }, 'edited and put back');
    await changed({ metadata: { uid: 'again', generation: 1 } }, 'deleted and made again');
    await changed(
      { version: policyVersion + 1, metadata: { uid: 'again', generation: 2 } },
      'of a newer release',
    );
    const before = guard.digest();
    put(binding, {
      version: policyVersion + 1,
      metadata: { uid: 'again', generation: 2, annotations: { a: 'b' } },
    });
    storageOf(binding.kind).put({ metadata: { name: 'of-someone-else' }, spec: {} } as never);
    put({ ...binding, name: 'latchkey-of-the-next-release' }, { version: policyVersion + 1 });
    await waitFor('the last of these', () => guard.digest() !== before);
    storageOf(binding.kind).remove('latchkey-of-the-next-release');
    await waitFor('all else is as it was', () => guard.digest() === before);
  });

  it.each([
    ['the role of this release', false],
    ['that of an earlier one, by which it lists policies and gets none', true],
  ])('knows with %s that nothing has befallen them', async (_, isOld) => {
    await startComplete();
    const isRead = (path: string) => isOld && /policies\/|policybindings\//.test(path);
    server.script((exchange) => {
      if (isRead(exchange.path)) exchange.refuse(403, 'Forbidden');
      return isRead(exchange.path);
    });
    await guard.history.known('records', '1000');
    expect(guard.history.isKnown('records', '1000')).toBe(true);
    expect(server.exchanges.some(({ path }) => isRead(path))).toBe(isOld);
  });

  it('does not trust what was made within seconds after a policy that stamps, also when it began later', async () => {
    for (const policy of shippedPolicies) put(policy);
    const justNow = new Date(Date.now() - 1_000).toISOString();
    put(binding, { metadata: { creationTimestamp: justNow } });
    running = guard.run(abort.signal);
    await guard.firstCheck(abort.signal);
    expect(guard.trustedSince()).toBe(Date.parse(justNow) + actsAfterMs);
    expect(guard.isUnguarded('records')).toBe(true);
  });

  it('takes one of an older release for missing, and does not distrust what was made under it', async () => {
    await startComplete();
    put(binding, { version: policyVersion - 1 });
    await untilMissing(label);
    put(binding);
    await waitFor('it is of this release', () => guard.problem() === undefined);
    expect(guard.trustedSince()).toBe(installedAt + actsAfterMs);
  });

  it('counts one of a newer release as there, whatever it says: the operator that comes next brought it', async () => {
    await startComplete();
    put(binding, { version: policyVersion + 1, spec: { validationActions: ['Warn', 'Audit'] } });
    put({ ...binding, name: 'latchkey-of-the-next-release' }, { version: policyVersion + 1 });
    storageOf('MutatingAdmissionPolicy').remove('latchkey-requester');
    await untilMissing('MutatingAdmissionPolicy/latchkey-requester');
  });

  it('reports those of ours that this release does not have, and works on', async () => {
    await startComplete();
    put({ ...binding, name: 'latchkey-stamps' }, { version: policyVersion - 1 });
    await waitFor('the unknown one was reported', () => checks.at(-1)?.unknown === 1);
    expect(warned.at(-1)).toEqual({ unknown: ['ValidatingAdmissionPolicyBinding/latchkey-stamps'] });
    expect(guard.problem()).toBeUndefined();
    expect(checks.at(-1)).toEqual({ missing: 0, comfortMissing: 0, unknown: 1 });
  });

  it('reports once what changes together', async () => {
    const clock = await guardAt(Date.UTC(2026, 6, 1));
    running = guard.run(abort.signal);
    await waitFor('it was reported that all are missing', () => checks.length === 1);
    for (const policy of shippedPolicies) put(policy);
    const { digest } = await readPolicies(client);
    await waitFor('all policies are known', () => guard.digest() === digest);
    expect(checks).toHaveLength(1);
    await clock.advanceAsync(500);
    await waitFor('all policies are reported', () => checks.at(-1)?.missing === 0);
    expect(checks).toHaveLength(2);
  });

  it('says that its watches bring nothing although the server opens each one, and lists meanwhile', async () => {
    const clock = await guardAt(Date.UTC(2026, 6, 1));
    await startComplete();
    server.script((exchange) => {
      if (exchange.isWatch) exchange.open();
      return exchange.isWatch;
    });
    const { name } = binding;
    await clock.advanceAsync(130_000, 1_000);
    const isListed = () => {
      clock.advance(500);
      return guard.problem() !== undefined;
    };
    storageOf(binding.kind).remove(name);
    await waitFor('a list', isListed);
    expect(guard.problem()).toContain(name);
    clock.advance(30_000);
    expect(guard.outage(30_000)).toMatch(/^for \d+ s \(ERR_KUBE_TIMEOUT\)$/);
    expect(guard.freshness()).toBeGreaterThan(130_000);
  });
});
