import { describe, expect, it } from 'vitest';
import { generateAccessKey } from '../../src/credentials/keys/access-key.ts';
import { credentialHash } from '../../src/credentials/keys/credential-hash.ts';
import { Credentials, toCredential } from '../../src/page/credentials.js';
import { hashOf, toAccessKey } from '../../src/page/key-form.js';
import { readOnlyScope, wholeScope } from '../../src/page/make-key.js';
import { describeScope } from '../../src/page/words.js';

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
