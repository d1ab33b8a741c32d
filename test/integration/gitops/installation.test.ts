import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sharedControlPlane } from '../../../lab/controlplane/shared.ts';
import { configFolder } from '../../../lab/operator/kustomization.ts';
import { group } from '../../../src/api/names.ts';
import { scriptOf } from '../../argocd-health/argocd-health.ts';
import { type Rendered, render } from '../config/render.ts';

const plane = await sharedControlPlane();

describe('the sync waves of config/default', async () => {
  const objects = await render(plane, 'default');
  const waveOf = ({ metadata }: Rendered): number =>
    Number(metadata.annotations?.['argocd.argoproj.io/sync-wave'] ?? Number.NaN);
  const wavesOf = (...kinds: readonly RegExp[]): readonly number[] => {
    const found = objects.filter(({ kind }) => kinds.some((pattern) => pattern.test(kind))).map(waveOf);
    return [...new Set(found)];
  };

  it('bring the namespace and the policies before the definitions that they guard', () => {
    expect(wavesOf(/^Namespace$/, /AdmissionPolicy/)).toEqual([-3]);
    expect(wavesOf(/^CustomResourceDefinition$/)).toEqual([-2]);
  });

  it('bring the rights before the operator, and the operator before objects without a wave', () => {
    expect(wavesOf(/^ServiceAccount$/, /Role/)).toEqual([-2]);
    expect(wavesOf(/^Deployment$/, /^ConfigMap$/)).toEqual([-1]);
  });

  it('are given to every object, and not to pods', () => {
    expect(objects.filter((object) => !(waveOf(object) < 0))).toEqual([]);
    const deployment = objects.find(({ kind }) => kind === 'Deployment');
    expect(deployment?.['spec'].template.metadata).not.toHaveProperty('annotations');
  });
});

describe('the marks of config/default against deletion', async () => {
  const objects = await render(plane, 'default');
  const isMarked = ({ metadata: { annotations = {} } }: Rendered): boolean =>
    annotations['argocd.argoproj.io/sync-options'] === 'Delete=false' &&
    annotations['kustomize.toolkit.fluxcd.io/prune'] === 'disabled';

  it('are on namespaces, kinds and policies, and on no program or right', () => {
    const outlives = /^Namespace$|^CustomResourceDefinition$|AdmissionPolicy(Binding)?$/;
    expect(objects.filter(isMarked)).toEqual(objects.filter(({ kind }) => outlives.test(kind)));
  });
});

describe('the health checks in an installation of Argo CD', () => {
  const kinds = [
    'Cluster',
    'CredentialLock',
    'DirectClusterEndpointToken',
    'OwnedAccessKey',
    'SpaceInstance',
    'VirtualClusterInstance',
    'VirtualClusterInstanceKubeConfig',
  ];
  const data = Object.fromEntries(
    kinds.map((kind) => [`resource.customizations.health.${group}_${kind}`, scriptOf(kind)]),
  );
  const installed = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'argocd-cm', namespace: 'argocd' },
    data: { url: 'https://argocd.example.com' },
  };
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(path.join(await realpath(tmpdir()), 'latchkey-argocd-'));
  });
  afterAll(async () => await rm(folder, { recursive: true, force: true }));

  it('are added by the patch', async () => {
    const patch = path.join(configFolder, 'argocd/argocd-cm-patch.yaml');
    const { stdout, stderr } = await plane.kubectl(
      ['patch', '--local', '-f', '-', `--patch-file=${patch}`, '-o', 'json'],
      { input: JSON.stringify(installed) },
    );
    expect(stderr).toBe('');
    expect(JSON.parse(stdout).data).toEqual({ ...installed.data, ...data });
  });

  const { namespace: _, ...bare } = installed.metadata;

  it.each<[string, object, object]>([
    ['installed in its namespace', installed, {}],
    // As Argo CD's own manifests are.
    ['without a namespace, which is added', { ...installed, metadata: bare }, { namespace: 'argocd' }],
  ])('are added by the component to a ConfigMap %s', async (_what, object, more) => {
    await mkdir(path.join(folder, 'latchkey'), { recursive: true });
    await symlink(configFolder, path.join(folder, 'latchkey/config')).catch(() => undefined);
    await writeFile(path.join(folder, 'argocd-cm.yaml'), JSON.stringify(object));
    const components = ['latchkey/config/argocd'];
    const kustomization = { ...more, resources: ['argocd-cm.yaml'], components };
    await writeFile(path.join(folder, 'kustomization.yaml'), JSON.stringify(kustomization));
    const [changed, ...others] = await render(plane, folder);
    expect(changed?.['data']).toEqual({ ...installed.data, ...data });
    expect(changed?.metadata.name).toBe('argocd-cm');
    expect(others).toEqual([]);
  });
});
