import { describe, expect, it } from 'vitest';
import { kubectlOf } from '../../operator/kubectl.ts';
import { samples } from '../../operator/samples.ts';
import { operatorWorld } from '../../operator/world.ts';

const world = await operatorWorld();
const kubectl = await kubectlOf(world, 'sample-user');
const all = await samples();
const kinds = 'ownedaccesskeys,directclusterendpointtokens';
const wait = ['wait', '--for=condition=Ready', '--timeout=20s', kinds, '--all'];

describe('the samples, applied with kubectl by an ordinary user', () => {
  it('are there for both kinds', () => {
    const found = new Set(all.map(({ kind }) => kind));
    expect([...found].sort()).toEqual(['DirectClusterEndpointToken', 'OwnedAccessKey']);
  });

  it.each([
    ['as they stand', all],
    ['one by one in the opposite order', all.toReversed()],
  ])('become ready when applied %s', async (_, ordered) => {
    if (ordered === all) await kubectl.send('apply', all);
    else for (const sample of ordered) await kubectl.send('apply', sample);

    expect(await kubectl.ok(wait)).toMatch(/condition met/);

    const ready = await kubectl.ok([
      'get',
      kinds,
      '-o',
      'jsonpath={.items[*].status.conditions[?(@.type=="Ready")].status}',
    ]);
    expect(ready.split(' ')).toEqual(all.map(() => 'True'));
    await kubectl.send('delete', all, '--timeout=20s');
  });

  it('change nothing when applied once more', async () => {
    await kubectl.send('apply', all);
    await kubectl.ok(wait);
    const versions = async () =>
      await kubectl.ok(['get', kinds, '-o', 'jsonpath={.items[*].metadata.resourceVersion}']);
    const before = await versions();

    expect(await kubectl.send('apply', all)).not.toMatch(/configured|created/);

    for (const sample of all) expect(await kubectl.diff(sample)).toBe('');
    expect(await versions()).toBe(before);
  });
});
