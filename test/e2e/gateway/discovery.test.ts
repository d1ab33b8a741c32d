import { describe, expect, it } from 'vitest';
import { encodeResourceList } from '../../../src/gateway/endpoints/discovery/discovery.ts';
import { gatewayWorld } from './gateway-world.ts';
import { kubectlWith } from './known-holder.ts';

const world = await gatewayWorld();
const { gateway } = world;
const alice = await kubectlWith(world, { user: world.name('alice') });
const narrow = await kubectlWith(world, { user: world.name('bob'), scope: {} });
const prefix = '/kubernetes/management';
const groupVersion = 'apis/management.platform.sh/v1';
const aggregated = (version: string) =>
  `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`;

async function get(path: string, headers: Readonly<Record<string, string>> = {}, at = gateway) {
  const answer = await at.send(prefix + path, { key: alice.key, headers });
  const text = await answer.body.text();
  return {
    status: answer.statusCode,
    headers: answer.headers,
    // biome-ignore lint/suspicious/noExplicitAny: a document of the API server, looked into by assertions.
    body: (text.startsWith('{') ? JSON.parse(text) : undefined) as any,
  };
}

describe('kubectl as a holder', () => {
  it('finds Self among the resources', async () => {
    const resources = await alice.ok(['api-resources', '--api-group=management.platform.sh']);
    expect(resources).toMatch(/^selves +management\.platform\.sh\/v1 +false +Self$/m);
    expect(resources).toMatch(/^virtualclusterinstances +vci /m);
  });

  it('explains it', async () => {
    expect(await alice.ok(['explain', 'self.status'])).toContain('projectNamespacePrefix');
    expect(await alice.ok(['explain', 'oak.spec.scope'])).toContain('virtualClusters');
  });

  it.each([
    ['without a scope', alice],
    ['with a scope that allows nothing', narrow],
  ])('makes one from a file, %s', async (_, holder) => {
    const input = JSON.stringify({
      apiVersion: 'management.platform.sh/v1',
      kind: 'Self',
      metadata: { name: 'me' },
    });
    const made = JSON.parse(await holder.ok(['create', '-f', '-', '-o', 'json'], { input }));
    expect(made.status.accessKey).toBe(holder.object.metadata.name);
  });

  it('is told of a field that a Self does not have', async () => {
    const self = {
      apiVersion: 'management.platform.sh/v1',
      kind: 'Self',
      metadata: { name: 'me' },
      spec: { a: 1 },
    };
    const { stderr, exitCode } = await alice.run(['create', '-f', '-'], { input: JSON.stringify(self) });
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining('unknown field "spec.a"')]);
  });

  it('posts to the kubeconfig of an instance by its address', async () => {
    const path = `/${groupVersion}/namespaces/default/virtualclusterinstances/none/kubeconfig`;
    const { stderr } = await alice.run(['create', '--raw', path, '-f', '-'], { input: '{}' });
    expect(stderr).toContain('needs the verb "use" on virtualclusterinstances/none');
  });
});

describe('discovery', () => {
  const bytesOf = async (path: string): Promise<Buffer> => {
    const headers = { accept: 'application/vnd.kubernetes.protobuf' };
    const { body, headers: sent } = await gateway.send(prefix + path, { key: alice.key, headers });
    expect(sent['content-type']).toBe(headers.accept);
    return Buffer.from(await body.arrayBuffer());
  };

  it('in protobuf has it too, for clients that take nothing else', async () => {
    // Of a group that the gateway adds nothing to, the API server writes the same bytes.
    const { body: leases } = await get('/apis/coordination.k8s.io/v1');
    expect(encodeResourceList(leases)).toEqual(await bytesOf('/apis/coordination.k8s.io/v1'));
    const { body: own } = await get(`/${groupVersion}`);
    expect(encodeResourceList(own)).toEqual(await bytesOf(`/${groupVersion}`));
    expect((await bytesOf(`/${groupVersion}`)).includes('selves')).toBe(true);
  });

  it('in one document has what the gateway answers', async () => {
    const accept = [aggregated('v2'), aggregated('v2beta1'), 'application/json'].join(',');
    const { status, headers, body } = await get('/apis', { accept });
    expect([status, headers['content-type']]).toEqual([200, aggregated('v2')]);
    const group = body.items.find(
      (item: { metadata: { name: string } }) => item.metadata.name === 'management.platform.sh',
    );
    const { resources } = group.versions[0];
    expect(resources).toContainEqual(
      expect.objectContaining({ resource: 'selves', scope: 'Cluster', verbs: ['create'] }),
    );
    const instances = resources.find(
      (each: { resource: string }) => each.resource === 'virtualclusterinstances',
    );
    expect(instances.subresources.map(({ subresource }: { subresource: string }) => subresource)).toEqual(
      expect.arrayContaining(['status', 'kubeconfig']),
    );
  });

  it('by group lists it too, and the groups stay as they are', async () => {
    const { body } = await get(`/${groupVersion}`);
    const names = body.resources.map(({ name }: { name: string }) => name);
    expect(names).toEqual(
      expect.arrayContaining(['selves', 'virtualclusterinstances/kubeconfig', 'ownedaccesskeys']),
    );
    expect((await get('/apis')).body).toMatchObject({ kind: 'APIGroupList' });
  });

  it('is not sent again to a client that has it', async () => {
    const accept = aggregated('v2');
    const first = await get('/apis', { accept });
    const tag = String(first.headers['etag']);
    expect(tag).toMatch(/^"[0-9A-F]{64}"$/);
    expect(await get('/apis', { accept, 'if-none-match': tag })).toMatchObject({
      status: 304,
      body: undefined,
    });
    const inAnotherForm = await get('/apis', { accept: 'application/json', 'if-none-match': tag });
    expect([inAnotherForm.status, inAnotherForm.body.kind]).toEqual([200, 'APIGroupList']);
  });
});

describe('OpenAPI v3', () => {
  const address = async () => (await get('/openapi/v3')).body.paths[groupVersion].serverRelativeURL as string;

  it('names a hash of ours in the index, under which the document stays the same', async () => {
    const path = (await address()).replace(/^.*(?=\/openapi)/, '');
    const [, hash] = path.split('?hash=');
    const { headers, body } = await get(path);
    expect([headers['etag'], headers['cache-control']]).toEqual([
      `"${hash}"`,
      expect.stringContaining('immutable'),
    ]);
    expect(Object.keys(body.paths)).toEqual(
      expect.arrayContaining([
        `/${groupVersion}/selves`,
        `/${groupVersion}/namespaces/{namespace}/virtualclusterinstances/{name}/kubeconfig`,
        `/${groupVersion}/ownedaccesskeys/{name}`,
      ]),
    );
    expect(await get(path, { 'if-none-match': `"${hash}"` })).toMatchObject({ status: 304 });
  });

  it('says nothing of ever about an old hash', async () => {
    const { status, headers } = await get(`/openapi/v3/${groupVersion}?hash=OLD`);
    expect([status, headers['cache-control']]).toEqual([200, 'no-cache, private']);
  });

  it('declares what kubectl must find to check a Self, and refers to schemas that are there', async () => {
    const { body } = await get(`/openapi/v3/${groupVersion}`);
    const patch = body.paths[`/${groupVersion}/selves/{name}`].patch;
    expect(patch.parameters).toContainEqual(
      expect.objectContaining({ name: 'fieldValidation', in: 'query' }),
    );
    const references = [...JSON.stringify(body.paths).matchAll(/"#\/components\/schemas\/([^"]+)"/g)];
    const missing = references
      .map(([, name = '']) => name)
      .filter((name) => !(name in body.components.schemas));
    expect([...new Set(missing)]).toEqual([]);
  });
});
