import { describe, expect, it } from 'vitest';
import { kubeconfigFor } from '../../../src/cli/commands/kubeconfig.ts';
import { generateAccessKey } from '../../../src/credentials/keys/access-key.ts';
import { credentialHash } from '../../../src/credentials/keys/credential-hash.ts';
import { Credentials, toCredential } from '../../../src/page/credentials.js';
import { hashOf, toAccessKey } from '../../../src/page/key-form.js';
import { findDirectEndpoint, withCommand } from '../../../src/page/kubeconfig.js';
import { readOnlyScope, wholeScope } from '../../../src/page/make-key.js';
import { describeEnd, describeScope, describeUse, duration } from '../../../src/page/words.js';
import { directEndpointHosts } from '../../fixtures/direct-endpoint-hosts.ts';

describe('a key that the browser makes', () => {
  it.each([
    [new Uint8Array(32)],
    [new Uint8Array(32).fill(255)],
    [Uint8Array.from({ length: 32 }, (_, i) => i * 7)],
  ])('has the form and the hash of one that the gateway makes', async (random) => {
    const key = generateAccessKey(random);
    expect(toAccessKey(random)).toBe(key);
    expect(await hashOf(key)).toBe(`sha256:${credentialHash(key)}`);
  });
});

describe('a scope in words', () => {
  it.each([
    [undefined, 'all that you may reach'],
    [{}, 'nothing but who you are'],
    [{ projects: [{ project: '*' }] }, 'project any'],
    [
      {
        virtualClusters: [{ project: 'demo', virtualCluster: 'shop' }],
        clusters: [{ cluster: 'a' }, { cluster: 'b' }],
      },
      'virtual cluster demo/shop; clusters a, b',
    ],
    [
      { rules: [{ cluster: 'eu', verbs: ['get'], resources: [{ group: '', resources: ['pods'] }] }] },
      'get of pods in cluster eu',
    ],
    [{ rules: [{}] }, 'do everything'],
  ])('%o', (scope, words) => {
    expect(describeScope(scope)).toBe(words);
  });
});

describe('the scope that somebody picked', () => {
  const targets = [
    { kind: 'Project', name: 'demo' },
    { kind: 'VirtualClusterInstance', project: 'demo', name: 'shop' },
    { kind: 'SpaceInstance', project: 'demo', name: 'till' },
    { kind: 'Cluster', name: 'eu' },
  ];

  it('names each target in its list', () => {
    expect(wholeScope(targets)).toEqual({
      projects: [{ project: 'demo' }],
      virtualClusters: [{ project: 'demo', virtualCluster: 'shop' }],
      spaces: [{ project: 'demo', space: 'till' }],
      clusters: [{ cluster: 'eu' }],
    });
  });

  it('for reading names no Secret, no star for the core group, and targets alone whose rules narrow', () => {
    const { rules } = readOnlyScope(targets, 'p-') as { rules: Record<string, unknown>[] };
    expect(rules.map(({ verbs, cluster, virtualClusters }) => [verbs, cluster ?? virtualClusters])).toEqual([
      [['get', 'list', 'watch'], [{ name: 'shop', namespace: 'p-demo' }]],
      [['get', 'list', 'watch'], 'eu'],
    ]);
    for (const { resources } of rules) {
      const core = (resources as { group: string; resources: string[] }[]).find(({ group }) => group === '');
      expect(core?.resources).toContain('pods');
      expect(core?.resources.filter((name) => /secret|\*/.test(name))).toEqual([]);
    }
  });
});

describe('the tree', () => {
  const key = (name: string, accessKey?: string) =>
    toCredential({ metadata: { name }, spec: { ...(accessKey && { accessKey }) } }, 'OwnedAccessKey');

  it('has children below their parents, at any depth, and nothing twice', () => {
    const all = new Credentials();
    for (const each of [key('c', 'b'), key('a'), key('b', 'a'), key('d', 'gone'), key('e', 'e')])
      all.put(each);
    expect(all.rows.map(({ credential, depth }) => [credential.name, depth])).toEqual([
      ['a', 0],
      ['b', 1],
      ['c', 2],
      ['d', 0],
    ]);
    expect(all.below(key('a')).map(({ name }) => name)).toEqual(['b', 'c']);
  });
});

describe('the state of a credential', () => {
  const past = new Date(Date.now() - 1_000).toISOString();
  const ready = (status: string, reason = '', message = '') => ({
    conditions: [{ type: 'Ready', status, reason, message }],
  });

  it.each<[string, object, [string, string]]>([
    ['works', { status: ready('True') }, ['live', '']],
    ['waits for the operator', {}, ['waiting', 'Pending']],
    ['is refused', { status: ready('False', 'AccessKeyNotFound') }, ['refused', 'AccessKeyNotFound']],
    ['is stopped by a lock', { status: ready('False', 'Locked', 'by "one"') }, ['locked', 'Locked']],
    [
      'is disabled',
      { spec: { disabled: true }, status: ready('False', 'Disabled') },
      ['disabled', 'Disabled'],
    ],
    ['ended by its time', { status: { ...ready('True'), expirationTimestamp: past } }, ['ended', 'Expired']],
    ['ended by the clock of the operator', { status: ready('False', 'Expired') }, ['ended', 'Expired']],
    [
      'is being deleted',
      { metadata: { name: 'a', deletionTimestamp: past }, status: ready('True') },
      ['ended', 'Deleting'],
    ],
  ])('%s', (_, object, expected) => {
    const { state, reason, fix } = toCredential({ metadata: { name: 'a' }, ...object }, 'OwnedAccessKey');
    expect([state, reason]).toEqual(expected);
    expect(fix !== '').toBe(state !== 'live');
  });

  it.each<[object, string, string]>([
    [{ user: 'alice' }, '', 'alice'],
    [{ team: 'shop' }, '', 'team:shop'],
    [{ subject: 'robot' }, 'bob', 'robot'],
    [{}, 'bob', 'bob'],
    [{}, '', ''],
  ])('with %o, requested by "%s", is of "%s"', (spec, requester, owner) => {
    const annotations = requester === '' ? {} : { 'management.platform.sh/requester': requester };
    expect(toCredential({ metadata: { name: 'a', annotations }, spec }, 'OwnedAccessKey').owner).toBe(owner);
  });
});

describe('a time in words', () => {
  it.each([
    [0, '0 seconds'],
    [999, '0 seconds'],
    [1_000, '1 second'],
    [90_000, '1 minute'],
    [7_199_999, '1 hour'],
    [172_800_000, '2 days'],
    [-5, '0 seconds'],
  ])('of %i ms is %s', (ms, text) => {
    expect(duration(ms)).toBe(text);
  });

  it('says when something ends and was used', () => {
    expect([undefined, 61_000, -61_000].map((end) => describeEnd(end, 0))).toEqual([
      'never',
      'in 1 minute',
      '1 minute ago',
    ]);
    expect([undefined, 0, -61_000].map((at) => describeUse(at, 0))).toEqual([
      'never',
      'just now',
      '1 minute ago',
    ]);
  });
});

describe('a kubeconfig past the gateway', () => {
  const ca = '-----BEGIN CERTIFICATE-----\n';
  const directEndpoint = { host: 'eu.example.com:8443', caData: Buffer.from(ca).toString('base64') };
  const objects: Readonly<Record<string, object>> = {
    'clusters/eu': { spec: { directEndpoint } },
    'clusters/us': { spec: {} },
    'clusters/evil': { spec: { directEndpoint: { host: 'eu.example.com@evil.example.com' } } },
    'clusters/path': { spec: { directEndpoint: { host: 'eu.example.com/evil' } } },
    'clusters/secret': { spec: { directEndpoint: { host: ':secret@eu.example.com' } } },
    'namespaces/p-demo/spaceinstances/early': { spec: {} },
    'namespaces/p-demo/spaceinstances/till': { spec: { clusterRef: { cluster: 'eu' } } },
  };
  const place = {
    gateway: { baseURL: 'https://latchkey.example.com', own: async (path: string) => objects[path] },
    self: { projectNamespacePrefix: 'p-' },
  };

  it.each([
    [
      { kind: 'Cluster', project: '', name: 'eu' },
      { name: 'cluster/eu', path: '/cluster/eu' },
    ],
    [
      { kind: 'SpaceInstance', project: 'demo', name: 'till' },
      { name: 'space/demo/till', path: '/project/demo/space/till' },
    ],
  ])('for %o is that of the command line', async (target, ofCommandLine) => {
    const text = withCommand(place, target, await findDirectEndpoint(place as never, target));
    const args = ['credential', '--base-url', place.gateway.baseURL, '--direct', ofCommandLine.name];
    const server = { baseURL: `https://${directEndpoint.host}`, ca };
    expect(JSON.parse(text)).toEqual(kubeconfigFor(ofCommandLine, server, args));
  });

  it.each([
    [{ kind: 'Cluster', project: '', name: 'us' }, 'The cluster us has no direct endpoint'],
    [{ kind: 'VirtualClusterInstance', project: 'demo', name: 'shop' }, 'is behind no direct endpoint'],
    [{ kind: 'SpaceInstance', project: 'demo', name: 'early' }, 'The space early names no cluster yet'],
    ...['evil', 'path', 'secret'].map((name): [object, string] => [
      { kind: 'Cluster', project: '', name },
      `The host of the direct endpoint of the cluster ${name} cannot be used`,
    ]),
  ])('is refused for %o', async (target, problem) => {
    await expect(findDirectEndpoint(place as never, target as never)).rejects.toThrow(problem);
  });

  it.each(directEndpointHosts)('has the address that all others make of %s', async (host, origin) => {
    const gateway = { ...place.gateway, own: async () => ({ spec: { directEndpoint: { host } } }) };
    const target = { kind: 'Cluster', project: '', name: 'eu' };
    const found = findDirectEndpoint({ ...place, gateway } as never, target);
    if (origin === undefined) return await expect(found).rejects.toThrow('cannot be used');
    const { clusters } = JSON.parse(withCommand(place, target, await found));
    expect(clusters[0].cluster.server).toBe(`${origin}/kubernetes/cluster/eu`);
  });
});

describe('a kubeconfig with the command in it', () => {
  it.each([
    [
      { kind: 'Cluster', project: '', name: 'eu' },
      { name: 'cluster/eu', path: '/cluster/eu' },
    ],
    [
      { kind: 'SpaceInstance', project: 'demo', name: 'till' },
      { name: 'space/demo/till', path: '/project/demo/space/till' },
    ],
    [
      { kind: 'VirtualClusterInstance', project: 'demo', name: 'shop' },
      { name: 'virtualcluster/demo/shop', path: '/project/demo/virtualcluster/shop' },
    ],
  ])('for %o is that of the command line', (target, ofCommandLine) => {
    const baseURL = 'https://latchkey.example.com:8443';
    const text = withCommand({ gateway: { baseURL } }, target);
    const args = ['credential', '--base-url', baseURL];
    expect(JSON.parse(text)).toEqual(kubeconfigFor(ofCommandLine, { baseURL, ca: undefined }, args));
  });
});
