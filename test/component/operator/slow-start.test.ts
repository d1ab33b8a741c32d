import { expect, it } from 'vitest';
import { finalizers, labels } from '../../../src/api/names.ts';
import { Simulation } from './simulation.ts';

const keys = 'ownedaccesskeys';
const tokens = 'directclusterendpointtokens';

it('a deleted object has its whole time from when the new process works, however long that took to read everything', async () => {
  const simulation = new Simulation([]);
  simulation.create(keys, 'parent', { user: 'alice' });
  await simulation.runUntilIdle();
  simulation.create(tokens, 'child', { accessKey: 'parent', ttl: 86_400 });
  const held = [finalizers.DirectClusterEndpointToken, 'example.com/keep'];
  simulation.edit(tokens, 'child', {
    metadata: { finalizers: held, labels: { [labels.ephemeral]: 'true' } },
  });
  await simulation.runUntilIdle();
  simulation.delete(keys, 'parent');
  await simulation.runUntilIdle();
  simulation.crash(3_600_000);
  await simulation.runUntilIdle();
  expect(simulation.api.find(keys, 'parent')).toBeDefined();
  simulation.clock.advance(60_000);
  await simulation.runUntilIdle();
  expect(simulation.api.find(keys, 'parent')).toBeUndefined();
  expect(simulation.api.find(tokens, 'child')).toBeDefined();
});
