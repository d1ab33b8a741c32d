import { beforeEach, describe, expect, it } from 'vitest';
import { Simulation } from './simulation.ts';

const keys = 'ownedaccesskeys';
const tokens = 'directclusterendpointtokens';
const secretRef = (name: string) => ({ namespace: 'default', name });

let simulation: Simulation;
beforeEach(async () => {
  simulation = new Simulation([]);
  await simulation.runUntilIdle();
  simulation.holdSecrets();
});

/** Works on all that the other watches bring. */
async function settle(): Promise<void> {
  for (let round = 0; round < 5; round++) {
    simulation.deliver();
    await simulation.work();
  }
}

/** Names of the Secrets in `default`, once the late watch has brought them. */
async function left(): Promise<readonly string[]> {
  await settle();
  await simulation.runUntilIdle();
  return simulation.api
    .all('secrets')
    .filter(({ metadata }) => metadata.namespace === 'default')
    .map(({ metadata }) => metadata.name);
}

describe.each<[string, string, Record<string, unknown>]>([
  ['an access key', keys, { user: 'alice' }],
  ['a token', tokens, { ttl: 600 }],
])('while the watch of Secrets has not brought the Secret of %s', (_, plural, spec) => {
  beforeEach(async () => {
    simulation.create(plural, 'a', { ...spec, secretRef: secretRef('first') });
    await settle();
  });

  it('it is there', async () => {
    expect(await left()).toEqual(['first']);
  });

  it('it goes when the credential moves to another', async () => {
    simulation.edit(plural, 'a', { spec: { secretRef: secretRef('second') } });
    expect(await left()).toEqual(['second']);
  });

  it('it goes also when the watch brings it more than half a minute later', async () => {
    simulation.clock.advance(40_000);
    simulation.edit(plural, 'a', { spec: { secretRef: secretRef('second') } });
    expect(await left()).toEqual(['second']);
  });

  it('it goes with the object', async () => {
    simulation.delete(plural, 'a');
    expect(await left()).toEqual([]);
    expect(simulation.records()).toEqual([]);
  });
});

describe('while the watch of Secrets has not brought the Secret of a child', () => {
  it('it goes with the access key above', async () => {
    simulation.create(keys, 'parent', { user: 'alice' });
    await settle();
    simulation.create(tokens, 'child', { accessKey: 'parent', ttl: 600, secretRef: secretRef('first') });
    await settle();
    simulation.delete(keys, 'parent');
    expect(await left()).toEqual([]);
    expect(simulation.records().map(({ key }) => key)).toEqual(['child']);
  });
});
