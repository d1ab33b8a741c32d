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
import { type Creation, changes, creations, flavours } from './shorthand.ts';

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
  ...{ apiVersion, kind, name: 'somebodys', uid: randomUUID(), blockOwnerDeletion: true },
  ...rest,
});
const ownedBy = (...ownerReferences: object[]): NonNullable<Content['metadata']> => ({ ownerReferences });
/** The metadata of an object that blocks the deletion of so many owners of this kind. */
const blocks = (kind: string, apiVersion = ours, count = 1) =>
  ownedBy(...Array.from({ length: count }, () => owner(apiVersion, kind)));
const owned = (blockOwnerDeletion?: boolean) =>
  ownedBy(owner(ours, 'OwnedAccessKey', { blockOwnerDeletion }));

/** A spec that nothing else stands in the way of. */
function specOf(resource: Resource, who: Person): Record<string, unknown> {
  if (resource === keys) return { user: who };
  if (resource === kubeConfigs) return { virtualClusterInstance: 'usable', accessKey: 'parent' };
  if (resource === instances) return { kubeConfigSecretRef: { name: 'mine' } };
  return {};
}

/** Rows in which somebody creates an object with these owners. */
const creates = (table: readonly Creation<NonNullable<Content['metadata']>>[]): Row[] =>
  creations(
    table.map(([who, resource, does, metadata, ...rest]) => [
      who,
      resource,
      does,
      { spec: specOf(resource, who), metadata },
      ...rest,
    ]),
  );

const [key, token, kubeConfig] = ['OwnedAccessKey', 'DirectClusterEndpointToken', kubeConfigs.kind];
const hidden = ownedBy(owner(ours, 'Cluster', { blockOwnerDeletion: false }), owner(ours, key));

describeRows('a new object that blocks the deletion of a credential', [
  ...[keys, tokens, kubeConfigs, instances, spaces, clusters].flatMap((resource) =>
    creates([
      ['alice', resource, 'holds delete on all keys and get on none, and blocks none', blocks(key), noRight],
    ]),
  ),
  ...creates([
    ['alice', keys, 'blocks no token', blocks(token), noRight, 'generateName'],
    ['alice', kubeConfigs, 'blocks no kubeconfig', blocks(kubeConfig), noRight],
    ['alice', keys, 'owned by any key blocks nothing', owned(false), allowed],
    ['alice', tokens, 'owned by any key blocks nothing without the field', owned(), allowed],
    ['alice', keys, 'hides no block among references without', hidden, noRight],
    ['root', keys, 'may get and delete every key', blocks(key), allowed],
    ['root', tokens, 'may get and delete every key', blocks(key), allowed, 'apply'],
    ['root', kubeConfigs, 'may get and delete each kubeconfig', blocks(kubeConfig), allowed, 'generateName'],
    ['janitor', kubeConfigs, 'runs a namespace and blocks no key outside of it', blocks(key), noRight],
    ['janitor', kubeConfigs, 'runs a namespace and blocks a kubeconfig in it', blocks(kubeConfig), allowed],
  ]),
]);

const configMap = blocks('ConfigMap', 'v1');
const widget = blocks('Widget', 'example.com/v1');
const elsewhere = 'deletes everything in the namespace, but Widgets could be outside of it';

describeRows(
  'a new object that blocks the deletion of something else',
  creates([
    ['alice', kubeConfigs, 'deletes every instance', blocks('VirtualClusterInstance'), allowed],
    ['alice', kubeConfigs, 'deletes every space', blocks('SpaceInstance'), allowed],
    ['alice', keys, 'deletes every Cluster', blocks('Cluster'), allowed],
    ['mallory', kubeConfigs, 'deletes no ConfigMap', configMap, noRight],
    ['keeper', kubeConfigs, 'deletes ConfigMaps in the namespace', configMap, allowed],
    ['keeper', keys, 'deletes ConfigMaps in one namespace only', configMap, noRight],
    ['deleter', keys, 'deletes ConfigMaps in all namespaces', configMap, allowed],
    ['root', kubeConfigs, 'runs the platform and deletes no ConfigMap', configMap, noRight, 'generateName'],
    [
      'root',
      tokens,
      'runs the platform and deletes no namespace',
      blocks('Namespace', 'v1'),
      noRight,
      'apply',
    ],
    ['janitor', kubeConfigs, 'deletes what is in the namespace', configMap, allowed],
    ['janitor', kubeConfigs, 'does not delete the namespace', blocks('Node', 'v1'), noRight],
    ['keeper', kubeConfigs, 'deletes Widgets in the namespace, by name of the kind', widget, allowed],
    ['janitor', kubeConfigs, elsewhere, widget, noRight],
    ['keeper', keys, 'deletes Widgets in one namespace only', widget, noRight],
    ['master', kubeConfigs, 'deletes everything', widget, allowed],
  ]),
);

const guessed = [
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
] as const;
const unclear = [
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
] as const;

describeRows('the resource of a kind', [
  ...guessed.flatMap(([apiVersion, kind]) =>
    creates([
      ['deleter', kubeConfigs, `is known: ${kind}`, blocks(kind, apiVersion), allowed],
      ['mallory', tokens, `is asked for: ${kind}`, blocks(kind, apiVersion), noRight],
    ]),
  ),
  ...unclear.flatMap(([apiVersion, kind]) =>
    creates([['master', keys, `cannot be told: ${apiVersion} ${kind}`, blocks(kind, apiVersion), noKind]]),
  ),
]);

const eightWidgets = blocks('Widget', 'example.com/v1', 8);
const eighth = ownedBy(...Array.from({ length: 7 }, () => owner(ours, 'Cluster')), owner(ours, key));

describeRows(
  'very many owners',
  creates([
    ['master', tokens, 'blocks eight of a known kind', blocks('Namespace', 'v1', 8), allowed],
    ['root', tokens, 'blocks eight keys, each of which takes two checks', blocks(key, ours, 8), allowed],
    ['deleter', kubeConfigs, 'blocks eight of a kind that is not known', eightWidgets, allowed],
    ['janitor', kubeConfigs, 'blocks none of eight that may be outside', eightWidgets, noRight],
    ['master', tokens, 'does not block nine at once', blocks('Namespace', 'v1', 9), tooMany],
    ['master', tokens, 'does not block very many', blocks('Namespace', 'v1', 150), tooMany],
    ['alice', keys, 'does not hide the eighth behind others that she may delete', eighth, noRight],
  ]),
);

const real = (blockOwnerDeletion: boolean) => ({ ...realOwner, blockOwnerDeletion });
const roots = { by: 'root', spec: { user: 'root' } } as const;
const loose = { ...roots, metadata: ownedBy(realOwner) };
/** Made by somebody who may delete the owner; its owner may not. */
const blocked = { by: 'argocd', spec: { user: 'root' }, metadata: ownedBy(real(true)) } as const;

/** An apply has to name the identity, too. */
const withOwners = (flavour: Flavour, metadata: NonNullable<Content['metadata']>): Content => ({
  metadata,
  spec: flavour.includes('apply') ? { user: 'root' } : {},
});
const toNamespace = blocks('Namespace', 'v1');
const noted = { metadata: { annotations: { note: 'x' } } };
const another = ownedBy(real(true), owner('v1', 'Namespace', { blockOwnerDeletion: false }));
const anotherBlock = ownedBy(real(true), owner('v1', 'Namespace'));
const namesake = ownedBy({ ...real(true), uid: randomUUID() });

describeRows('an object that has owners or gets some', [
  ...flavours.flatMap((flavour) => [
    ...changes(keys, roots, [
      [
        'root',
        flavour,
        `blocks no owner that they may not delete by ${flavour}`,
        withOwners(flavour, toNamespace),
        noRight,
      ],
    ]),
    ...changes(keys, loose, [
      [
        'root',
        flavour,
        `turns no reference into a block by ${flavour}`,
        withOwners(flavour, ownedBy(real(true))),
        flavour === 'apply' ? [409, /conflict/] : noRight,
      ],
    ]),
  ]),
  ...changes(keys, { by: 'alice', spec: { user: 'alice' } }, [
    ['alice', 'PUT', "does not block somebody's key with her own", { metadata: blocks(key) }, noRight],
  ]),
  ...changes(keys, blocked, [
    ['root', 'merge patch', 'changes what has a block from before', noted, allowed],
    ['root', 'PUT', 'keeps a block from before and adds an owner', { metadata: another }, allowed],
    ['root', 'PUT', 'blocks no other owner beside the one from before', { metadata: anotherBlock }, noRight],
    ['root', 'PUT', 'does not block another object of the same name', { metadata: namesake }, noRight],
    ['root', 'JSON patch', 'takes a block away', { metadata: ownedBy(real(false)) }, allowed],
    ['root', 'PUT', 'takes all owners away', { metadata: { ownerReferences: null } }, allowed],
  ]),
  ...changes(keys, roots, [['garbageCollector', 'PUT', 'is not judged', { metadata: toNamespace }, allowed]]),
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
  // Served only where someone turned it on, as the control plane of these tests does.
  const isUsual = ({ kind }: Served): boolean => kind !== 'LeaseCandidate';
  const served = (await servedResources()).filter((one) => one.verbs.includes('delete') && isUsual(one));

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
