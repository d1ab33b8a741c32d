import { expect } from 'vitest';
import { type Api, resourceOf, type Stored, secretAt } from '../../../lab/operator/api.ts';
import { concurrently } from '../../../lab/operator/concurrently.ts';
import { type Manifest, manifestOf, uniqueName } from '../../../lab/operator/manifest.ts';
import { until } from '../../../lab/operator/until.ts';
import type { World } from '../../../lab/operator/world.ts';
import { annotations } from '../../../src/api/names.ts';
import { reasons } from '../../../src/api/reasons.ts';
import {
  clusters,
  virtualClusterInstances as instances,
  ownedAccessKeys as keys,
  virtualClusterInstanceKubeConfigs as kubeConfigs,
  type Resource,
  spaceInstances as spaces,
  directClusterEndpointTokens as tokens,
} from '../../../src/api/resources.ts';
import { collectionPath, objectPath } from '../../../src/kube/resource-path.ts';
import { give, type Person } from '../../e2e/rights/people.ts';
import { type ApiAnswer, contentTypes } from '../../integration/admission/api-client.ts';
import { ofOthers, ofStanding, projectNamespace } from './attacks-on-targets.ts';

/** As the policies would write it about an administrator. */
export const forged = {
  [annotations.requester]: 'laura',
  [annotations.requesterGroups]: '["platform-admins","system:authenticated"]',
};
const forgedChange = {
  [annotations.changedBy]: 'vic',
  [annotations.changedByGroups]: '["system:authenticated"]',
};
const rotated = { [annotations.rotate]: 'now' };
const wide = { clusters: [{ cluster: '*' }] };

let count = 0;
/** No two keys have the same. */
export const anyHash = (): string => `sha256:${(++count).toString(16).padStart(64, '0')}`;

/** An object of vic, and what a stranger with all verbs on our kinds does to it. */
export interface Victim {
  readonly title: string;
  readonly on: Stored;
  readonly send: (by: Person, on: Stored) => Promise<ApiAnswer>;
}

type Send = Victim['send'];

const merge =
  (patch: object): Send =>
  async (by, on) =>
    await by.patch(on, resourceOf(on), patch);
const annotate = (stamps: Record<string, string>): Send => merge({ metadata: { annotations: stamps } });
const specify = (spec: object): Send => merge({ spec });

/** A change that says of itself that vic asked for it. */
const forgedBy = (stamps: object | undefined) => ({ ...stamps, ...forgedChange });

const put =
  (spec: object): Send =>
  async (by, on) => {
    const path = objectPath(resourceOf(on), on.metadata);
    for (let tries = 1; ; tries += 1) {
      const { body: stored } = await by.client.send('GET', path);
      const metadata = { ...stored.metadata, annotations: forgedBy(stored.metadata.annotations) };
      const body = { ...stored, metadata, spec: { ...stored.spec, ...spec } };
      const answer = await by.client.send('PUT', path, { body });
      // The operator may have written in between.
      if (answer.status !== 409 || tries === 5) return answer;
    }
  };

const apply =
  (spec: object): Send =>
  async (by, on) => {
    const path = objectPath(resourceOf(on), on.metadata);
    const { apiVersion, kind, metadata, spec: old } = (await by.client.send('GET', path)).body;
    const { name, annotations: stamps } = metadata;
    const sent = { name, annotations: forgedBy(stamps) };
    const body = { apiVersion, kind, metadata: sent, spec: { ...old, ...spec } };
    const query = { fieldManager: 'mallory', force: 'true' };
    return await by.client.send('PATCH', path, { body, query, contentType: contentTypes.apply });
  };

const jsonPatch =
  (spec: object): Send =>
  async (by, on) => {
    const body = Object.entries(spec).map(([name, value]) => ({ op: 'add', path: `/spec/${name}`, value }));
    const path = objectPath(resourceOf(on), on.metadata);
    return await by.client.send('PATCH', path, { body, contentType: contentTypes.jsonPatch });
  };

const limits = { user: 'vic', ttl: 600, scope: { clusters: [{ cluster: 'c1' }] } };

/** Secrets that are not there: what appears in them has been given away. The stranger may have the first one written. */
const ofStranger = { namespace: 'default', name: 'of-mallory' };
const ofNoOne = { namespace: 'kube-system', name: 'out' };

/** Gives both the rights on Secrets that they have by right. */
export async function giveSecrets(world: World): Promise<void> {
  const rule = { apiGroups: [''], resources: ['secrets'], verbs: ['get', 'create', 'update'] };
  await give(world, 'vic', rule);
  await give(world, 'mallory', { ...rule, resourceNames: [ofStranger.name] });
}

export async function expectNoSecrets(admin: Api): Promise<void> {
  for (const { namespace, name } of [ofStranger, ofNoOne, { ...ofStranger, namespace: projectNamespace }])
    expect(await admin.find(secretAt(namespace, name))).toBeUndefined();
}

/** `stopped`: someone has disabled the key before. `inSecret`: the key stands in a Secret of vic. */
type Of = 'token' | 'kubeConfig' | 'stopped' | 'inSecret';

const changes: readonly (readonly [title: string, send: Send, of?: Of])[] = [
  ['another key by PUT', put({ key: anyHash() })],
  ['another key by apply', apply({ key: anyHash() })],
  ['another key by JSON patch', jsonPatch({ key: anyHash() })],
  [
    'a wider scope and a forged record',
    merge({ metadata: { annotations: forgedChange }, spec: { scope: wide } }),
  ],
  ['a longer life', specify({ ttl: 6_000 })],
  ['a life without an end', specify({ ttl: 0 })],
  ['an end to being disabled', specify({ disabled: false }), 'stopped'],
  ['disabled taken back', specify({ disabled: null }), 'stopped'],
  ['another namespace', specify({ allowedNamespaces: ['theirs'] })],
  ['another requester', annotate({ [annotations.requester]: 'mallory' })],
  ['a rotated token', annotate(rotated), 'token'],
  ['a forged and rotated token', annotate({ ...forged, ...rotated }), 'token'],
  [
    'a group more in a rotated token',
    annotate({ [annotations.requesterGroups]: '["admins"]', ...rotated }),
    'token',
  ],
  ['a token that lives longer', specify({ ttl: 6_000 }), 'token'],
  ['a token in a Secret of the stranger', specify({ secretRef: ofStranger }), 'token'],
  ['a kubeconfig that lives longer, by PUT', put({ certificateTTL: 6_000 }), 'kubeConfig'],
  ['a kubeconfig that lives longer, by apply', apply({ certificateTTL: 6_000 }), 'kubeConfig'],
  [
    'a kubeconfig that lives longer and a forged record',
    merge({ metadata: { annotations: forgedChange }, spec: { certificateTTL: 6_000 } }),
    'kubeConfig',
  ],
  ['a forged and rotated kubeconfig', annotate({ ...forged, ...rotated }), 'kubeConfig'],
  [
    'a kubeconfig in a Secret of the stranger',
    specify({ secretRef: { name: ofStranger.name } }),
    'kubeConfig',
  ],
  ['a Secret of the stranger', specify({ secretRef: ofStranger }), 'inSecret'],
  ['a Secret that the stranger may not write, by PUT', put({ secretRef: ofNoOne }), 'inSecret'],
  [
    'a Secret of the stranger and a forged record',
    merge({ metadata: { annotations: forgedChange }, spec: { secretRef: ofStranger } }),
    'inSecret',
  ],
  [
    'another look of its Secret',
    specify({ secretRef: { template: { labels: { 'copied-to': 'everyone' } } } }),
    'inSecret',
  ],
];

/** One object of vic for each change. */
export async function makeVictims({ admin }: World, vic: Person): Promise<readonly Victim[]> {
  return await concurrently(changes, async ([title, send, of]) => {
    const on = await admin.untilReady(await make(vic, of));
    if (of === 'stopped') {
      await vic.patch(on, keys, { spec: { disabled: true } });
      await admin.untilRefused(on, reasons.disabled);
    }
    return { title, on, send };
  });
}

async function make(vic: Person, of: Of | undefined): Promise<Stored> {
  if (of === 'token') return await vic.create(tokens, { ttl: 600 });
  if (of === 'kubeConfig') return await vic.create(kubeConfigs, ofStanding, { namespace: projectNamespace });
  const secretRef = { namespace: 'default', name: uniqueName('of-vic') };
  const place = of === 'inSecret' ? { secretRef } : { key: anyHash() };
  return await vic.create(keys, { ...limits, ...place });
}

interface Creation {
  readonly title: string;
  readonly resource: Resource;
  readonly spec: object;
  readonly metadata?: Partial<Manifest['metadata']>;
  readonly by?: 'apply';
}

const forAdmins = () => ({
  user: 'root-of-all',
  groups: ['platform-admins'],
  scope: wide,
  ttl: 600,
  key: anyHash(),
});

/** `gone` was a key of vic, `present` is one. */
const creations = (gone: Stored, present: Stored): readonly Creation[] => [
  {
    title: 'a token of someone else',
    resource: tokens,
    spec: { ttl: 600 },
    metadata: { annotations: forged },
  },
  {
    title: 'the same by apply',
    resource: tokens,
    spec: { ttl: 600 },
    metadata: { annotations: forged },
    by: 'apply',
  },
  {
    title: 'a kubeconfig of someone else',
    resource: kubeConfigs,
    spec: { virtualClusterInstance: 'shop' },
    metadata: { annotations: forged },
  },
  { title: 'a key for administrators', resource: keys, spec: forAdmins(), metadata: { annotations: forged } },
  { title: 'a key that names no one who asked', resource: keys, spec: forAdmins() },
  {
    title: 'a key for administrators in a Secret',
    resource: keys,
    spec: { ...forAdmins(), key: undefined, secretRef: ofStranger },
    metadata: { annotations: forged },
  },
  {
    title: 'a key with the name and the record of one that is gone',
    resource: keys,
    spec: { ...limits, key: anyHash() },
    metadata: { name: gone.metadata.name, annotations: gone.metadata.annotations ?? {} },
  },
  {
    title: 'a token with the record of a key, below that key',
    resource: tokens,
    spec: { ttl: 600, accessKey: present.metadata.name },
    metadata: { annotations: present.metadata.annotations ?? {} },
  },
  {
    title: 'a virtual cluster of others',
    resource: instances,
    spec: { kubeConfigSecretRef: { name: ofOthers.name } },
    metadata: { annotations: forged },
  },
  {
    title: 'a cluster of others',
    resource: clusters,
    spec: { kubeConfigSecretRef: ofOthers },
    metadata: { annotations: forged },
  },
  {
    title: 'a namespace of others',
    resource: spaces,
    spec: { clusterRef: { cluster: 'standing', namespace: 'kube-system' } },
    metadata: { annotations: forged },
  },
];

async function create(by: Person, { resource, spec, metadata, by: way }: Creation): Promise<ApiAnswer> {
  const body = manifestOf(resource, spec, metadata);
  if (way === undefined)
    return await by.client.send('POST', collectionPath(resource, body.metadata.namespace), { body });
  const query = { fieldManager: 'mallory', force: 'true' };
  return await by.client.send('PATCH', objectPath(resource, body.metadata), {
    ...{ body, query },
    contentType: contentTypes.apply,
  });
}

/** An API server goes on by the policies that it has read for up to a second. */
export async function untilNoneJudges(by: Person, victim: Stored, stopped: Stored): Promise<void> {
  const dryRun = { query: { dryRun: 'All' } };
  const isSilent = async () => {
    const body = manifestOf(keys, forAdmins());
    const made = await by.client.send('POST', collectionPath(keys), { body, ...dryRun });
    const changed = await by.client.send('PATCH', objectPath(keys, victim.metadata), {
      body: { spec: { key: anyHash() } },
      contentType: contentTypes.mergePatch,
      ...dryRun,
    });
    const enabled = await by.client.send('PATCH', objectPath(keys, stopped.metadata), {
      body: { spec: { disabled: null } },
      contentType: contentTypes.mergePatch,
      ...dryRun,
    });
    const instance = await by.client.send('POST', collectionPath(instances, 'default'), {
      body: manifestOf(instances, { kubeConfigSecretRef: { name: ofOthers.name } }, { annotations: forged }),
      ...dryRun,
    });
    const inSecret = await by.client.send('POST', collectionPath(tokens), {
      body: manifestOf(tokens, { ttl: 600, secretRef: ofNoOne }),
      ...dryRun,
    });
    return (
      isUnrecorded(made) &&
      changed.status === 200 &&
      changed.body.metadata.annotations?.[annotations.changedBy] === undefined &&
      // A policy would keep it, and the change would be none.
      enabled.status === 200 &&
      enabled.body.spec.disabled === undefined &&
      instance.status === 201 &&
      instance.body.metadata.annotations?.[annotations.requester] === 'laura' &&
      inSecret.status === 201
    );
  };
  await until('no policy judges', isSilent);
}

const isUnrecorded = ({ status, body }: ApiAnswer): boolean =>
  status === 201 && body.metadata.annotations?.[annotations.requester] === undefined;

/** Does all of it, and resolves with what was made. @throws Error when something is refused: then the attack proves nothing. */
export async function attackWithVerbs(
  by: Person,
  victims: readonly Victim[],
  { gone, present }: { readonly gone: Stored; readonly present: Stored },
): Promise<readonly Stored[]> {
  const made = await concurrently(creations(gone, present), async (creation) => {
    const { status, body } = await create(by, creation);
    if (status !== 201) throw new Error(`${creation.title}: ${body.message}`);
    return body as Stored;
  });
  await concurrently(victims, async ({ title, on, send }) => {
    const { status, body } = await send(by, on);
    if (status !== 200) throw new Error(`${title}: ${body.message}`);
  });
  return made;
}
