import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { secretAt } from '../../../lab/operator/api.ts';
import { until } from '../../../lab/operator/until.ts';
import { folderOf, modules } from '../../clients/go-module.ts';
import { buildTimeoutMs, Helm } from '../../clients/helm.ts';
import { LibraryClients } from '../../clients/library-clients.ts';
import { type Issued, issuedKubeconfigs } from './issued-kubeconfigs.ts';
import { withoutWhatVaries } from './kubectl-calls.ts';

const { world, inside, targets } = await issuedKubeconfigs();
let libraries: LibraryClients;
let helm: Readonly<Record<'v3' | 'v4', Helm>>;
beforeAll(async () => {
  const { folder } = world.guard;
  helm = { v3: await Helm.build('v3', folder), v4: await Helm.build('v4', folder) };
  libraries = await LibraryClients.build(folder);
}, 3 * buildTimeoutMs);

async function kubectl(
  { kubeconfig }: Pick<Issued, 'kubeconfig'>,
  args: readonly string[],
  input = '',
): Promise<string> {
  const options = { kubeconfig, input, timeoutMs: 240_000 };
  const { stdout, stderr, exitCode } = await world.plane.kubectl(args, options);
  if (exitCode !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr}`);
  return stdout;
}

/** Builds the file that stands in most repositories. */
function fluxManifests(name: string, { namespace, clusterWide }: Issued): string {
  const api = 'rbac.authorization.k8s.io';
  const metadata = { name, namespace };
  const rules = [{ apiGroups: [''], resources: ['secrets'], verbs: ['get'] }];
  const subjects = [{ kind: 'ServiceAccount', name, namespace }];
  // Flux tries all of them before it makes one, so a role of their own would be missing.
  const roleRef = { apiGroup: api, kind: 'ClusterRole', name: 'view' };
  const manifests = [
    { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { a: '1' } },
    { apiVersion: 'v1', kind: 'Secret', metadata, stringData: { a: '1' } },
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata },
    { apiVersion: `${api}/v1`, kind: 'Role', metadata, rules },
    { apiVersion: `${api}/v1`, kind: 'RoleBinding', metadata, roleRef, subjects },
    ...(clusterWide ? [{ apiVersion: `${api}/v1`, kind: 'ClusterRole', metadata: { name }, rules }] : []),
  ];
  return manifests.map((manifest) => JSON.stringify(manifest)).join('\n---\n');
}

// First: where a chart has brought kinds of its own and taken them away, documents of the API server still change seconds later.
describe.each(Object.entries(targets))(
  'with a kubeconfig for a %s',
  (_, { kubeconfig, direct, namespace }) => {
    it('client-go gets the answers that it gets directly', async () => {
      const name = world.name('calls');
      const answers = async (file: string) =>
        (await libraries.run(['calls', file, namespace, name])).map(withoutWhatVaries);
      const expected = await answers(direct);
      expect(await answers(kubeconfig)).toEqual(expected);
      expect(expected.filter((line) => line.includes(': failed'))).toEqual([]);
      const beginning = '["ADDED map[]","BOOKMARK map[k8s.io/initial-events-end:true]"]';
      expect(expected).toContain(`watch from the beginning: ${beginning}`);
      expect(expected).toContain('informer, protobuf: "DELETED"');
    });
  },
);

/** Helm 3 applies from the client and Helm 4 on the server. Each meets a target as a whole, and one with rights in a namespace only. */
const versionsFor = {
  'virtual cluster': ['v3'],
  'connected cluster': ['v4'],
  space: ['v3', 'v4'],
} as const;
describe.each(Object.entries(targets))('with a kubeconfig for a %s', (kind, issued) => {
  const { kubeconfig, namespace, clusterWide } = issued;
  const chart = path.resolve(import.meta.dirname, '../../clients/chart');
  const versions = versionsFor[kind as keyof typeof targets];

  it.each<'v3' | 'v4'>(versions)(
    'Helm %s installs, upgrades, rolls back and uninstalls a chart',
    async (version) => {
      const release = world.name('shop');
      const run = async (verb: string, ...args: string[]) =>
        await helm[version].ok(kubeconfig, [verb, release, ...args, '--namespace', namespace]);
      const values = (greeting: string) => [chart, `--set=greeting=${greeting},clusterWide=${clusterWide}`];
      const greeting = async () =>
        (await inside.admin.find(secretAt(namespace, release)))?.data?.['greeting'];

      expect(await run('install', ...values('hello'))).toContain('STATUS: deployed');
      expect(await greeting()).toBe(btoa('hello'));
      expect(await run('upgrade', ...values('hi'))).toContain('REVISION: 2');
      expect(await greeting()).toBe(btoa('hi'));
      await run('rollback', '1');
      expect(await greeting()).toBe(btoa('hello'));
      expect(await run('history', '--output', 'json')).toContain('Rollback to 1');
      await run('uninstall');
      expect(await greeting()).toBeUndefined();
    },
  );

  it('a controller of controller-runtime works as it does directly', async () => {
    const told = async (file: string) =>
      await libraries.run(['controller', file, namespace, world.name('shop')]);
    expect(await told(kubeconfig)).toEqual(await told(issued.direct));
    expect(await told(kubeconfig)).toEqual([
      'leads',
      'adds a finalizer',
      'makes a Secret',
      'reports a status',
      'repairs',
      'finalizes',
      'is gone',
    ]);
  });

  it('the engine of Flux applies, waits, sees no change then, and prunes, as it does directly', async () => {
    const name = world.name('flux');
    const manifests = fluxManifests(name, issued);
    const lines = async (file: string) => await libraries.run(['flux', file, namespace], manifests);
    const told = await lines(kubeconfig);
    expect(told).toEqual(await lines(issued.direct));
    const changes = ['created', 'unchanged', 'deleted'].map((change) =>
      told.filter((line) => line.endsWith(change)),
    );
    const { length } = manifests.split('---');
    expect(changes.map((lines) => lines.length)).toEqual([length, length, length]);
  });
});

describe('with a kubeconfig for a virtual cluster', () => {
  const issued = targets['virtual cluster'];

  it('kubectl applies the manifests of Argo CD on the server, and deletes them', async () => {
    const namespace = world.name('argocd');
    const file = path.join(await folderOf(modules.argoCD), 'manifests/install.yaml');
    const install = ['--namespace', namespace, '--filename', file];
    await kubectl(issued, ['create', 'namespace', namespace]);
    const applied = await kubectl(issued, ['apply', '--server-side', '--force-conflicts', ...install]);
    expect(applied).toMatch(/^customresourcedefinition\S+applications.argoproj.io serverside-applied$/m);
    expect(applied).toMatch(/^clusterrolebinding\S+argocd-server serverside-applied$/m);
    await kubectl(issued, ['delete', '--wait=false', ...install]);
    await kubectl(issued, ['delete', 'namespace', namespace, '--wait=false']);
  });

  // Helm 3 makes objects as kubectl does from the client, and that test has the same chart.
  it('Helm v4 installs the chart of cert-manager with its kinds', async () => {
    const place = [world.name('cm'), '--namespace', world.name('cert-manager')];
    const run = async (verb: string, ...args: string[]) =>
      await helm.v4.ok(issued.kubeconfig, [verb, ...place, ...args]);
    const values = '--set=crds.enabled=true,crds.keep=false,startupapicheck.enabled=false';
    const chart = path.join(await folderOf(modules.certManager), 'deploy/charts/cert-manager');
    expect(await run('install', '--create-namespace', values, chart)).toContain('STATUS: deployed');
    await run('uninstall');
  });
});

describe('with a kubeconfig for a connected cluster', () => {
  const issued = targets['connected cluster'];

  it('kubectl applies the manifests of cert-manager from the client, sees no change then, and deletes them', async () => {
    const chart = path.join(await folderOf(modules.certManager), 'deploy/charts/cert-manager');
    const namespace = world.name('cert-manager');
    const values = '--set=crds.enabled=true,startupapicheck.enabled=false';
    const place = ['--namespace', namespace];
    const template = ['template', 'cert-manager', chart, values, ...place];
    // The kinds that Helm has deleted may take minutes to go, and as long as they are there kubectl finds them unchanged.
    const manifests = (await helm.v4.ok(issued.kubeconfig, template)).replaceAll(
      'cert-manager.io',
      'cert-manager.example',
    );
    await kubectl(issued, ['create', 'namespace', namespace]);
    const send = async (...args: string[]) => await kubectl(issued, [...args, '-f', '-'], manifests);
    const created = await send('apply');
    expect(created).toMatch(/^customresourcedefinition\S+clusterissuers.cert-manager.example created$/m);
    expect(created).toMatch(/^validatingwebhookconfiguration\S+ created$/m);
    const again = (await send('apply')).trimEnd().split('\n');
    expect(again.filter((line) => !line.endsWith(' unchanged') && !line.endsWith(' configured'))).toEqual([]);
    await send('delete', '--wait=false');
    await kubectl(issued, ['delete', 'namespace', namespace, '--wait=false']);
  });

  it('what `argocd cluster add` makes is made: an account with every right, and a Secret with its token', async () => {
    const namespace = 'kube-system';
    const [name, account, token] = [
      'argocd-manager-role',
      'argocd-manager',
      'argocd-manager-long-lived-token',
    ];
    const api = 'rbac.authorization.k8s.io';
    const every = { apiGroups: ['*'], resources: ['*'], verbs: ['*'] };
    const made = [
      { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: account, namespace } },
      {
        ...{ apiVersion: `${api}/v1`, kind: 'ClusterRole', metadata: { name } },
        rules: [every, { nonResourceURLs: ['*'], verbs: ['*'] }],
      },
      {
        ...{ apiVersion: `${api}/v1`, kind: 'ClusterRoleBinding', metadata: { name: `${name}-binding` } },
        roleRef: { apiGroup: api, kind: 'ClusterRole', name },
        subjects: [{ kind: 'ServiceAccount', name: account, namespace }],
      },
      {
        ...{ apiVersion: 'v1', kind: 'Secret', type: 'kubernetes.io/service-account-token' },
        metadata: {
          ...{ name: token, namespace },
          annotations: { 'kubernetes.io/service-account.name': account },
        },
      },
    ];
    const input = made.map((object) => JSON.stringify(object)).join('\n---\n');
    await kubectl(issued, ['create', '-f', '-'], input);
    const secret = ['get', 'secret', token, '--namespace', namespace, '-o', 'jsonpath={.data.token}'];
    const encoded = await until('the Secret has a token', async () => await kubectl(issued, secret));
    const bearer = atob(encoded);
    const direct = { kubeconfig: await inside.plane.kubeconfigWithToken('argocd', bearer) };
    expect(await kubectl(direct, ['auth', 'can-i', '*', '*'])).toBe('yes\n');
    const refused = await world.gateway.send('/kubernetes/management/version', { key: bearer });
    expect(refused.statusCode).toBe(401);
    expect(await refused.body.text()).toContain('to the own address of that target');
    await kubectl(issued, ['delete', '--ignore-not-found', '-f', '-'], input);
  });
});
