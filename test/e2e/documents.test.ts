import { globSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse, parseAllDocuments, stringify } from 'yaml';
import { type Applied, kubectlOf } from '../../lab/operator/kubectl.ts';
import { sharedVirtualCluster } from '../../lab/operator/virtual-cluster.ts';
import { operatorWorld } from '../../lab/operator/world.ts';
import { apiVersion } from '../../src/api/names.ts';
import { folderOf, modules } from '../clients/go-module.ts';
import { documentWorld } from './document-world.ts';

const root = path.resolve(import.meta.dirname, '../..');

const yamlBlocks = (file: string): string[] =>
  [...readFileSync(path.join(root, file), 'utf8').matchAll(/^```yaml\n(.*?)^```/gms)].map(
    ([, block = '']) => block,
  );

/** The objects of our kinds in the YAML blocks of a document; one list for each block. */
function manifestsIn(file: string): Applied[][] {
  return yamlBlocks(file)
    .map((block) => parseAllDocuments(block).map((document) => document.toJS() as Applied))
    .filter((manifests) => manifests.every((manifest) => manifest.apiVersion === apiVersion));
}

const documents = ['README.md', ...globSync('docs/**/*.md', { cwd: root })]
  .map((file) => ({ file, blocks: manifestsIn(file) }))
  .filter(({ blocks }) => blocks.length > 0);

// The virtual cluster of the documents is on loopback, which is not dialled by default. Nothing else is set: what the pages apply must
// become ready by the events of others, and not because targets are looked at each second.
const world = await operatorWorld({ env: { LATCHKEY_TARGET_ADDRESSES: '127.0.0.0/8' } });
const virtual = await sharedVirtualCluster();
const kubectl = await kubectlOf(world, 'docs-reader');

describe('the manifests in the documents', () => {
  beforeAll(async () => {
    const manifests = documents.flatMap(({ blocks }) => blocks.flat());
    const kubeConfig = await virtual.adminKubeConfig();
    const { host } = new URL(virtual.plane.server);
    return await documentWorld(world.plane, kubeConfig, { reader: 'docs-reader', host, manifests });
  });

  it('are found', () => {
    expect(documents.map(({ file }) => file)).toEqual(
      expect.arrayContaining(['docs/first-key.md', 'docs/guide/access-keys.md', 'docs/guide/tokens.md']),
    );
  });

  it.each(documents)('become ready one after the other as $file shows them', async ({ blocks }) => {
    for (const manifests of blocks) {
      await kubectl.send('apply', manifests);
      await kubectl.send('wait', manifests, '--for=condition=Ready', '--timeout=120s');
    }
    await kubectl.send('delete', blocks.flat(), '--ignore-not-found');
  });
});

/** The overlay of docs/guide/install.md with these patches, as kustomize renders it. */
const rendered = async (name: string, patches: readonly string[]): Promise<string> =>
  await renderOverlay(name, [yamlBlocks('docs/guide/install.md')[0] ?? '', ...patches].join(''));

async function renderOverlay(name: string, overlay: string): Promise<string> {
  const folder = path.join(world.guard.folder, name);
  mkdirSync(folder);
  symlinkSync(root, path.join(folder, 'latchkey'));
  writeFileSync(path.join(folder, 'kustomization.yaml'), overlay);
  return await kubectl.ok(['kustomize', folder]);
}

it('each way of docs/guide/load-balancer.md is taken by the API server, and leads to a port of the Service', async () => {
  const [patch = '', ingress = '', route = ''] = yamlBlocks('docs/guide/load-balancer.md');
  const documents = parseAllDocuments(await rendered('balanced', [patch])).map((one) => one.toJS());
  const service = documents.find(
    ({ kind, metadata }) => kind === 'Service' && metadata.name === 'latchkey-gateway',
  );
  expect(service.spec).toMatchObject({ type: 'LoadBalancer', externalTrafficPolicy: 'Local' });
  const [port] = service.spec.ports;
  const [way] = parse(ingress).spec.rules[0].http.paths;
  expect(way.backend.service).toEqual({ name: service.metadata.name, port: { name: port.name } });
  expect(parse(route).spec.rules[0].backendRefs).toEqual([{ name: service.metadata.name, port: port.port }]);

  const kinds = path.join(await folderOf(modules.gatewayAPI), 'config/crd/standard');
  const routes = path.join(kinds, 'gateway.networking.k8s.io_tlsroutes.yaml');
  const { kubectl: asAdmin } = world.plane;
  await asAdmin(['apply', '--server-side', '-f', routes]);
  await asAdmin(['wait', '--for=condition=Established', '-f', routes]);
  for (const input of [stringify(service), ingress, route]) {
    const applied = await asAdmin(['apply', '--dry-run=server', '--validate=strict', '-f', '-'], { input });
    expect(applied).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('(server dry run)') });
  }
  await asAdmin(['delete', '-f', routes]);
});

it('the overlay in docs/guide/install.md renders, with its base URL, its image and the file of authorities of docs/guide/run-gateway.md', async () => {
  const patches = yamlBlocks('docs/guide/run-gateway.md').filter((block) => block.startsWith('patches:'));
  const text = await rendered('overlay', patches);
  expect(text).toContain('LATCHKEY_BASE_URL: https://latchkey.example.com\n');
  expect(text).toContain('image: registry.example.com/latchkey:0.1.0\n');
  expect(text).toContain('mountPath: /etc/latchkey\n');
  expect(text).toMatch(/requireScope: others\nkind: ConfigMap\n/);
  const first = ['ValidatingAdmissionPolicyBinding', 'CustomResourceDefinition', 'Deployment'];
  const places = first.map((kind) => text.indexOf(`kind: ${kind}\n`));
  expect(places).toEqual(places.toSorted((one, other) => one - other));
});

it('the overlay in docs/reference/cluster-profiles.md lets the operator write profiles, and names their namespace', async () => {
  const [overlay = ''] = yamlBlocks('docs/reference/cluster-profiles.md');
  const objects = parseAllDocuments(await renderOverlay('profiles', overlay)).map((one) => one.toJS());
  const named = objects.filter(({ metadata }) => metadata.name === 'latchkey-cluster-profiles');
  const namespace = 'cluster-inventory';
  expect(named.map(({ kind, metadata }) => [kind, metadata.namespace]).toSorted()).toEqual([
    ['Role', namespace],
    ['RoleBinding', namespace],
  ]);
  expect(objects.find(({ kind }) => kind === 'ConfigMap').data).toMatchObject({
    LATCHKEY_CLUSTER_PROFILES_NAMESPACE: namespace,
  });
});

it('the overlay in docs/reference/page.md opens the port of the page at the pods, the Service and the NetworkPolicy', async () => {
  const [overlay = ''] = yamlBlocks('docs/reference/page.md');
  const objects = parseAllDocuments(await renderOverlay('page', overlay)).map((one) => one.toJS());
  const find = (wanted: string) =>
    objects.find(({ kind, metadata }) => kind === wanted && metadata.name === 'latchkey-gateway').spec;
  expect(find('Deployment').template.spec.containers[0].ports).toContainEqual({
    name: 'page',
    containerPort: 8444,
  });
  expect(find('Service').ports).toContainEqual({ name: 'page', port: 8444, targetPort: 'page' });
  expect(find('NetworkPolicy').ingress[0].ports).toContainEqual({ port: 'page' });
  expect(objects.find(({ kind }) => kind === 'ConfigMap').data).toMatchObject({
    LATCHKEY_PAGE_URL: 'https://latchkey.example.com:8444',
  });
});
