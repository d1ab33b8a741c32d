import { createInterface } from 'node:readline';
import { afterAll, describe, expect, it } from 'vitest';
import { createAuthority, createServer } from '../../../lab/controlplane/certificates.ts';
import { base64 } from '../../../lab/controlplane/kubeconfig.ts';
import { uniqueName } from '../../../lab/operator/manifest.ts';
import { giveRight } from '../../../lab/operator/rights.ts';
import { until } from '../../../lab/operator/until.ts';
import type { Resource } from '../../../src/api/resources.ts';
import type { KubeObject } from '../../../src/kube/object.ts';
import { openClient, upgradeText, webSocketHeaders } from '../../builders/upgrades.ts';
import { gatewayWorld } from './gateway-world.ts';
import { knownHolder, kubectlWith } from './known-holder.ts';
import { WidgetServer } from './widget-server.ts';

const services: Resource = {
  group: '',
  version: 'v1',
  plural: 'services',
  kind: 'Service',
  namespaced: true,
};
const apiServices: Resource = {
  group: 'apiregistration.k8s.io',
  version: 'v1',
  plural: 'apiservices',
  kind: 'APIService',
  namespaced: false,
};

const world = await gatewayWorld();
const { admin, gateway } = world;
const group = `${uniqueName('widgets')}.example.com`;
const service = { namespace: 'default', name: uniqueName('widgets') };
const authority = createAuthority('widgets-ca');
const server = await WidgetServer.start(group, createServer(authority, [`${service.name}.default.svc`]));
const { name: registration } = (await register()).metadata;
// An API that is registered and does not answer would keep namespaces from being deleted.
afterAll(async () => {
  await admin.client.delete(apiServices, { name: registration });
  await server.stop();
});

async function register() {
  await admin.createObject(services, {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: service,
    // The endpoints of a Service may not be loopback addresses.
    spec: { type: 'ExternalName', externalName: 'localhost', ports: [{ port: server.port }] },
  });
  return await admin.client.create<KubeObject>(apiServices, {
    apiVersion: 'apiregistration.k8s.io/v1',
    kind: 'APIService',
    metadata: { name: `v1.${group}` },
    spec: {
      group,
      version: 'v1',
      groupPriorityMinimum: 1_000,
      versionPriority: 10,
      service: { ...service, port: server.port },
      caBundle: base64(authority.certificate),
    },
  });
}

const alice = world.name('alice');
await giveRight(admin, alice, {
  apiGroups: [group],
  resources: ['widgets'],
  verbs: ['get', 'list', 'watch'],
});
const path = `/kubernetes/management/apis/${group}/v1/widgets`;

async function get(key: string) {
  const { statusCode, body } = await gateway.send(path, { key });
  return { status: statusCode, body: (await body.json()) as object };
}

describe('an API behind the aggregator', async () => {
  const scope = { rules: [{ verbs: ['get', 'list', 'watch'] }] };
  const { key, object } = await knownHolder(world, { user: alice, groups: ['widget-makers'], scope });
  const gadgets = { verbs: ['get', 'list'], resources: [{ group, resources: ['gadgets'] }] };
  const narrow = await kubectlWith(world, { user: alice, scope: { rules: [gadgets] } });
  const wide = await kubectlWith(world, { user: alice });
  await until('the API is served', async () => (await get(key)).status === 200, { timeoutMs: 120_000 });

  it('is reached through the gateway, and told who the user of the credential is', async () => {
    expect(await get(key)).toMatchObject({ status: 200, body: { kind: 'WidgetList' } });
    const headers = server.seen.at(-1) ?? {};
    expect(headers).toMatchObject({
      'x-remote-user': alice,
      'x-remote-group': 'widget-makers, system:authenticated',
      'x-remote-extra-management.platform.sh%2faccess-key': `${object.metadata.name}/${object.metadata.uid}`,
    });
    expect(headers).not.toHaveProperty('authorization');
    expect(JSON.stringify(headers)).not.toContain(key);
    expect(Object.keys(headers).filter((name) => name.startsWith('impersonate-'))).toEqual([]);
  });

  it('believes no client who says who it is', async () => {
    const headers = { 'x-remote-user': 'admin', 'x-remote-group': 'system:masters', 'x-remote-extra-a': 'b' };
    const { statusCode, body } = await gateway.send(path, { key, headers });
    await body.dump();
    expect(statusCode).toBe(200);
    expect(server.seen.at(-1)).toMatchObject({
      'x-remote-user': alice,
      'x-remote-group': 'widget-makers, system:authenticated',
    });
    expect(server.seen.at(-1)).not.toHaveProperty('x-remote-extra-a');
  });

  it('brings events at once, and its watch ends with the credential', async () => {
    const holder = await knownHolder(world, { user: alice });
    const { body } = await gateway.send(`${path}?watch=true`, { key: holder.key });
    const lines = createInterface({ input: body })[Symbol.asyncIterator]();
    await until('the watch is open', async () => server.watches === 1);
    for (const name of ['second', 'third']) {
      server.add(name);
      expect(JSON.parse((await lines.next()).value ?? '')).toMatchObject({ object: { metadata: { name } } });
    }
    body.on('error', () => undefined);
    await admin.patch(holder.object, { spec: { disabled: true } });
    await until('the watch is cut, behind the API server too', async () => server.watches === 0);
  });

  it('brings events over a websocket, which ends with the credential too', async () => {
    const holder = await knownHolder(world, { user: alice });
    const headers = [
      `Authorization: Bearer ${holder.key}`,
      ...webSocketHeaders,
      'Origin: https://example.com',
    ];
    const watch = upgradeText(headers, { line: `GET ${path}?watch=true` });
    const client = openClient(gateway.port, watch, true);
    await client.until('101 Switching Protocols');
    server.add('fourth');
    await client.until('"name":"fourth"');
    await admin.patch(holder.object, { spec: { disabled: true } });
    await client.until('the credential is disabled');
    await until('the watch is cut, behind the API server too', async () => server.watches === 0);
  });

  it('is seen by kubectl, and bounded by a scope like every other API', async () => {
    // The API server serves it before it lists it.
    await until('kubectl finds the kind', async () => {
      const { stdout } = await wide.run(['api-resources', `--api-group=${group}`, '--cached=false']);
      return stdout.includes('widgets');
    });
    expect(await wide.ok(['get', `widgets.${group}`, '-o', 'name'])).toBe(`widget.${group}/first\n`);
    const before = server.seen.length;
    const { stderr } = await narrow.run(['get', `widgets.${group}`]);
    expect(stderr).toContain('(Forbidden)');
    expect(server.seen).toHaveLength(before);
  });
});
