import { describe, expect, it } from 'vitest';
import { kubectlOf } from '../../operator/kubectl.ts';
import { samples } from '../../operator/samples.ts';
import { operatorWorld } from '../../operator/world.ts';

const world = await operatorWorld();
const kubectl = await kubectlOf(world, 'sample-user');
const all = await samples();

describe('the samples, applied with kubectl by an ordinary user', () => {
  const untilReady = async () => await kubectl.send('wait', all, '--for=condition=Ready', '--timeout=20s');
  const column = async (jsonPath: string): Promise<readonly string[]> => {
    const lines = await kubectl.send('get', all, '-o', `jsonpath={range .items[*]}${jsonPath}{"\\n"}{end}`);
    return lines.trimEnd().split('\n');
  };

  it('are there for both kinds', () => {
    const kinds = new Set(all.map(({ kind }) => kind));
    expect([...kinds].sort()).toEqual(['DirectClusterEndpointToken', 'OwnedAccessKey']);
  });

  it.each([
    ['as they stand', all],
    ['in the opposite order', all.toReversed()],
  ])('become ready when applied %s', async (_, ordered) => {
    for (const sample of ordered) await kubectl.send('apply', sample);
    const said = await untilReady();
    expect(said.match(/condition met$/gm)).toHaveLength(all.length);
    expect(await column('{.status.conditions[?(@.type=="Ready")].reason}')).toEqual(all.map(() => 'Issued'));
    await kubectl.send('delete', all, '--timeout=20s');
  });

  it('change nothing when they are applied once more', async () => {
    await kubectl.send('apply', all);
    await untilReady();
    const before = await column('{.metadata.resourceVersion}');

    await kubectl.send('apply', all);

    expect(await kubectl.diff(all)).toBe('');
    expect(await column('{.metadata.resourceVersion}')).toEqual(before);
  });
});
