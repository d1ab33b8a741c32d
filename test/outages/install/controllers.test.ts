import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { startControlPlane } from '../../../lab/controlplane/control-plane.ts';
import { Guard } from '../../../lab/controlplane/guard.ts';
import type { Stored } from '../../../lab/operator/api.ts';
import { operatorWorld } from '../../../lab/operator/world.ts';
import { fieldManager, systemNamespace } from '../../../src/api/names.ts';
import { SyncEngine } from '../../argocd-sync/argocd-sync.ts';
import { Helm } from '../../clients/helm.ts';
import { LibraryClients } from '../../clients/library-clients.ts';
import { type Rendered, render } from '../../integration/config/render.ts';
import { chartFolder, required } from './chart.ts';

const chartBefore = path.resolve(import.meta.dirname, '../../fixtures/releases/0.1.0/latchkey-0.1.0.tgz');

const plane = await startControlPlane({ name: 'install-by-controllers' });
afterAll(async () => await plane.stop());
const guard = await Guard.start('install-by-controllers');
afterAll(async () => await guard.stop());
const helm = await Helm.build('v3', guard.folder);
const argoCD = await SyncEngine.build(guard.folder, plane.adminKubeconfig);
const clients = await LibraryClients.build(guard.folder);

async function kubectl(...args: string[]): Promise<string> {
  const { stdout, stderr, exitCode } = await plane.kubectl(args);
  if (exitCode !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr}`);
  return stdout.trim();
}

/** With the arguments that Argo CD gives to `helm template`, and the mark that it gives to each object. */
async function asArgoCD(chart: string): Promise<readonly Rendered[]> {
  const args = ['template', chart, '--name-template=latchkey', `--namespace=${systemNamespace}`];
  const text = await helm.ok('/dev/null', [...args, '--kube-version=1.36.3', ...required, '--include-crds']);
  const objects = parseAllDocuments(text).map((document) => document.toJS() as Rendered | null);
  return objects.filter((object) => object !== null).map(tracked);
}

function tracked(object: Rendered): Rendered {
  const { apiVersion, kind, metadata } = object;
  const [group = ''] = apiVersion.includes('/') ? apiVersion.split('/') : [];
  const id = `latchkey:${group}/${kind}:${metadata.namespace ?? ''}/${metadata.name}`;
  const annotations = { ...metadata.annotations, 'argocd.argoproj.io/tracking-id': id };
  return { ...object, metadata: { ...metadata, annotations } };
}

const before = await asArgoCD(chartBefore);
const now = await asArgoCD(chartFolder);
// By the option CreateNamespace=true: the chart leaves the namespace of the release to Helm.
await kubectl('create', 'namespace', systemNamespace);
const installed = await argoCD.operate({ manifests: before });
// The world finds it installed.
await writeFile(path.join(plane.folder, 'latchkey-installed'), '');
const policies = before.filter(({ kind }) => /AdmissionPolicy(?:Binding)?$/.test(kind)).length;
const world = await operatorWorld({ plane, operator: false, clear: false, policies });
const { admin } = world;
let key: Stored;
/** The site policy asks for one. */
const scope = { clusters: [{ cluster: '*' }] };

const programs = 'deployments,services,clusterroles,clusterrolebindings,serviceaccounts';
const partOf = (kinds: string): Promise<string> =>
  kubectl('get', kinds, '-l', 'app.kubernetes.io/part-of=latchkey', '-o', 'name', '-A');

/** All that has to outlive the programs. */
const kept = async (): Promise<string> =>
  await kubectl(
    'get',
    'validatingadmissionpolicies,validatingadmissionpolicybindings,mutatingadmissionpolicies,mutatingadmissionpolicybindings,crds,namespaces',
    ...['-o', 'name'],
  );

/** Each object, but for its status, which controllers of Kubernetes write. */
async function versions(objects: readonly Rendered[]): Promise<readonly object[]> {
  const { items } = await stored(objects);
  return items.map(({ status: _, metadata, ...rest }) => {
    const { resourceVersion: _version, managedFields: _fields, ...kept } = metadata;
    return { ...rest, metadata: kept };
  });
}

async function stored(objects: readonly Rendered[]): Promise<{ readonly items: readonly Stored[] }> {
  const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects });
  const { stdout, stderr, exitCode } = await plane.kubectl(
    ['get', '-f', '-', '-o', 'json', '--show-managed-fields'],
    { input },
  );
  if (exitCode !== 0) throw new Error(stderr);
  return JSON.parse(stdout);
}

/** Nothing here runs pods. This is what the controllers of Kubernetes write when they run. */
async function beginPods(): Promise<void> {
  const status = (type: string, reason: string) => ({ type, status: 'True', reason, message: reason });
  const write = async (what: string, written: object) =>
    await kubectl(
      ...['patch', what, '-n', systemNamespace, '--subresource=status', '--type=merge'],
      ...['-p', JSON.stringify({ status: written })],
    );
  for (const name of ['deployment/latchkey-operator', 'deployment/latchkey-gateway']) {
    const { metadata, spec } = JSON.parse(await kubectl('get', name, '-n', systemNamespace, '-o', 'json'));
    const counts = ['replicas', 'updatedReplicas', 'readyReplicas', 'availableReplicas'];
    await write(name, {
      observedGeneration: metadata.generation,
      ...Object.fromEntries(counts.map((field) => [field, spec.replicas])),
      conditions: [
        status('Available', 'MinimumReplicasAvailable'),
        status('Progressing', 'NewReplicaSetAvailable'),
      ],
    });
  }
  await write('hpa/latchkey-gateway', {
    currentReplicas: 2,
    desiredReplicas: 2,
    conditions: [status('AbleToScale', 'ReadyForNewScale'), status('ScalingActive', 'ValidMetricFound')],
  });
}

const binding = 'validatingadmissionpolicybinding/latchkey-status';

/** As somebody does it in a hurry. */
async function tamper(): Promise<void> {
  await kubectl('scale', 'deployment/latchkey-operator', '--replicas=0', '-n', systemNamespace);
  await kubectl('delete', binding);
  await kubectl('patch', 'clusterrole/latchkey-viewer', '--type=merge', '-p', '{"rules":[]}');
}

async function expectMended(): Promise<void> {
  const output = ['-o', 'jsonpath={.spec.replicas}'];
  expect(await kubectl('get', 'deployment/latchkey-operator', '-n', systemNamespace, ...output)).toBe('2');
  expect(await kubectl('get', binding, '-o', 'name')).toContain('latchkey-status');
  expect(await kubectl('get', 'clusterrole/latchkey-viewer', '-o', 'jsonpath={.rules}')).not.toBe('[]');
}

const factsOf = ({ metadata, spec, status }: Stored): object => {
  const { credentialHash, fingerprint, serial, notAfter } = status;
  return { uid: metadata.uid, key: spec.key, credentialHash, fingerprint, serial, notAfter };
};

/** An operator that begins with what is there confirms the key as it was, and makes new ones. */
async function expectWorking(): Promise<void> {
  await world.startOperator();
  key ??= await admin.untilReady(await admin.createKey({ user: 'alice', ttl: 86_400, scope }));
  await admin.untilReady(await admin.createKey({ user: 'alice', ttl: 3_600, scope }), { timeoutMs: 90_000 });
  expect(factsOf(await admin.get(key))).toEqual(factsOf(key));
  expect(await partOf(programs)).toContain('clusterrole');
}

/** The programs and their rights are gone. */
async function expectGone(there: string): Promise<void> {
  expect(await kept()).toBe(there);
  expect(await partOf(programs)).toBe('');
  expect(factsOf(await admin.get(key))).toEqual(factsOf(key));
}

describe('the chart, by the engine of Argo CD', () => {
  it('is installed, and upgraded from the release before', async () => {
    expect(installed).toMatchObject({ phase: 'Succeeded' });
    const upgraded = await argoCD.operate({ manifests: now, earlier: before });
    expect(upgraded).toMatchObject({ phase: 'Succeeded' });
    await expectWorking();
  });

  it('is healthy, and the next sync changes nothing while the operator works', async () => {
    await beginPods();
    const known = await versions(now);
    const { phase, results } = await argoCD.operate({ manifests: now });
    expect(phase).toBe('Succeeded');
    expect(results.filter(({ health }) => health !== '' && health !== 'Healthy')).toEqual([]);
    expect(results.filter(({ health }) => health === 'Healthy').length).toBeGreaterThan(3);
    expect(await versions(now)).toEqual(known);
    const { items } = await stored(now);
    const managers = items.flatMap(({ metadata }) => metadata.managedFields ?? []) as { manager: string }[];
    expect(managers.map(({ manager }) => manager)).not.toContain(fieldManager);
  });

  it('is mended where somebody changed it', async () => {
    await tamper();
    expect(await argoCD.operate({ manifests: now })).toMatchObject({ phase: 'Succeeded' });
    await expectMended();
  });

  it('leaves kinds, guards, namespaces and keys when the Application is deleted', async () => {
    const there = await kept();
    await world.operator.end();
    const { results } = await argoCD.operate({ manifests: now, cascade: true });
    expect(new Set(results.map(({ status }) => status))).toEqual(new Set(['Kept', 'Deleted']));
    await expectGone(there);
  });
});

describe('config/default, by the engine of Flux', async () => {
  const objects = await render(plane, 'default');
  const manifests = objects.map((object) => JSON.stringify(object)).join('\n---\n');
  const flux = async (step: string) => await clients.run([step, plane.adminKubeconfig], manifests);
  const withoutWhatIs = (state: string, lines: readonly string[]) =>
    lines.filter((line) => !line.endsWith(` ${state}`));

  it('is installed over what Argo CD left, and the key works as before', async () => {
    expect((await flux('apply')).length).toBe(objects.length);
    await expectWorking();
  });

  it('is ready, and the next turn changes nothing while the operator works', async () => {
    await beginPods();
    expect(await flux('health')).toEqual(['ready']);
    expect(withoutWhatIs('unchanged', await flux('apply'))).toEqual([]);
  });

  it('is mended where somebody changed it, and nothing else is touched', async () => {
    await tamper();
    expect(withoutWhatIs('unchanged', await flux('apply')).toSorted()).toEqual([
      'ClusterRole/latchkey-viewer configured',
      `Deployment/${systemNamespace}/latchkey-operator configured`,
      'ValidatingAdmissionPolicyBinding/latchkey-status created',
    ]);
    await expectMended();
  });

  it('leaves kinds, guards, namespaces and keys when the Kustomization is deleted', async () => {
    const there = await kept();
    await world.operator.end();
    const lines = await flux('prune');
    expect(new Set(lines.map((line) => line.split(' ').at(-1)))).toEqual(new Set(['deleted', 'skipped']));
    await expectGone(there);
  });

  it('leaves the same when it was an Application of Argo CD', async () => {
    const there = await kept();
    const { results } = await argoCD.operate({ manifests: objects, cascade: true });
    expect(new Set(results.map(({ status }) => status))).toEqual(new Set(['Kept']));
    await expectGone(there);
  });
});
