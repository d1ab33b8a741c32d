import { beforeAll, describe, expect, it } from 'vitest';
import type { Stored } from '../../../lab/operator/api.ts';
import type { Applied } from '../../../lab/operator/kubectl.ts';
import { samples } from '../../../lab/operator/samples.ts';
import { operatorWorld } from '../../../lab/operator/world.ts';
import { reasons } from '../../../src/api/reasons.ts';
import { buildTimeoutMs, type Operation, type Outcome, SyncEngine } from '../../argocd-sync/argocd-sync.ts';
import { Controller } from './controllers.ts';

const world = await operatorWorld();
const { admin } = world;
const argoCD = await Controller.of(world, 'Argo CD');
let engine: SyncEngine;
beforeAll(async () => {
  engine = await SyncEngine.build(world.guard.folder, argoCD.kubeconfig);
}, buildTimeoutMs + 20_000);

async function operate(operation: Operation): Promise<Outcome> {
  for (const manifest of operation.manifests) argoCD.kubectl.track(manifest);
  return await engine.operate(operation);
}

const wave = 'argocd.argoproj.io/sync-wave';
const hook = 'argocd.argoproj.io/hook';

interface Repository {
  /** The keys of config/samples/gitops, under names of this test. */
  readonly keys: readonly Stored[];
  /** The rest of the Application: the workload that reads a Secret. */
  readonly workload: Applied;
}

async function repository(): Promise<Repository> {
  const mark = world.name('waves');
  const shipped = (await samples('gitops')) as readonly Stored[];
  const keys = shipped.map(({ spec: { key: _, ...spec }, ...sample }) => ({
    ...sample,
    metadata: { ...sample.metadata, name: `${mark}-${sample.metadata.name}` },
    // A Secret belongs to one key.
    spec: spec.secretRef === undefined ? spec : { ...spec, secretRef: { ...spec.secretRef, name: mark } },
  }));
  const workload = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: mark, namespace: 'default' } };
  return { keys: keys as readonly Stored[], workload };
}

const inWave = <Object extends Applied>(object: Object, number: number): Object => ({
  ...object,
  metadata: { ...object.metadata, annotations: { [wave]: String(number) } },
});

/** Orders objects as people did until we told them otherwise: the keys first, in the Application with what needs them. */
const inWaves = ({ keys, workload }: Repository): readonly Applied[] => [
  ...keys.map((key) => inWave(key as Applied, 0)),
  inWave(workload, 1),
];

/** No object has a wave, and yet Argo CD takes more than one step. */
const beforeHook = ({ keys, workload }: Repository): readonly Applied[] => [
  ...(keys as readonly Applied[]),
  workload,
  {
    ...workload,
    metadata: {
      ...workload.metadata,
      name: `${workload.metadata.name}-hook`,
      annotations: { [hook]: 'PostSync' },
    },
  } as Applied,
];

const commitTo = ({ keys, workload }: Repository, displayName: string): Repository => ({
  keys: keys.map((key) => ({ ...key, spec: { ...key.spec, displayName } })),
  workload: { ...workload, data: { displayName } } as Applied,
});

async function disable(git: Repository): Promise<Repository> {
  for (const key of git.keys) await admin.patch(key, { spec: { disabled: true } });
  for (const key of git.keys) await admin.untilRefused(key, reasons.disabled);
  return git;
}

/** Each key has ended, as Git has it. */
async function ended(repository: Repository): Promise<Repository> {
  const keys = repository.keys.map((key) => ({ ...key, spec: { ...key.spec, ttl: 1 } }));
  await operate({ manifests: keys as readonly Applied[] });
  for (const key of keys) await admin.untilRefused(key, reasons.expired);
  return { ...repository, keys };
}

async function synced(manifests: readonly Applied[]): Promise<void> {
  expect(await operate({ manifests })).toMatchObject({ phase: 'Succeeded' });
}

const troubles = [
  ['disabled in an emergency', disable],
  ['at their end', ended],
] as const;

describe('the keys of config/samples/gitops, in an Application of their own', () => {
  it('have neither waves nor hooks, so that Argo CD waits for none', async () => {
    for (const { metadata } of await samples('gitops')) expect(metadata).not.toHaveProperty('annotations');
  });

  it.each(troubles)('take every further commit at once while they are %s', async (_, befall) => {
    const git = await repository();
    await synced(git.keys as readonly Applied[]);
    for (const key of git.keys) await admin.untilReady(key);
    const next = commitTo(await befall(git), 'the next commit');
    for (const replace of [false, true]) {
      const manifests = next.keys as readonly Applied[];
      expect(await operate({ manifests, replace, patienceSeconds: 10 })).toMatchObject({
        phase: 'Succeeded',
      });
      for (const key of next.keys) expect((await admin.get(key)).spec.displayName).toBe('the next commit');
    }
  });

  it('are pruned while they are disabled, with the commit that takes them out', async () => {
    const git = await repository();
    await synced(git.keys as readonly Applied[]);
    await disable(git);
    const [gone, ...left] = git.keys as unknown as [Applied, ...Applied[]];
    const outcome = await operate({ manifests: left, earlier: [gone] });
    expect(outcome).toMatchObject({ phase: 'Succeeded' });
    await admin.untilGone(gone);
  });
});

const oneAfterTheOther = { concurrent: false };

/** With the workload in a wave behind the keys, and with a hook behind both. */
const layouts = [
  ['an early wave', inWaves],
  ['an Application with a hook', beforeHook],
] as const;

/** Each layout has objects of its own, so the two run beside each other. */
describe.concurrent.each(layouts)('the same keys in %s', (_, layout) => {
  const freeze =
    'freeze it while they are disabled, until someone terminates the sync and takes them out, which the guide says';

  it(freeze, oneAfterTheOther, async () => {
    const git = await repository();
    await synced(layout(git));
    await disable(git);
    const manifests = layout(commitTo(git, 'never'));
    const frozen = await operate({ manifests, patienceSeconds: 8 });
    expect(frozen.phase).toBe('Running');
    expect(frozen.message).toContain('waiting for healthy state of management.platform.sh/OwnedAccessKey/');

    const terminated = await operate({ manifests, patienceSeconds: 2, terminate: true });
    expect(terminated).toMatchObject({ phase: 'Failed', message: 'Operation terminated' });

    const next = commitTo(git, 'the next commit');
    await synced(next.keys as readonly Applied[]);
    await synced(layout({ ...next, keys: [] }));
    expect(JSON.stringify(await admin.get(next.workload))).toContain('the next commit');
    for (const key of next.keys)
      expect((await admin.get(key)).spec).toMatchObject({ disabled: true, displayName: 'the next commit' });
  });

  it('fail it once they have ended, which the guide says', oneAfterTheOther, async () => {
    const git = await repository();
    await synced(layout(git));
    const outcome = await operate({ manifests: layout(commitTo(await ended(git), 'never')) });
    expect(outcome).toMatchObject({ phase: 'Failed' });
  });

  // While they are disabled: the end of the first test.
  const holdUpNothing = 'hold up nothing once they are in one of their own, also when they have ended';

  it(holdUpNothing, oneAfterTheOther, async () => {
    const git = await repository();
    await synced(layout(git));
    const next = commitTo(await ended(git), 'the next commit');
    await synced(next.keys as readonly Applied[]);
    await synced(layout({ ...next, keys: [] }));
    for (const { kind, metadata } of [...(next.keys as readonly Applied[]), next.workload])
      expect(JSON.stringify(await admin.get({ kind, metadata }))).toContain('the next commit');
  });
});
