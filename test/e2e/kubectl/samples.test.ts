import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { type Applied, type Kubectl, kubectlOf } from '../../../lab/operator/kubectl.ts';
import { applyKustomization, configFolder } from '../../../lab/operator/kustomization.ts';
import { samples } from '../../../lab/operator/samples.ts';
import { kubeConfigSecret, sharedVirtualCluster } from '../../../lab/operator/virtual-cluster.ts';
import { operatorWorld } from '../../../lab/operator/world.ts';
import { namespaces as namespaceResource, secrets } from '../../../src/api/resources.ts';
import { untilGone } from '../document-world.ts';

// The virtual cluster is on loopback, which is not dialled by default.
const world = await operatorWorld();
const virtual = await sharedVirtualCluster();
const namespaces = ['p-demo', 'sample-clusters'];
const withTargets = ['virtual-cluster', 'cluster', 'cluster-api', 'kamaji'];

const nameOf = ({ kind, metadata }: Applied): string => `${kind}/${metadata.name}`;

async function expectReady(kubectl: Kubectl, ordered: readonly Applied[]): Promise<void> {
  await kubectl.send('apply', ordered);
  const said = await kubectl.send('wait', ordered, '--for=condition=Ready', '--timeout=120s');
  expect(said.match(/condition met$/gm)).toHaveLength(ordered.length);
}

async function expectUnchanged(kubectl: Kubectl, all: readonly Applied[]): Promise<void> {
  const said = await kubectl.send('apply', all);
  // The operator may write a status meanwhile, so it is kubectl that tells whether something was sent.
  expect(said.match(/ unchanged$/gm)).toHaveLength(all.length);
  expect(await kubectl.diff(all)).toBe('');
}

async function column(kubectl: Kubectl, all: readonly Applied[], jsonPath: string) {
  const lines = await kubectl.send('get', all, '-o', `jsonpath={range .items[*]}${jsonPath}{"\\n"}{end}`);
  return lines.trimEnd().split('\n');
}

describe('the samples, applied with kubectl by an ordinary user', async () => {
  const kubectl = await kubectlOf(world, 'sample-user');
  const all = await samples();

  it('are there for both kinds', () => {
    const kinds = new Set(all.map(({ kind }) => kind));
    expect([...kinds].sort()).toEqual(['DirectClusterEndpointToken', 'OwnedAccessKey']);
  });

  it('become ready when applied in the opposite order, and change nothing when applied once more', async () => {
    await expectReady(kubectl, all.toReversed());
    const reason = '{.status.conditions[?(@.type=="Ready")].reason}';
    expect(await column(kubectl, all, reason)).toEqual(all.map(() => 'Issued'));
    await expectUnchanged(kubectl, all);
  });
});

it.each(['.', 'project', 'self-service', 'site-policy', 'gitops', ...withTargets])(
  'the kustomization of samples/%s has every file',
  async (folder) => {
    const rendered = await world.plane.kubectl(['kustomize', path.join(configFolder, 'samples', folder)]);
    const names = parseAllDocuments(rendered.stdout).map((document) => nameOf(document.toJS() as Applied));
    expect(names.sort()).toEqual((await samples(folder)).map(nameOf).sort());
  },
);

describe('the samples of a project, applied by a user who holds the sample roles', async () => {
  const kubectl = await kubectlOf(world, 'alice');
  const folders = await Promise.all(withTargets.map(async (name) => ({ name, all: await samples(name) })));

  beforeAll(async () => {
    await untilGone(world.plane, namespaces);
    await applyKustomization(world.plane, 'samples/project');
    const kubeConfig = await virtual.adminKubeConfig();
    const made = [
      kubeConfigSecret('vcluster', 'shop', kubeConfig, 'p-demo'),
      kubeConfigSecret('cluster-api', 'payments', kubeConfig, 'p-demo'),
      kubeConfigSecret('kamaji', 'search', kubeConfig, 'p-demo'),
      {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 'staging-kubeconfig', namespace: 'sample-clusters' },
        stringData: { config: kubeConfig },
      },
    ];
    for (const secret of made) await world.admin.createObject(secrets, secret);
    const ofSpace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } };
    await virtual.admin.createObject(namespaceResource, ofSpace);
  });

  afterAll(async () => {
    const project = path.join(configFolder, 'samples/project');
    const { exitCode, stderr } = await world.plane.kubectl(['delete', '-k', project, '--wait=false']);
    expect(exitCode, stderr).toBe(0);
  });

  it.each(folders)(
    'become ready when samples/$name is applied in the opposite order, change nothing in order, and go away',
    async ({ all }) => {
      await expectReady(kubectl, all.toReversed());
      await expectUnchanged(kubectl, all);
      await kubectl.send('delete', all, '--timeout=120s');
    },
  );
});
