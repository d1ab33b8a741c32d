import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { afterAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { sharedControlPlane } from '../../../lab/controlplane/shared.ts';
import {
  clusters,
  virtualClusterInstances as instances,
  ownedAccessKeys as keys,
  virtualClusterInstanceKubeConfigs as kubeConfigs,
  type Resource,
  spaceInstances as spaces,
  directClusterEndpointTokens as tokens,
} from '../../../src/api/resources.ts';
import { adminClient } from '../admission/api-client.ts';
import { objectOf, pathOf } from '../admission/objects.ts';
import type { Person } from './people.ts';
import { type Content, describeRows, type Flavour, type Row } from './rows.ts';

const field = 'metadata.ownerReferences: blockOwnerDeletion';
const noRight = [
  422,
  `${field} needs the verb delete on the owner, and get as well when it is an access key, a token or a kubeconfig; ` +
    'have them granted, or leave blockOwnerDeletion out',
] as const;
const noKind = [
  422,
  `${field} needs an owner of which kind and API group can be told; correct kind and apiVersion of the reference, or ` +
    'leave blockOwnerDeletion out',
] as const;
const tooMany = [
  422,
  `${field} can be set for at most 8 owners at once, and for 64 in all; set it for the others in another request, or ` +
    'leave it out',
] as const;
const allowed = 'allowed' as const;

const admin = await adminClient(await sharedControlPlane());
afterAll(async () => await admin.close());
/** An owner that exists: with any other the garbage collector would take the object away in the midst of a row. */
const realOwner = {
  apiVersion: 'v1',
  kind: 'Namespace',
  name: 'default',
  uid: (await admin.send('GET', '/api/v1/namespaces/default')).body.metadata.uid as string,
};

const ours = 'management.platform.sh/v1';
const owner = (apiVersion: string, kind: string, rest: object = {}): object => ({
  apiVersion,
  kind,
  name: 'somebodys',
  uid: randomUUID(),
  blockOwnerDeletion: true,
  ...rest,
});
const ownedBy = (...ownerReferences: object[]): NonNullable<Content['metadata']> => ({ ownerReferences });
const many = (count: number, apiVersion: string, kind: string): Content['metadata'] =>
  ownedBy(...Array.from({ length: count }, () => owner(apiVersion, kind)));

/** A spec that nothing else stands in the way of. */
function specOf(resource: Resource, who: Person): Record<string, unknown> {
  if (resource === keys) return { user: who };
  if (resource === kubeConfigs) return { virtualClusterInstance: 'usable', accessKey: 'parent' };
  if (resource === instances) return { kubeConfigSecretRef: { name: 'mine' } };
  return {};
}

const creates =
  (resource: Resource) =>
  (
    who: Person,
    does: string,
    metadata: Content['metadata'],
    ...[answer, flavour]: readonly [Row['answer'], ('apply' | 'generateName')?]
  ): Row => ({
    who,
    does: `${does}${flavour === undefined ? '' : ` by ${flavour}`}: ${resource.kind}`,
    resource,
    attempt: { verb: 'create', ...(flavour && { flavour }) },
    content: { spec: specOf(resource, who), ...(metadata && { metadata }) },
    answer,
  });
const [key, token, kubeConfig] = [creates(keys), creates(tokens), creates(kubeConfigs)];

describeRows('a new object that blocks the deletion of a credential', [
  ...[keys, tokens, kubeConfigs, instances, spaces, clusters].map((resource) =>
    creates(resource)(
      'alice',
      'holds delete on all keys and get on none, and blocks none',
      ownedBy(owner(ours, 'OwnedAccessKey')),
      noRight,
    ),
  ),
  key(
    'alice',
    'blocks no token',
    ownedBy(owner(ours, 'DirectClusterEndpointToken')),
    noRight,
    'generateName',
  ),
  kubeConfig(
    'alice',
    'blocks no kubeconfig',
    ownedBy(owner(ours, 'VirtualClusterInstanceKubeConfig')),
    noRight,
  ),
  key(
    'alice',
    'owned by any key blocks nothing',
    ownedBy(owner(ours, 'OwnedAccessKey', { blockOwnerDeletion: false })),
    allowed,
  ),
  token(
    'alice',
    'owned by any key blocks nothing without the field',
    ownedBy(owner(ours, 'OwnedAccessKey', { blockOwnerDeletion: undefined })),
    allowed,
  ),
  key(
    'alice',
    'hides no block among references without',
    ownedBy(owner(ours, 'Cluster', { blockOwnerDeletion: false }), owner(ours, 'OwnedAccessKey')),
    noRight,
  ),
  key('root', 'may get and delete every key', ownedBy(owner(ours, 'OwnedAccessKey')), allowed),
  token('root', 'may get and delete every key', ownedBy(owner(ours, 'OwnedAccessKey')), allowed, 'apply'),
  kubeConfig(
    'root',
    'may get and delete every kubeconfig',
    ownedBy(owner(ours, 'VirtualClusterInstanceKubeConfig')),
    allowed,
    'generateName',
  ),
  kubeConfig(
    'janitor',
    'runs a namespace and blocks no key outside of it',
    ownedBy(owner(ours, 'OwnedAccessKey')),
    noRight,
  ),
  kubeConfig(
    'janitor',
    'runs a namespace and blocks a kubeconfig in it',
    ownedBy(owner(ours, 'VirtualClusterInstanceKubeConfig')),
    allowed,
  ),
]);

describeRows('a new object that blocks the deletion of something else', [
  kubeConfig('alice', 'deletes every instance', ownedBy(owner(ours, 'VirtualClusterInstance')), allowed),
  kubeConfig('alice', 'deletes every space', ownedBy(owner(ours, 'SpaceInstance')), allowed),
  key('alice', 'deletes every Cluster', ownedBy(owner(ours, 'Cluster')), allowed),
  kubeConfig('mallory', 'deletes no ConfigMap', ownedBy(owner('v1', 'ConfigMap')), noRight),
  kubeConfig('keeper', 'deletes ConfigMaps in the namespace', ownedBy(owner('v1', 'ConfigMap')), allowed),
  key('keeper', 'deletes ConfigMaps in one namespace only', ownedBy(owner('v1', 'ConfigMap')), noRight),
  key('deleter', 'deletes ConfigMaps in all namespaces', ownedBy(owner('v1', 'ConfigMap')), allowed),
  kubeConfig(
    'root',
    'runs the platform and deletes no ConfigMap',
    ownedBy(owner('v1', 'ConfigMap')),
    noRight,
    'generateName',
  ),
  token(
    'root',
    'runs the platform and deletes no namespace',
    ownedBy(owner('v1', 'Namespace')),
    noRight,
    'apply',
  ),
  kubeConfig('janitor', 'deletes what is in the namespace', ownedBy(owner('v1', 'ConfigMap')), allowed),
  kubeConfig('janitor', 'does not delete the namespace', ownedBy(owner('v1', 'Node')), noRight),
  kubeConfig(
    'keeper',
    'deletes Widgets in the namespace, by name of the kind',
    ownedBy(owner('example.com/v1', 'Widget')),
    allowed,
  ),
  kubeConfig(
    'janitor',
    'deletes everything in the namespace, but Widgets could be outside of it',
    ownedBy(owner('example.com/v1', 'Widget')),
    noRight,
  ),
  key('keeper', 'deletes Widgets in one namespace only', ownedBy(owner('example.com/v1', 'Widget')), noRight),
  kubeConfig('master', 'deletes everything', ownedBy(owner('example.com/v1', 'Widget')), allowed),
]);

describeRows('the resource of a kind', [
  ...(
    [
      ['v1', 'Namespace'],
      ['v1', 'Endpoints'],
      ['networking.k8s.io/v1', 'NetworkPolicy'],
      ['networking.k8s.io/v1', 'Ingress'],
      ['networking.k8s.io/v1', 'IngressClass'],
      ['gateway.networking.k8s.io/v1', 'Gateway'],
      ['example.com/v1alpha1', 'Widget'],
      ['example.com/v1', 'Policy'],
      ['example.com/v1', 'Glass'],
      ['example.com/v1', 'MyEndpoints'],
    ] as const
  ).flatMap(([apiVersion, kind]) => [
    kubeConfig('deleter', `is known: ${kind}`, ownedBy(owner(apiVersion, kind)), allowed),
    token('mallory', `is asked for: ${kind}`, ownedBy(owner(apiVersion, kind)), noRight),
  ]),
  ...(
    [
      ['v1', 'Pod/status'],
      ['v1', 'Config Map'],
      ['v1', 'Ünit'],
      ['v1', '*'],
      ['v1', 'K'.repeat(64)],
      ['Example.com/v1', 'Widget'],
      ['*/v1', 'Widget'],
      [ours, 'ownedaccesskey'],
      [ours, 'OwnedAccessKeies'],
      ['management.platform.sh/v9', 'OwnedAccessKey'],
    ] as const
  ).map(([apiVersion, kind]) =>
    key('master', `cannot be told: ${apiVersion} ${kind}`, ownedBy(owner(apiVersion, kind)), noKind),
  ),
]);

describeRows('very many owners', [
  token('master', 'blocks eight of a known kind', many(8, 'v1', 'Namespace'), allowed),
  token(
    'root',
    'blocks eight keys, each of which takes two checks',
    many(8, ours, 'OwnedAccessKey'),
    allowed,
  ),
  kubeConfig(
    'deleter',
    'blocks eight of a kind that is not known',
    many(8, 'example.com/v1', 'Widget'),
    allowed,
  ),
  kubeConfig(
    'janitor',
    'blocks none of eight that may be outside',
    many(8, 'example.com/v1', 'Widget'),
    noRight,
  ),
  token('master', 'does not block nine at once', many(9, 'v1', 'Namespace'), tooMany),
  token('master', 'does not block very many', many(150, 'v1', 'Namespace'), tooMany),
  key(
    'alice',
    'does not hide the eighth behind others that she may delete',
    ownedBy(...Array.from({ length: 7 }, () => owner(ours, 'Cluster')), owner(ours, 'OwnedAccessKey')),
    noRight,
  ),
]);

const updates = (
  who: Person,
  flavour: Flavour,
  does: string,
  ...[before, metadata, answer]: readonly [
    NonNullable<Row['before']>,
    NonNullable<Content['metadata']>,
    Row['answer'],
  ]
): Row => ({
  who,
  does: `${does} by ${flavour}`,
  resource: keys,
  attempt: { verb: 'update', flavour },
  before,
  content: { metadata, spec: flavour.includes('apply') ? { user: who } : {} },
  answer,
});

const roots = { by: 'root', spec: { user: 'root' } } as const;
const loose = { ...roots, metadata: ownedBy({ ...realOwner }) };
/** Made by somebody who may delete the owner; its owner may not. */
const blocked = {
  by: 'argocd',
  spec: { user: 'root' },
  metadata: ownedBy({ ...realOwner, blockOwnerDeletion: true }),
} as const;
const flavours = ['PUT', 'merge patch', 'JSON patch', 'apply', 'forced apply'] as const;

describeRows('an object that has owners or gets some', [
  ...flavours.flatMap((flavour) => [
    updates(
      'root',
      flavour,
      'blocks no owner that they may not delete',
      roots,
      ownedBy(owner('v1', 'Namespace')),
      noRight,
    ),
    updates(
      'root',
      flavour,
      'turns no reference into a block',
      loose,
      ownedBy({ ...realOwner, blockOwnerDeletion: true }),
      flavour === 'apply' ? [409, /conflict/] : noRight,
    ),
  ]),
  updates(
    'alice',
    'PUT',
    "does not block somebody's key with her own",
    { by: 'alice', spec: { user: 'alice' } },
    ownedBy(owner(ours, 'OwnedAccessKey')),
    noRight,
  ),
  updates(
    'root',
    'merge patch',
    'changes what has a block from before',
    blocked,
    { annotations: { note: 'x' } },
    allowed,
  ),
  updates(
    'root',
    'PUT',
    'keeps a block from before and adds an owner',
    blocked,
    ownedBy(
      { ...realOwner, blockOwnerDeletion: true },
      owner('v1', 'Namespace', { blockOwnerDeletion: false }),
    ),
    allowed,
  ),
  updates(
    'root',
    'PUT',
    'does not block another owner beside the one from before',
    blocked,
    ownedBy({ ...realOwner, blockOwnerDeletion: true }, owner('v1', 'Namespace')),
    noRight,
  ),
  updates(
    'root',
    'PUT',
    'does not block another object of the same name',
    blocked,
    ownedBy({ ...realOwner, uid: randomUUID(), blockOwnerDeletion: true }),
    noRight,
  ),
  updates(
    'root',
    'JSON patch',
    'takes a block away',
    blocked,
    ownedBy({ ...realOwner, blockOwnerDeletion: false }),
    allowed,
  ),
  updates('root', 'PUT', 'takes all owners away', blocked, { ownerReferences: null }, allowed),
  updates('garbageCollector', 'PUT', 'is not judged', roots, ownedBy(owner('v1', 'Namespace')), allowed),
]);

describe('owner references without a block', () => {
  it.each([
    ['may be as many as fit into an object', 150, 201],
    ['may not be more than an object may hold', 5_000, 403],
  ])('%s', async (_, count, status) => {
    const references = Array.from({ length: count }, () =>
      owner('v1', 'Namespace', { blockOwnerDeletion: false }),
    );
    const body = objectOf(tokens, {}, ownedBy(...references));
    const answer = await admin.send('POST', pathOf(tokens), { body, query: { dryRun: 'All' } });
    expect(answer.status, answer.body.message).toBe(status);
  });
});

interface Served {
  readonly group: string;
  readonly name: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
}

describe('the kinds that the policy knows', async () => {
  const text = await readFile('config/admission/owner-references.yaml', 'utf8');
  const [policy] = parseAllDocuments(text).map((document) => document.toJS());
  const table = <Value>(name: string): Record<string, Value> => {
    const found = policy.spec.variables.find((variable: { name: string }) => variable.name === name);
    return JSON.parse(found.expression.replaceAll("'", '"'));
  };
  const plurals = table<string>('plurals');
  const [clusterScoped, namespaced] = [table<string[]>('clusterScoped'), table<string[]>('namespaced')];
  const served = (await servedResources()).filter(({ verbs }) => verbs.includes('delete'));

  it('are all that the API server keeps, with their scope', () => {
    expect(served.length).toBeGreaterThan(50);
    const known = ({ group, kind, ...resource }: Served): boolean =>
      ((resource.namespaced ? namespaced : clusterScoped)[group] ?? []).includes(kind);
    expect(served.filter((resource) => !known(resource))).toEqual([]);
  });

  it('have the resource that Kubernetes guesses, or stand in the table of those that have not', () => {
    const wrong = served.filter(
      ({ group, kind, name }) => (plurals[`${kind}.${group}`] ?? guess(kind.toLowerCase())) !== name,
    );
    expect(wrong).toEqual([]);
  });
});

/** Guesses, as Kubernetes does, the resource of a kind that it does not know. */
function guess(kind: string): string {
  if (kind.endsWith('endpoints')) return kind;
  if (kind.endsWith('s')) return `${kind}es`;
  return kind.endsWith('y') ? `${kind.slice(0, -1)}ies` : `${kind}s`;
}

/** The resources of Kubernetes and ours, whatever else somebody has defined. */
async function servedResources(): Promise<Served[]> {
  const { body } = await admin.send('GET', '/apis');
  const groups: { name: string; versions: { groupVersion: string }[] }[] = body.groups.filter(
    ({ name }: { name: string }) => name.endsWith('.k8s.io') || !name.includes('.') || ours.startsWith(name),
  );
  const paths = groups.flatMap(({ name, versions }) =>
    versions.map(({ groupVersion }) => ({ group: name, path: `/apis/${groupVersion}` })),
  );
  const lists = [{ group: '', path: '/api/v1' }, ...paths].map(async ({ group, path }) => {
    const { resources } = (await admin.send('GET', path)).body;
    return resources.map((resource: object) => ({ ...resource, group }) as Served);
  });
  return (await Promise.all(lists)).flat().filter(({ name }) => !name.includes('/'));
}
