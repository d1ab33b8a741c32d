import { beforeEach, describe, expect, it } from 'vitest';
import { reasons } from '../../../src/api/reasons.ts';
import type { OpenResult } from '../../../src/platform/targets/target-clients.ts';
import { KubeConfigSimulation } from './kubeconfig-simulation.ts';
import { MemoryTarget, refusal } from './memory-target.ts';

const bindings = 'clusterrolebindings';

let simulation: KubeConfigSimulation;
/** The virtual cluster that the certificate was issued in. */
let real: MemoryTarget;

beforeEach(async () => {
  simulation = new KubeConfigSimulation();
  simulation.create();
  await simulation.runUntilIdle();
  real = simulation.target;
  expect(simulation.ready?.status).toBe('True');
  expect(real.names(bindings)).toHaveLength(1);
});

/** A virtual cluster that anyone can make. */
function decoy(): OpenResult {
  const { client } = new MemoryTarget(simulation.clock, () => 'works');
  const config = { server: new URL('https://10.0.0.2'), ca: 'the authority of somebody else' };
  return { target: { client, config } };
}

/** Leads the Secret elsewhere, as an attacker does who may write it and need not be able to read it. */
function swap(): void {
  simulation.opening = decoy();
  simulation.ca = 'the authority of somebody else';
}

function swapBack(): void {
  simulation.ca = 'the authority';
  simulation.opening = undefined;
}

/** Only an answer from before is left then, and it leads elsewhere. */
function swapAndRemove(): void {
  swap();
  const { opening } = simulation;
  if (opening === undefined || !('target' in opening)) throw new Error('it leads nowhere');
  simulation.remembered = opening.target;
  simulation.opening = { problem: { reason: reasons.kubeConfigNotFound, message: 'It is not there.' } };
}

async function issueIntoSecret(): Promise<void> {
  simulation = new KubeConfigSimulation();
  simulation.create({ secretRef: { name: 'out' } });
  await simulation.runUntilIdle();
  real = simulation.target;
  expect(real.names(bindings)).toHaveLength(1);
}

async function later(times: number): Promise<void> {
  for (let time = 0; time < times; time++) {
    await simulation.runUntilIdle();
    simulation.clock.advance(700_000);
  }
}

describe('a certificate whose object is deleted', () => {
  it('is revoked in its virtual cluster although the Secret led elsewhere meanwhile', async () => {
    swap();
    simulation.delete();
    await simulation.runUntilIdle();
    swapBack();
    await later(3);
    expect(real.names(bindings)).toEqual([]);
  });

  it('is revoked in its virtual cluster although the Secret led elsewhere when another was issued', async () => {
    swap();
    await simulation.runUntilIdle();
    simulation.edit({ metadata: { annotations: { 'management.platform.sh/rotate': 'now' } } });
    await simulation.runUntilIdle();
    simulation.delete();
    await simulation.runUntilIdle();
    swapBack();
    await later(3);
    expect(real.names(bindings)).toEqual([]);
  });

  it.each([
    ['elsewhere', swap],
    ['nowhere, after elsewhere,', swapAndRemove],
  ])(
    'is revoked in its virtual cluster although the Secret led %s while its own could not go',
    async (_, lead) => {
      await issueIntoSecret();
      simulation.isWatchFast = true;
      const secret = `${simulation.secret?.metadata.namespace}/out`;
      simulation.platform.patch('secrets', secret, { metadata: { finalizers: ['example.com/kept'] } }, {});
      lead();
      simulation.delete();
      await simulation.runOnce(1_000);
      swapBack();
      await simulation.runOnce(1_000);
      expect(real.names(bindings)).toHaveLength(1);
      simulation.platform.patch('secrets', secret, { metadata: { finalizers: [] } }, {});
      await later(3);
      expect(simulation.object).toBeUndefined();
      expect(real.names(bindings)).toEqual([]);
      expect(simulation.revocation).toBeUndefined();
    },
  );

  it('is revoked when instance and Secret went first, and the Secret comes back', async () => {
    const problem = { reason: reasons.kubeConfigNotFound, message: 'It is not there.' };
    simulation.opening = { problem };
    simulation.instance = undefined;
    simulation.delete();
    await simulation.runUntilIdle();
    expect(simulation.object).toBeUndefined();
    swapBack();
    await later(3);
    expect(real.names(bindings)).toEqual([]);
  });

  it('is revoked in its own virtual cluster, not in that of a later instance of the same name', async () => {
    const { instance } = simulation;
    if (instance === undefined) throw new Error('there is no instance');
    simulation.instance = { ...instance, uid: 'another' };
    swap();
    simulation.delete();
    await simulation.runUntilIdle();
    swapBack();
    simulation.instance = instance;
    await later(3);
    expect(real.names(bindings)).toEqual([]);
  });

  it('is revoked before another is issued, although the Secret led elsewhere when its successor took its place', async () => {
    simulation = new KubeConfigSimulation();
    simulation.addKey('ci');
    simulation.create({ accessKey: 'ci', certificateTTL: 7_200, renewBefore: 3_600 });
    await simulation.runUntilIdle();
    real = simulation.target;
    simulation.clock.advance(3_600_000);
    await simulation.runUntilIdle();
    expect(simulation.record.status.boundSerials).toEqual([1, 2]);
    simulation.opening = decoy();
    simulation.clock.advance(600_000);
    await simulation.runUntilIdle();
    expect(simulation.record.status.boundSerials).toEqual([2]);
    expect(real.names(bindings)).toHaveLength(2);
    swapBack();
    simulation.clock.advance(3_000_000);
    await simulation.runUntilIdle();
    expect(simulation.revocation?.data).toMatchObject({ serials: '2,3' });
    const { uid } = simulation.record;
    expect(real.names(bindings).toSorted()).toEqual([`latchkey-${uid}-2`, `latchkey-${uid}-3`]);
  });

  it('is revoked as long as the certificate lives, which its signer may have made longer than was asked', async () => {
    const year = 31_536_000_000;
    real.sign = (request) =>
      real.issue({ ...request, spec: { ...request.spec, expirationSeconds: year / 1000 } });
    simulation.edit({ metadata: { annotations: { 'management.platform.sh/rotate': 'now' } } });
    await simulation.runUntilIdle();
    const { validToDate } = simulation.held.certificate;
    expect(validToDate.getTime() - simulation.clock.now()).toBeGreaterThan(year / 2);
    real.failure = refusal(503, 'ServiceUnavailable');
    simulation.delete();
    for (let i = 0; i < 80 && simulation.object !== undefined; i++) await simulation.runOnce(1_000);
    expect(simulation.object).toBeUndefined();
    for (let i = 0; i < 200; i++) {
      await simulation.runOnce(600_000);
      simulation.clock.advance(300_000);
    }
    expect(validToDate.getTime()).toBeGreaterThan(simulation.clock.now());
    real.failure = undefined;
    await later(3);
    expect(real.names(bindings)).toEqual([]);
  });
});
