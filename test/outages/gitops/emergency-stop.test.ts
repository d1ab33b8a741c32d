import { describe, expect, it } from 'vitest';
import { type Stored, secretAt } from '../../../lab/operator/api.ts';
import type { Applied } from '../../../lab/operator/kubectl.ts';
import { samples } from '../../../lab/operator/samples.ts';
import { until } from '../../../lab/operator/until.ts';
import { operatorWorld } from '../../../lab/operator/world.ts';
import { reasons } from '../../../src/api/reasons.ts';
import { secrets } from '../../../src/api/resources.ts';
import { Controller, type ControllerName, difference, sync } from './controllers.ts';

const world = await operatorWorld();
const { admin } = world;
const controllers = {
  'Argo CD': await Controller.of(world, 'Argo CD'),
  Flux: await Controller.of(world, 'Flux'),
};

/** The samples of config/samples/gitops, under names of this test. */
async function repository(): Promise<readonly Applied[]> {
  const mark = world.name('stop');
  return (await samples('gitops')).map((sample) => ({
    ...sample,
    metadata: { ...sample.metadata, name: `${mark}-${sample.metadata.name}` },
    spec: { ...(sample as Stored).spec, ...placeOf(sample as Stored, mark) },
  }));
}

/** A Secret belongs to one key, and a hash too. */
const placeOf = ({ spec }: Stored, mark: string): object =>
  spec.secretRef === undefined
    ? { key: undefined }
    : { secretRef: { ...spec.secretRef, name: `${mark}-key` } };

const withDisabled = (manifests: readonly Applied[], disabled: boolean): readonly Applied[] =>
  manifests.map((manifest) => ({ ...manifest, spec: { ...(manifest as Stored).spec, disabled } }));

async function stop(manifests: readonly Applied[]): Promise<void> {
  for (const manifest of manifests) await admin.patch(manifest, { spec: { disabled: true } });
  for (const manifest of manifests) await admin.untilRefused(manifest, reasons.disabled);
}

async function untilReady(manifests: readonly Applied[]): Promise<void> {
  for (const manifest of manifests) await admin.untilReady(manifest);
}

describe.each(Object.keys(controllers) as ControllerName[])('an emergency stop under %s', (title) => {
  const controller = controllers[title];
  /** Tried again after a conflict, as a controller does: the operator may write between the read and the write of kubectl. */
  const replace = async (manifests: readonly Applied[]) =>
    await until('each is replaced', async () => {
      const { exitCode, stderr } = await controller.kubectl.trySend('replace', controller.marked(manifests));
      if (exitCode !== 0 && !stderr.includes('(Conflict)')) throw new Error(stderr);
      return exitCode === 0;
    });

  it('stays through syncs, and through replacements of the whole object', async () => {
    const manifests = await repository();
    await sync(controller, manifests);
    await untilReady(manifests);
    await stop(manifests);
    await sync(controller, manifests);
    await replace(manifests);
    await replace(manifests);
    for (const manifest of manifests) {
      expect((await admin.get(manifest)).spec.disabled).toBe(true);
      await admin.untilRefused(manifest, reasons.disabled);
    }
    expect(await difference(controller, manifests)).toBe('');
  });

  it('ends with disabled: false in Git, by a sync and by a replacement, and the field may go again', async () => {
    const manifests = await repository();
    await sync(controller, manifests);
    for (const enable of [sync.bind(undefined, controller), replace]) {
      await stop(manifests);
      await enable(withDisabled(manifests, false));
      await untilReady(manifests);
      await replace(manifests);
      await untilReady(manifests);
    }
  });

  it('of a key that goes to a Secret leaves the Secret where a replacement does not name it', async () => {
    const manifests = await repository();
    await sync(controller, manifests);
    const key = manifests.find((manifest) => 'secretRef' in (manifest as Stored).spec) as Stored;
    const ready = await admin.untilReady(key);
    const { secretRef, ...spec } = key.spec;
    await replace([{ ...key, spec } as Applied]);
    const after = await admin.untilReady(key);
    expect(after.spec.secretRef).toEqual(secretRef);
    expect(after.status.credentialHash).toBe(ready.status.credentialHash);
    const place = secretAt(secretRef.namespace, secretRef.name);
    expect(
      (await admin.client.get(secrets, { namespace: secretRef.namespace, name: secretRef.name })).metadata
        .name,
    ).toBe(place.metadata.name);
  });
});
