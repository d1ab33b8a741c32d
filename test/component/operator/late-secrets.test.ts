import { beforeEach, describe, expect, it } from 'vitest';
import { labels } from '../../../src/api/names.ts';
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

  it('it is left to who took its label away meanwhile, also when the credential moves to another, or goes', async () => {
    simulation.api.patch(
      'secrets',
      'default/first',
      { metadata: { labels: { [labels.ownerUID]: null } } },
      {},
    );
    simulation.edit(plural, 'a', { spec: { secretRef: secretRef('second') } });
    await settle();
    simulation.api.patch(
      'secrets',
      'default/second',
      { metadata: { labels: { [labels.ownerUID]: null } } },
      {},
    );
    simulation.delete(plural, 'a');
    expect(await left()).toEqual(['first', 'second']);
    expect(simulation.records()).toEqual([]);
  });

  it('it goes also where somebody changed it meanwhile and it is still ours', async () => {
    simulation.api.patch('secrets', 'default/first', { metadata: { labels: { seen: 'yes' } } }, {});
    simulation.edit(plural, 'a', { spec: { secretRef: secretRef('second') } });
    expect(await left()).toEqual(['second']);
  });

  it('no other credential is made, however long that takes', async () => {
    simulation.clock.advance(600_000);
    simulation.edit(plural, 'a', { metadata: { labels: { seen: 'yes' } } });
    await settle();
    expect(simulation.records().map(({ status }) => status.serial)).toEqual([1]);
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

it('a Secret that loses its label and gets it back costs its credential one other, and no more', async () => {
  simulation.releaseSecrets();
  simulation.create(keys, 'a', { user: 'alice', secretRef: secretRef('first') });
  await simulation.runUntilIdle();
  const [{ uid = '' } = {}] = simulation.records();
  const label = async (value: string | null) => {
    const metadata = { labels: { [labels.ownerUID]: value } };
    simulation.api.patch('secrets', 'default/first', { metadata }, {});
    for (let round = 0; round < 20; round++) {
      await settle();
      simulation.clock.advance(100);
    }
  };
  await label(null);
  await label(uid);
  expect(simulation.records().map(({ status }) => status.serial)).toEqual([2]);
});

it('a status that met a change which the watch has not brought is written at the next try', async () => {
  simulation.releaseSecrets();
  simulation.create(keys, 'a', { user: 'alice', secretRef: secretRef('first') });
  simulation.deliver();
  simulation.edit(keys, 'a', { metadata: { labels: { seen: 'yes' } } });
  for (let round = 0; round < 5; round++) {
    await simulation.work();
    simulation.clock.advance(1_000);
  }
  const [key] = simulation.records();
  expect(key?.status.serial).toBe(1);
  expect(key && simulation.heldHash(key)).toBe(key?.status.credentialHash);
});

describe('after a start, when only the metadata of Secrets is known', () => {
  const serialOf = (name: string) => simulation.records().find(({ key }) => key === name)?.status.serial;

  beforeEach(async () => {
    simulation.releaseSecrets();
    for (const name of ['intact', 'altered', 'gone'])
      simulation.create(keys, name, { user: 'alice', secretRef: secretRef(name) });
    await simulation.runUntilIdle();
  });

  it('a credential stays as it is where its Secret holds it, and is made again where it does not', async () => {
    const { api } = simulation;
    api.patch('secrets', 'default/altered', { data: { key: Buffer.from('another').toString('base64') } }, {});
    api.delete('secrets', 'default/gone');
    const before = api.find('secrets', 'default/intact')?.metadata.resourceVersion;
    simulation.crash();
    await simulation.runUntilIdle();
    expect(['intact', 'altered', 'gone'].map(serialOf)).toEqual([1, 2, 2]);
    expect(api.find('secrets', 'default/intact')?.metadata.resourceVersion).toBe(before);
  });
});
