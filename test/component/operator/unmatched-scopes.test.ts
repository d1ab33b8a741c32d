import { expect, it } from 'vitest';
import { conditionTypes, findCondition } from '../../../src/api/conditions.ts';
import { reasons } from '../../../src/api/reasons.ts';
import { Simulation } from './simulation.ts';

const keys = 'ownedaccesskeys';
const scope = { projects: [{ project: 'shop' }] };

async function begun(): Promise<Simulation> {
  const simulation = new Simulation([]);
  await simulation.runUntilIdle();
  return simulation;
}

const later = async (simulation: Simulation): Promise<void> => {
  simulation.clock.advance(3_100);
  await simulation.runUntilIdle();
};

/** Names of the credentials that say that their scope matches nothing. */
const unmatched = (simulation: Simulation): string[] =>
  simulation
    .records()
    .filter(({ conditions }) => findCondition(conditions, conditionTypes.scopeMatchesNothing) !== undefined)
    .map(({ name }) => name);

const warned = (simulation: Simulation): string[] =>
  simulation.published.filter((event) => event.startsWith(reasons.scopeMatchesNothing));

const versionsOf = (simulation: Simulation, name: string): number =>
  simulation.api.changes.filter(({ object }) => object.metadata.name === name).length;

it('the condition goes when the project comes, and is said again when it goes', async () => {
  const simulation = await begun();
  simulation.create(keys, 'ci', { user: 'alice', scope });
  await simulation.runUntilIdle();
  await later(simulation);
  simulation.createProject('shop');
  await simulation.runUntilIdle();
  expect(unmatched(simulation)).toEqual([]);
  simulation.delete('namespaces', 'p-shop');
  await simulation.runUntilIdle();
  expect(unmatched(simulation)).toEqual(['ci']);
  expect(warned(simulation)).toHaveLength(2);
});

it('a key whose project comes a moment later never says it, and is not written for it', async () => {
  const simulation = await begun();
  simulation.create(keys, 'late', { user: 'alice', scope });
  simulation.create(keys, 'open', { user: 'alice' });
  await simulation.runUntilIdle();
  simulation.createProject('shop');
  await simulation.runUntilIdle();
  await later(simulation);
  expect(warned(simulation)).toEqual([]);
  expect(versionsOf(simulation, 'late')).toBe(versionsOf(simulation, 'open'));
});

it('a change of scope is judged at once, and the next operator says nothing again', async () => {
  const simulation = await begun();
  simulation.createProject('shop');
  simulation.create(keys, 'ci', { user: 'alice', scope });
  await simulation.runUntilIdle();
  await later(simulation);
  expect(unmatched(simulation)).toEqual([]);
  simulation.edit(keys, 'ci', { spec: { scope: { projects: [{ project: 'shpo' }] } } });
  await simulation.runUntilIdle();
  expect(unmatched(simulation)).toEqual(['ci']);
  simulation.crash();
  await simulation.runUntilIdle();
  expect(unmatched(simulation)).toEqual(['ci']);
  expect(warned(simulation)).toHaveLength(1);
});

it('a project that goes and comes again is told to its keys at a pace that leaves room for others', async () => {
  const simulation = await begun();
  simulation.createProject('shop');
  for (let index = 0; index < 50; index++) simulation.create(keys, `key-${index}`, { user: 'alice', scope });
  await simulation.runUntilIdle();
  for (const [act, then] of [
    [() => simulation.delete('namespaces', 'p-shop'), [20, 40, 50]],
    [() => simulation.createProject('shop'), [30, 10, 0]],
  ] as const) {
    simulation.clock.advance(60_000);
    await simulation.runUntilIdle();
    act();
    for (const count of then) {
      await simulation.runUntilIdle();
      expect(unmatched(simulation)).toHaveLength(count);
      simulation.clock.advance(1_000);
    }
  }
  expect(warned(simulation)).toHaveLength(50);
});
