import { readFile } from 'node:fs/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Api, type Stored, secretAt } from '../../../lab/operator/api.ts';
import { type Applied, Kubectl } from '../../../lab/operator/kubectl.ts';
import { giveRight } from '../../../lab/operator/rights.ts';
import { samples } from '../../../lab/operator/samples.ts';
import { until } from '../../../lab/operator/until.ts';
import { kubeConfigSecret, sharedVirtualCluster } from '../../../lab/operator/virtual-cluster.ts';
import { operatorWorld } from '../../../lab/operator/world.ts';
import { namespaces as namespaceResource, secrets } from '../../../src/api/resources.ts';
import { Controller } from './controllers.ts';
import { credentialOf } from './credentials.ts';

interface Sample extends Applied {
  readonly metadata: Applied['metadata'] & { readonly annotations: Readonly<Record<string, string>> };
  readonly spec?: Readonly<Record<string, unknown>>;
}

/** Who syncs, and what. */
interface Part {
  readonly kubectl: Kubectl;
  readonly api: Api;
  readonly samples: readonly Sample[];
}

/** All samples, in the hands of those who may have them. */
class Repository {
  readonly parts: readonly Part[];

  constructor(...parts: readonly Part[]) {
    this.parts = parts;
  }

  async send(verb: string, ...flags: string[]): Promise<void> {
    await this.#each(async ({ kubectl, samples: own }) => await kubectl.send(verb, own, ...flags));
  }

  async difference(...flags: string[]): Promise<string> {
    const of = async ({ kubectl, samples: own }: Part) =>
      await kubectl.diff(own, '--concurrency=8', ...flags);
    return (await this.#each(of)).join('');
  }

  /** Somebody changes a field of each that stands in Git. */
  async tamper(): Promise<void> {
    await this.#each(async ({ api, samples: own }) => {
      for (const sample of own) await api.patch(sample, change(sample));
    });
  }

  async prune(wave: number): Promise<void> {
    await this.#each(async ({ kubectl, samples: own }) => {
      const going = own.filter((sample) => waveOf(sample) === wave);
      return await kubectl.send('delete', going, '--cascade=foreground', '--timeout=120s');
    });
  }

  async #each<Outcome>(act: (part: Part) => Promise<Outcome>): Promise<readonly Outcome[]> {
    return await Promise.all(this.parts.map(act));
  }
}

const samplesOf = async (folder: string) => (await samples(folder)) as unknown as readonly Sample[];
const syncWave = 'argocd.argoproj.io/sync-wave';
const waveOf = ({ metadata }: Sample): number => Number(metadata.annotations[syncWave]);

/** A service account cannot speak for itself, and can name no key above. */
function isForControllers({ kind, spec = {} }: Sample): boolean {
  if (kind === 'DirectClusterEndpointToken') return false;
  if (kind === 'VirtualClusterInstanceKubeConfig') return 'accessKey' in spec;
  return kind !== 'OwnedAccessKey' || 'user' in spec || 'team' in spec;
}

// The virtual cluster is on loopback, which is not dialled by default.
const world = await operatorWorld();
const virtual = await sharedVirtualCluster();
const { admin } = world;
const argoCD = await Controller.of(world, 'Argo CD');
const flux = await Controller.of(world, 'Flux');
const folders = ['.', 'virtual-cluster', 'cluster', 'cluster-api', 'kamaji'];
const all = (await Promise.all(folders.map(samplesOf))).flat();
const project = await samplesOf('project');
const alice = await world.user('alice');
const hers: Part = {
  kubectl: new Kubectl(world, alice.kubeconfig),
  api: alice.api,
  samples: all.filter((sample) => !isForControllers(sample)),
};
const repositoryOf = (controller: Controller): Repository => {
  const { kubectl, api } = controller;
  return new Repository({ kubectl, api, samples: controller.marked(all.filter(isForControllers)) }, hers);
};

/** For the Secrets that her credentials go to. */
const secretRights = { apiGroups: [''], resources: ['secrets'], verbs: ['get', 'create', 'update'] };

const forced = ['--server-side', '--force-conflicts'];

interface Flavour {
  readonly title: string;
  readonly controller: Controller;
  /** All ways to sync; the first of them makes the objects. */
  readonly syncs: readonly { readonly way: string; readonly flags: readonly string[] }[];
  /** Takes back what somebody changed, which takes force where fields have managers. */
  readonly healing: readonly string[];
}

const flavours: readonly Flavour[] = [
  {
    title: 'Argo CD with client-side apply',
    controller: argoCD,
    syncs: [{ way: 'client-side', flags: [] }],
    healing: [],
  },
  {
    title: 'Flux with server-side apply',
    controller: flux,
    syncs: [
      { way: 'server-side', flags: ['--server-side'] },
      { way: 'server-side with --force-conflicts', flags: forced },
    ],
    healing: forced,
  },
];

beforeAll(async () => {
  await argoCD.kubectl.send('apply', project, ...argoCD.flags);
  await giveRight(admin, 'alice', secretRights);
  const kubeConfig = await virtual.adminKubeConfig();
  const made = [
    kubeConfigSecret('vcluster', 'shop', kubeConfig, 'p-demo'),
    kubeConfigSecret('cluster-api', 'payments', kubeConfig, 'p-demo'),
    // Its users get another role than those of the others, so it is another cluster: the one that Latchkey itself is in.
    kubeConfigSecret('kamaji', 'search', await readFile(world.plane.adminKubeconfig, 'utf8'), 'p-demo'),
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'staging-kubeconfig', namespace: 'sample-clusters' },
      stringData: { config: kubeConfig },
    },
  ];
  for (const secret of made) await admin.createObject(secrets, secret);
  const ofSpace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } };
  await virtual.admin.createObject(namespaceResource, ofSpace);
});

const untilReady = async (): Promise<void> => {
  await Promise.all(all.map(async (sample) => await admin.untilReady(sample, { everyMs: 150 })));
};

/** Every sample as it is stored, with its credential. */
async function seen(): Promise<readonly { object: Stored; credential: string | undefined }[]> {
  return await Promise.all(
    all.map(async (sample) => {
      const object = await admin.get(sample);
      return { object, credential: await credentialOf(admin, object) };
    }),
  );
}

const versions = async () =>
  (await seen()).map(({ object: { kind, metadata }, credential }) => ({
    object: `${kind} ${metadata.name} ${metadata.resourceVersion}`,
    credential,
  }));

/** Waits: what a scope matches is said some seconds after a creation. */
async function untilSettled(): Promise<void> {
  let last = '';
  const isSame = async () => {
    const before = last;
    last = JSON.stringify(await versions());
    return last === before;
  };
  await until('nothing is written any more', isSame, { everyMs: 4_000 });
}

/** Where their credentials are written to. */
const outputs = all.flatMap(({ metadata, spec = {} }) => {
  const { secretRef } = spec as { secretRef?: { namespace?: string; name: string } };
  if (secretRef === undefined) return [];
  return [secretAt(secretRef.namespace ?? metadata.namespace ?? '', secretRef.name)];
});

/** Of a field that stands in Git. */
function change({ spec = {}, metadata }: Sample): object {
  if ('displayName' in spec) return { spec: { displayName: 'changed by hand' } };
  if ('ttl' in spec) return { spec: { ttl: Number(spec['ttl']) + 60 } };
  if ('certificateTTL' in spec) return { spec: { certificateTTL: Number(spec['certificateTTL']) + 60 } };
  return { metadata: { annotations: { ...metadata.annotations, [syncWave]: '7' } } };
}

describe('the samples', () => {
  it('are in waves: what is used comes before what uses it', () => {
    expect(project.map(waveOf)).toEqual(project.map(() => -2));
    const wave = new Map(all.map((sample) => [`${sample.kind} ${sample.metadata.name}`, waveOf(sample)]));
    const used = all.flatMap((sample) => {
      const { accessKey, virtualClusterInstance, clusterRef } = (sample.spec ?? {}) as Record<
        string,
        unknown
      >;
      const cluster = (clusterRef as { cluster?: string } | undefined)?.cluster;
      return [
        ...(accessKey === undefined ? [] : [[sample, `OwnedAccessKey ${accessKey}`] as const]),
        ...(sample.kind === 'VirtualClusterInstanceKubeConfig'
          ? [[sample, `VirtualClusterInstance ${virtualClusterInstance ?? sample.metadata.name}`] as const]
          : []),
        ...(cluster === undefined ? [] : [[sample, `Cluster ${cluster}`] as const]),
      ];
    });
    expect(used.length).toBeGreaterThan(5);
    for (const [sample, name] of used) expect(waveOf(sample), name).toBeGreaterThan(wave.get(name) ?? 99);
  });

  it('can be applied by a controller wherever they say who they speak for', () => {
    expect(all.filter(isForControllers).length).toBeGreaterThan(7);
    expect(hers.samples.length).toBeGreaterThan(7);
  });
});

describe.each(flavours)('the samples, synced by $title', ({ controller, syncs, healing }) => {
  const manager = `--field-manager=${controller.manager}`;
  const repository = repositoryOf(controller);

  beforeAll(async () => {
    await repository.send('apply', manager, ...(syncs[0]?.flags ?? []));
    await untilReady();
    await untilSettled();
  });

  it.each(syncs)('do not differ from Git, and another sync changes nothing ($way)', async ({ flags }) => {
    const before = await versions();
    expect(await repository.difference(manager, ...flags)).toBe('');
    await repository.send('apply', manager, ...flags);
    expect(await versions()).toEqual(before);
  });

  it('leave no mark of the controller on their Secrets', async () => {
    expect(outputs.length).toBeGreaterThan(3);
    const found = await Promise.all(outputs.map(async (place) => await admin.get(place)));
    const marks = found.flatMap(({ metadata }) =>
      Object.keys({ ...metadata.labels, ...metadata.annotations }).filter(
        (name) => !name.startsWith('management.platform.sh/'),
      ),
    );
    expect(marks).toEqual([]);
  });

  it('get back what somebody has changed, and keep their credentials', async () => {
    const before = await seen();
    await repository.tamper();
    await repository.send('apply', manager, ...healing);
    await untilReady();
    expect(await repository.difference(manager, ...healing)).toBe('');
    const after = await seen();
    expect(after.map(({ object }) => object.spec)).toEqual(before.map(({ object }) => object.spec));
    const keys = (list: typeof before) =>
      list.filter(({ object }) => object.kind === 'OwnedAccessKey').map(({ credential }) => credential);
    expect(keys(after)).toEqual(keys(before));
    await repository.send('apply', manager, ...healing);
    expect(await versions()).toEqual(
      after.map(({ object: { kind, metadata }, credential }) => ({
        object: `${kind} ${metadata.name} ${metadata.resourceVersion}`,
        credential,
      })),
    );
  });

  it('keep their credentials when each is replaced as a whole (Replace=true), and are stable from then on', async () => {
    const before = await seen();
    await repository.send('replace', manager);
    await untilReady();
    const replaced = await versions();
    expect(replaced.map(({ credential }) => credential)).toEqual(before.map(({ credential }) => credential));
    await repository.send('replace', manager);
    expect(await versions()).toEqual(replaced);
    expect(await repository.difference(manager, ...forced)).toBe('');
  });

  it('go within seconds, last wave first, and their Secrets with them', async () => {
    const begun = performance.now();
    for (const wave of [1, 0]) await repository.prune(wave);
    expect(performance.now() - begun).toBeLessThan(30_000);
    for (const place of outputs) await admin.untilGone(place);
  });
});
