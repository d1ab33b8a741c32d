import { expect, it } from 'vitest';
import { generateSigningKey } from '../../../src/credentials/tokens/signing-key.ts';
import { KubeConfigSimulation } from './kubeconfig-simulation.ts';

const dates = { createdAt: 0, activeFrom: 0, maxLife: 60 };
const [key, other] = await Promise.all([generateSigningKey(dates), generateSigningKey(dates)]);

/** A kubeconfig with a token of `key`, and the process that takes over and does not know the keys yet. */
async function takenOver(): Promise<KubeConfigSimulation> {
  const simulation = new KubeConfigSimulation();
  simulation.ring.publish([key], key);
  simulation.create({ clientCert: false });
  await simulation.runUntilIdle();
  expect(simulation.record.status.serial).toBe(1);
  simulation.restart();
  return simulation;
}

it('a kubeconfig stays as it is when the next process learns the signing keys while it is looked at', async () => {
  const simulation = await takenOver();
  simulation.onReview = () => simulation.ring.publish([key], key);
  await simulation.runUntilIdle();
  simulation.ring.publish([key], key);
  await simulation.runUntilIdle();
  expect(simulation.record.status.serial).toBe(1);
});

it('a kubeconfig whose key was revoked before the next process began is replaced', async () => {
  const simulation = await takenOver();
  await simulation.runUntilIdle();
  expect(simulation.record.status.serial).toBe(1);
  simulation.ring.publish([other], other);
  await simulation.runUntilIdle();
  expect(simulation.record.status).toMatchObject({ serial: 2, signingKeyID: other.kid });
});
