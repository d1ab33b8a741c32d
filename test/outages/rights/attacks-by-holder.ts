import { randomBytes } from 'node:crypto';
import { expect } from 'vitest';
import type { RunningGateway } from '../../../lab/gateway/running-gateway.ts';
import type { Api, Stored, Target } from '../../../lab/operator/api.ts';
import { uniqueName } from '../../../lab/operator/manifest.ts';
import { until } from '../../../lab/operator/until.ts';
import type { World } from '../../../lab/operator/world.ts';
import { annotations, apiVersion } from '../../../src/api/names.ts';
import { generateAccessKey } from '../../../src/credentials/keys/access-key.ts';
import { untilKnown } from '../../e2e/gateway/known-holder.ts';
import { type OwnAnswer, OwnClient, ownAPI, ownKeys, ownTokens } from '../../e2e/gateway/own-client.ts';
import { ofStanding, projectNamespace } from './attacks-on-targets.ts';
import { anyHash, forged } from './attacks-with-verbs.ts';

export type Holder = OwnClient & { readonly object: Stored };
type Way = World & { readonly gateway: RunningGateway };

/** Someone with a key of this spec, which the gateway knows. No right at the API server comes with it. */
export async function holderOf(world: Way, spec: object): Promise<Holder> {
  const key = generateAccessKey(randomBytes(32));
  const object = await world.admin.untilReady(await world.admin.createKey({ ...spec, key }));
  await untilKnown(world.gateway, key);
  return Object.assign(new OwnClient(world, key), { object });
}

const types = {
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
  apply: 'application/apply-patch+yaml',
};
const metadata = { annotations: forged };
const forAdmins = () => ({ user: 'root-of-all', groups: ['platform-admins'], key: anyHash() });

/** Each way to change a key of someone else. */
const strangers: Readonly<Record<string, (holder: Holder, on: Stored) => Promise<OwnAnswer>>> = {
  PUT: async (holder, { apiVersion: version, kind, metadata: old, spec }) =>
    await holder.send('PUT', placeOf(old.name), {
      body: {
        apiVersion: version,
        kind,
        metadata: { ...old, ...metadata },
        spec: { ...spec, key: anyHash() },
      },
    }),
  patch: async (holder, { metadata: { name } }) =>
    await holder.send('PATCH', placeOf(name), {
      type: types.merge,
      body: { metadata, spec: { ttl: 6_000 } },
    }),
  rotation: async (holder, { metadata: { name } }) =>
    await holder.send('PATCH', placeOf(name), {
      type: types.merge,
      body: { metadata: { annotations: { ...forged, [annotations.rotate]: 'now' } } },
    }),
  'end to being disabled': async (holder, { metadata: { name } }) =>
    await holder.send('PATCH', placeOf(name), { type: types.merge, body: { spec: { disabled: false } } }),
  apply: async (holder, { metadata: { name } }) =>
    await holder.send('PATCH', `${placeOf(name)}?fieldManager=me&force=true`, {
      type: types.apply,
      body: { apiVersion, kind: 'OwnedAccessKey', metadata: { name, ...metadata }, spec: { ttl: 6_000 } },
    }),
};

const placeOf = (name: string): string => `${ownKeys}/${name}`;

type Fields = Readonly<Record<string, unknown>>;

/** Off its own limits. */
const beyondLimits: readonly Fields[] = [
  { scope: null },
  { scope: { clusters: [{ cluster: '*' }] } },
  { ttl: 6_000 },
  { ttl: null },
  { ttl: 0 },
  { key: anyHash() },
];

/** Each way to set fields of the own key, and to take those away that are null. An apply takes none away that another one has set. */
const ownChanges: Readonly<Record<string, (holder: Holder, spec: Fields) => Promise<OwnAnswer>>> = {
  PUT: async (holder, spec) => {
    const { body } = await holder.send('GET', placeOfOwn(holder));
    const all = Object.entries({ ...body.spec, ...spec }).filter(([, value]) => value !== null);
    return await holder.send('PUT', placeOfOwn(holder), {
      body: { ...body, spec: Object.fromEntries(all) },
    });
  },
  'merge patch': async (holder, spec) =>
    await holder.send('PATCH', placeOfOwn(holder), { type: types.merge, body: { metadata, spec } }),
  'JSON patch': async (holder, spec) =>
    await holder.send('PATCH', placeOfOwn(holder), {
      type: types.json,
      body: Object.entries(spec).map(([field, value]) => ({
        path: `/spec/${field}`,
        ...(value === null ? { op: 'remove' } : { op: 'add', value }),
      })),
    }),
  apply: async (holder, spec) =>
    await holder.send('PATCH', `${placeOfOwn(holder)}?fieldManager=me&force=true`, {
      type: types.apply,
      body: { apiVersion, kind: 'OwnedAccessKey', metadata, spec },
    }),
};

const placeOfOwn = ({ object }: Holder): string => placeOf(object.metadata.name);

async function leaveNoLimits(limited: Holder): Promise<void> {
  for (const [way, change] of Object.entries(ownChanges))
    for (const spec of beyondLimits) {
      if (way === 'apply' && Object.values(spec).includes(null)) continue;
      const status = await until('there is no conflict', async () => {
        const answer = await change(limited, spec);
        return answer.status !== 409 && answer.status;
      });
      expect([way, spec, status]).toEqual([way, spec, 403]);
    }
}

export interface HolderAttack {
  /** A token of the holder. */
  readonly applied: Target;
  /** Objects that POSTs may have made. The gateway takes away those that the operator refuses at once. */
  readonly posted: readonly Target[];
  /** Answers that come when an operator has looked, or none has for long; that to the apply is the first one. */
  readonly answers: Promise<readonly OwnAnswer[]>;
}

/** Resolves when the API server has had all of it. `limited`: with a scope and an end. `victim`: a key of someone else. */
export async function attackByHolder(
  { admin }: World,
  { free, limited }: { readonly free: Holder; readonly limited: Holder },
  victim: Stored,
): Promise<HolderAttack> {
  for (const [way, change] of Object.entries(strangers))
    expect([way, (await change(free, victim)).status]).toEqual([way, 404]);
  await leaveNoLimits(limited);
  const instance = await free.send('POST', `${ownAPI}/namespaces/default/virtualclusterinstances`, {
    body: { metadata: { name: uniqueName('vc') }, spec: {} },
  });
  expect(instance.status).toBe(403);
  const [applied, token, key] = [newTarget(tokenKind), newTarget(tokenKind), newTarget('OwnedAccessKey')];
  const kubeConfig = newTarget('VirtualClusterInstanceKubeConfig', { namespace: projectNamespace });
  const sent = [
    [applied, apply(free, applied, { ttl: 600 })],
    [token, post(free, ownTokens, token, { ttl: 600 })],
    [key, post(free, ownKeys, key, forAdmins())],
    [kubeConfig, post(free, kubeConfigPlace, kubeConfig, ofStanding)],
  ] as const;
  const answers = Promise.all(sent.map(([, answer]) => answer));
  await Promise.all(sent.map(async ([target, answer]) => await untilThere(admin, target, answer)));
  return { applied, posted: [token, key, kubeConfig], answers };
}

const tokenKind = 'DirectClusterEndpointToken';
const kubeConfigPlace = `${ownAPI}/namespaces/${projectNamespace}/virtualclusterinstancekubeconfigs`;
const newTarget = (kind: string, place: object = {}): Target => ({
  kind,
  metadata: { name: uniqueName('held'), ...place },
});

const apply = async (holder: Holder, { kind, metadata: { name } }: Target, spec: object) =>
  await holder.send('PATCH', `${ownTokens}/${name}?fieldManager=me&force=true`, {
    type: types.apply,
    body: { apiVersion, kind, metadata: { name, ...metadata }, spec },
  });

const post = async (holder: Holder, place: string, { metadata: { name } }: Target, spec: object) =>
  await holder.send('POST', place, { body: { metadata: { name, ...metadata }, spec } });

/** An answer waits for the operator, and an object that is refused goes at once. */
async function untilThere(admin: Api, target: Target, answer: Promise<OwnAnswer>): Promise<void> {
  let isAnswered = false;
  const onAnswer = () => {
    isAnswered = true;
  };
  answer.then(onAnswer, onAnswer);
  await until('it is there', async () => isAnswered || (await admin.find(target)) !== undefined);
}
