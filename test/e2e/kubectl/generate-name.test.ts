import { describe, expect, it } from 'vitest';
import type { Stored } from '../../../lab/operator/api.ts';
import { kubectlOf } from '../../../lab/operator/kubectl.ts';
import { manifestOf } from '../../../lab/operator/manifest.ts';
import { operatorWorld } from '../../../lab/operator/world.ts';
import { ownedAccessKeys } from '../../../src/api/resources.ts';
import { isAlreadyExists } from '../../../src/kube/kube-error.ts';

const world = await operatorWorld();
const user = await world.user('generate-user');
const kubectl = await kubectlOf(world, 'generate-user');
const withPrefix = (prefix: string) => {
  const { metadata: _, ...manifest } = manifestOf(ownedAccessKeys);
  return { ...manifest, metadata: { generateName: prefix } };
};

describe('generateName', () => {
  it('makes a working key under a new name each time', async () => {
    const prefix = world.name('many-');
    const made = await Promise.all(
      Array.from({ length: 20 }, () => user.api.createObject(ownedAccessKeys, withPrefix(prefix))),
    );
    const names = new Set(made.map(({ metadata }) => metadata.name));
    expect(names.size).toBe(20);
    const ready = await Promise.all(made.map((key) => world.admin.untilReady(key)));
    expect(new Set(ready.map(({ spec }) => spec.key)).size).toBe(20);
  });

  it('works with kubectl create, and kubectl apply refuses it', async () => {
    const input = JSON.stringify(withPrefix(world.name('created-')));
    const created = JSON.parse(await kubectl.ok(['create', '-f', '-', '-o', 'json'], { input })) as Stored;
    kubectl.track(created);
    await world.admin.untilReady(created);
    const { exitCode, stderr } = await kubectl.run(['apply', '-f', '-'], { input });
    expect({ exitCode, stderr }).toEqual({
      exitCode: 1,
      stderr: expect.stringContaining('cannot use generate name with apply'),
    });
  });

  // The API server draws five characters, and draws again up to seven times when the name is taken: no test can bring
  // that about. What a client meets then is this answer, the same as for a name that it chose itself.
  it('meets a taken name as 409 AlreadyExists, and the key under that name goes on', async () => {
    const first = await world.admin.untilReady(
      await user.api.createObject(ownedAccessKeys, withPrefix('taken-')),
    );
    const again = {
      ...withPrefix('taken-'),
      metadata: { generateName: 'taken-', name: first.metadata.name },
    };
    const refused = await user.api.createObject(ownedAccessKeys, again).catch((error: unknown) => error);
    expect(isAlreadyExists(refused)).toBe(true);
    expect(refused).toMatchObject({ status: 409, reason: 'AlreadyExists' });
    expect((await world.admin.get(first)).metadata.resourceVersion).toBe(first.metadata.resourceVersion);
  });
});
