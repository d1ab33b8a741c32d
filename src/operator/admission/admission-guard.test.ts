import { describe, expect, it } from 'vitest';
import type { Resource } from '../../api/resources.ts';
import { FakeClock } from '../../kube/fake-clock.ts';
import { silentLogger } from '../../kube/logger.ts';
import { AdmissionGuard } from './admission-guard.ts';
import { type ShippedPolicy, shippedPolicies } from './shipped-policies.ts';

function setUp(present: () => readonly ShippedPolicy[]) {
  const looks: number[] = [];
  const client = {
    list: async ({ kind }: Resource) => ({
      metadata: { resourceVersion: '1' },
      items: present()
        .filter((policy) => policy.kind === kind)
        .map(({ name }) => ({
          metadata: { name, uid: name, resourceVersion: '1', creationTimestamp: '2026-11-21T10:00:00Z' },
        })),
    }),
  };
  const clock = new FakeClock();
  const guard = new AdmissionGuard({
    client: client as never,
    clock,
    log: silentLogger,
    onLook: (missing) => void looks.push(missing),
  });
  return { guard, clock, looks };
}

describe('AdmissionGuard', () => {
  it('lets nothing be confirmed before it has looked', () => {
    const { guard } = setUp(() => shippedPolicies);
    expect(() => guard.assertComplete()).toThrow(/admission policies or bindings/);
  });

  it('is content when every policy and binding is there', async () => {
    const { guard, clock, looks } = setUp(() => shippedPolicies);
    const stop = new AbortController();
    const running = guard.run(stop.signal);
    await clock.settle();
    expect(guard.problem()).toBeUndefined();
    expect(() => guard.assertComplete()).not.toThrow();
    expect(looks).toEqual([0]);
    expect(guard.trustedSince()).toBe(Date.UTC(2026, 10, 21, 10));
    stop.abort();
    await running;
  });

  it('lets work begin after the first look, also when something is missing: ends and deletions go on', async () => {
    const { guard, clock } = setUp(() => []);
    const stop = new AbortController();
    let looked = false;
    void guard.looked(stop.signal).then(() => {
      looked = true;
    });
    await clock.settle();
    expect(looked).toBe(false);
    const running = guard.run(stop.signal);
    await clock.settle();
    expect(looked).toBe(true);
    stop.abort();
    await running;
  });

  it('does not keep a process that is told to stop', async () => {
    const { guard } = setUp(() => []);
    await expect(guard.looked(AbortSignal.abort())).resolves.toBeUndefined();
  });

  it('names what is missing, and notices when it comes and goes', async () => {
    const [first, ...rest] = shippedPolicies;
    let present: readonly ShippedPolicy[] = rest;
    const { guard, clock } = setUp(() => present);
    const stop = new AbortController();
    const running = guard.run(stop.signal);
    await clock.settle();
    expect(guard.problem()).toContain(`${first?.kind}/${first?.name}`);
    present = shippedPolicies;
    await clock.advanceAsync(2_000);
    expect(guard.problem()).toBeUndefined();
    present = [];
    await clock.advanceAsync(2_000);
    expect(() => guard.assertComplete()).toThrow(`${shippedPolicies.length} admission policies`);
    stop.abort();
    await running;
  });
});
