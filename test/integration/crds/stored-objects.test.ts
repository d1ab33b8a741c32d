import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { parse } from 'yaml';
import { type Manifest, manifestOf, uniqueName } from '../../../lab/operator/manifest.ts';
import {
  clusters,
  ownedAccessKeys,
  type Resource,
  virtualClusterInstanceKubeConfigs,
  virtualClusterInstances,
} from '../../../src/api/resources.ts';
import { crdWorld, keyOf, refusalOf, type Stored, succeed } from './world.ts';

const world = await crdWorld();

/** The definitions under a group of their own, first without any rule, so that objects from before the rules can be stored. */
const group = `${uniqueName('before')}.latchkey.test`;
const keys: Resource = { ...ownedAccessKeys, group };
const kubeconfigs: Resource = { ...virtualClusterInstanceKubeConfigs, group };
const instances: Resource = { ...virtualClusterInstances, group };
const connected: Resource = { ...clusters, group };
const all = [keys, kubeconfigs, instances, connected];
const unusable = {
  accessPoint: { ingress: { enabled: true, host: 'x..y:99999' } },
  access: { clusterRole: '' },
};
const malformed: [string, Resource, object][] = [
  ['without identity', keys, {}],
  ['with two identities', keys, { user: 'a', team: 'b' }],
  ['with a reserved user', keys, { user: 'system:admin' }],
  ['with a reserved group', keys, { user: 'a', groups: ['system:masters'] }],
  ['with a malformed key', keys, { user: 'a', key: 'short' }],
  ['with an access key that was cut', keys, { user: 'a', key: `lk_${'a'.repeat(40)}` }],
  ['with a ttl that is too long', keys, { user: 'a', ttl: 9_000_000_000 }],
  ['of a team, without a scope', keys, { team: 'a' }],
  ['with an unknown type', keys, { user: 'a', type: 'Robot' }],
  [
    'with overlapping resources',
    keys,
    { user: 'a', scope: { rules: [{ resources: [{ resources: ['*', 'a'] }] }] } },
  ],
  [
    'with claims that are no texts',
    keys,
    { user: 'a', identity: { extraClaims: { plan: { size: 3 }, seats: 3 } } },
  ],
  ['with names without resources', keys, { user: 'a', scope: { rules: [{ resourceNames: ['a'] }] } }],
  ['with a server that is no URL', kubeconfigs, { server: 'vc' }],
  ['with a port that cannot be', kubeconfigs, { server: 'https://vc.example.com:99999' }],
  ['with a host that cannot be', kubeconfigs, { server: 'https://999.1.1.1' }],
  ['with hosts that cannot be and an empty role', instances, unusable],
  ['with a direct endpoint that cannot be', connected, { directEndpoint: { host: 'x..y:0' } }],
  ['with a life that is too short', kubeconfigs, { certificateTTL: 1 }],
];

const changes = new Map<Resource, object>([
  [keys, { disabled: true }],
  [kubeconfigs, { certificateTTL: 3600 }],
]);

describe('an object that was stored before there were rules', () => {
  const finalizer = 'latchkey.test/hold';
  const stored = new Map<string, Stored>();
  const inGroup = (manifest: Manifest): Manifest => ({ ...manifest, apiVersion: `${group}/v1` });

  beforeAll(async () => {
    await define('without rules');
    for (const [title, resource, spec] of malformed) {
      const manifest = inGroup(manifestOf(resource, spec, { finalizers: [finalizer] }));
      stored.set(title, await world.store(resource, manifest));
    }
    await define('with rules');
    await rulesAct();
  });

  afterAll(async () => {
    const names = all.map(({ plural }) => `crd/${plural}.${group}`);
    await succeed(world.plane.kubectl(['delete', '--wait=false', ...names]));
  });

  it.each(malformed)('%s can be disabled, labelled, and its status written', async (title, resource) => {
    const key = keyOf(stored.get(title) as Stored);
    const patches: [object, string?][] = [
      [{ metadata: { labels: { seen: 'yes' } } }],
      [{ status: { observedGeneration: 1 } }, 'status'],
      [{ spec: changes.get(resource) ?? { displayName: 'seen' } }],
    ];
    for (const [patch, subresource] of patches) {
      const options = subresource === undefined ? {} : { subresource };
      expect(await refusalOf(world.operator.mergePatch(resource, key, patch, options))).toBe('accepted');
    }
  });

  it.each<[string, object, string]>([
    ['gets a group', { groups: ['devs'] }, 'accepted'],
    ['is enabled again', { disabled: false }, 'accepted'],
    ['gets a shorter life', { ttl: 30 }, 'accepted'],
    ['gets a description', { description: 'new' }, 'accepted'],
    ['gets the key that the operator generated', { key: 'k'.repeat(40) }, 'accepted'],
    ['gets a scope', { scope: { projects: [{ project: '*' }] } }, 'accepted'],
    ['gets groups with a scope', { groups: ['other'], scope: {} }, 'accepted'],
  ])('of a team, without a scope %s', async (_, spec, expected) => {
    const key = keyOf(stored.get('of a team, without a scope') as Stored);
    const patched = world.admin.mergePatch(keys, key, { spec }, { dryRun: true });
    expect(await refusalOf(patched)).toBe(expected);
  });

  it.each(malformed)('%s can be deleted and its finalizer removed', async (title, resource) => {
    const key = keyOf(stored.get(title) as Stored);
    await world.admin.delete(resource, key);
    const release = world.operator.mergePatch(resource, key, { metadata: { finalizers: null } });
    expect(await refusalOf(release)).toBe('accepted');
    await expect(world.admin.get(resource, key)).rejects.toMatchObject({ status: 404 });
  });

  async function define(rules: 'with rules' | 'without rules'): Promise<void> {
    const definitions = await Promise.all(all.map((resource) => definitionOf(resource, rules)));
    const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: definitions });
    await succeed(world.plane.kubectl(['apply', '--server-side', '-f', '-'], { input }));
    const names = definitions.map(({ metadata }) => `crd/${metadata.name}`);
    await succeed(world.plane.kubectl(['wait', '--for=condition=Established', '--timeout=120s', ...names]));
  }

  /** The API server takes a moment to validate by a changed definition. */
  async function rulesAct(): Promise<void> {
    for (const [, resource, spec] of malformed) {
      const probe = inGroup(manifestOf(resource, spec));
      const create = () => world.admin.create(resource, probe, { ...keyOf(probe), dryRun: true });
      await vi.waitUntil(async () => (await refusalOf(create())) !== 'accepted', 90_000);
    }
  }
});

type Json = Record<string, unknown>;

async function definitionOf(resource: Resource, rules: 'with rules' | 'without rules') {
  const definition = parse(await readFile(`crds/${resource.plural}.yaml`, 'utf8'));
  const { names, ...spec } = definition.spec;
  const { plural, singular, kind, listKind } = names;
  const changed = {
    ...definition,
    metadata: { name: `${plural}.${group}` },
    spec: { ...spec, group, names: { plural, singular, kind, listKind } },
  };
  return rules === 'with rules' ? changed : withoutRules(changed);
}

const rules = ['x-kubernetes-validations', 'enum', 'minimum', 'maximum', 'maxLength', 'minLength'];

/** Claims were of any form. */
const anything = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };

// biome-ignore lint/suspicious/noExplicitAny: a document goes in, the same document without some members comes out.
function withoutRules(value: any): any {
  if (Array.isArray(value)) return value.map(withoutRules);
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value as Json).filter(([name]) => !rules.includes(name));
  const members = kept.map(([name, member]) => [
    name,
    name === 'extraClaims' ? anything : withoutRules(member),
  ]);
  return Object.fromEntries(members);
}
