import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ControlPlane } from '../../../lab/controlplane/control-plane.ts';
import type { Stored } from '../../../lab/operator/api.ts';
import { startInstalled } from '../../../lab/operator/installed-plane.ts';
import { manifestOf } from '../../../lab/operator/manifest.ts';
import { healthOf } from '../../../lab/operator/telemetry.ts';
import { until } from '../../../lab/operator/until.ts';
import { operatorWorld } from '../../../lab/operator/world.ts';
import { annotations } from '../../../src/api/names.ts';
import { reasons } from '../../../src/api/reasons.ts';
import { directClusterEndpointTokens, ownedAccessKeys, type Resource } from '../../../src/api/resources.ts';
import { collectionPath, objectPath } from '../../../src/kube/resource-path.ts';
import { shippedPolicies } from '../../../src/operator/admission/generated/shipped-policies.ts';
import {
  type ApiAnswer,
  type ApiClient,
  adminClient,
  contentTypes,
} from '../../integration/admission/api-client.ts';
import { takeAway } from './policies-away.ts';

const plane: ControlPlane = await startInstalled({ name: 'beyond-limits' });
afterAll(async () => await plane.stop());
const world = await operatorWorld({ plane });
const { admin } = world;
const master = await adminClient(plane);
afterAll(async () => await master.close());

const extra = 'impersonate-extra-management.platform.sh%2Faccess-key';
/** Alice without a credential of ours. She may do everything, so that no role stands in the way of an attack. */
const alice = master.withHeaders({ 'impersonate-user': 'alice', 'impersonate-group': 'system:masters' });

/** Alice as the gateway sends her on when she comes with this credential, which its end, scope or parent limits. */
const limitedTo = ({ metadata: { name, uid } }: Stored): ApiClient =>
  alice.withHeaders({ [extra]: `${name}/${uid}`, [`${extra}-limited`]: 'true' });

const resourceOf = ({ kind }: Stored): Resource =>
  kind === ownedAccessKeys.kind ? ownedAccessKeys : directClusterEndpointTokens;

const patch = async (client: ApiClient, object: Stored, spec: object): Promise<ApiAnswer> =>
  await client.send('PATCH', objectPath(resourceOf(object), object.metadata), {
    body: { spec },
    contentType: contentTypes.mergePatch,
  });

async function createAs(client: ApiClient, resource: Resource, spec: object): Promise<Stored> {
  const body = manifestOf(resource, spec);
  const answer = await client.send('POST', collectionPath(resource, body.metadata.namespace), { body });
  expect(answer).toMatchObject({ status: 201 });
  return admin.track(answer.body);
}

const make = async (spec: object, resource: Resource = ownedAccessKeys): Promise<Stored> =>
  await admin.untilReady(await createAs(alice, resource, spec));

const scope = { roles: [{ role: 'platform-cli' }] };
const limits = { user: 'alice', ttl: 600, scope };
const unlimited = { user: 'alice', ttl: 600 };
const known = 'a-key-that-the-thief-knows-by-heart';
const unknown = 'a-key-that-no-thief-has-ever-seen';
const judging = shippedPolicies.filter(
  ({ kind, name }) => name === 'latchkey-ownership' && kind.endsWith('Binding'),
);
const mark = ({ metadata }: Stored): string | undefined =>
  metadata.annotations?.[annotations.changedBeyondLimits];

/** A change with a credential, and how it is set right again. */
interface Attack {
  readonly with: Stored;
  readonly on: Stored;
  readonly spec: object;
  readonly remedy: object;
}

interface Victims {
  /** Has a scope of its own, and `below` is below it. */
  readonly above: Stored;
  readonly below: Stored;
  readonly own: Stored;
  readonly attacks: readonly Attack[];
}

async function makeVictims(): Promise<Victims> {
  const above = await make(limits);
  const below = await make({ accessKey: above.metadata.name, ttl: 600 });
  const own = await make(limits);
  const long = await make(limits);
  const token = await make({ ttl: 600, scope }, directClusterEndpointTokens);
  const short = await make({ user: 'alice', ttl: 600 });
  const child = await make({ accessKey: short.metadata.name, ttl: 300 });
  const [other, open, stopped] = [await make(unlimited), await make(unlimited), await make(unlimited)];
  await patch(alice, stopped, { disabled: true });
  const attacks = [
    { with: own, on: own, spec: { scope: null }, remedy: { scope } },
    { with: below, on: above, spec: { scope: null }, remedy: { scope } },
    { with: token, on: token, spec: { scope: null }, remedy: { scope } },
    { with: long, on: long, spec: { ttl: 6_000 }, remedy: { ttl: 600 } },
    { with: short, on: short, spec: { ttl: 6_000 }, remedy: { ttl: 600 } },
    { with: child, on: child, spec: { ttl: 6_000 }, remedy: { ttl: 300 } },
    { with: below, on: other, spec: { key: known }, remedy: { key: unknown } },
    { with: below, on: open, spec: { allowedNamespaces: ['theirs'] }, remedy: { allowedNamespaces: [] } },
    { with: below, on: stopped, spec: { disabled: false }, remedy: { ttl: 500 } },
  ];
  return { above, below, own, attacks };
}

/** Makes objects with a credential that has no scope by its own hand alone, or whose parent has none. */
const makeHeirs = async ({ own, below }: Victims): Promise<readonly Stored[]> => [
  await createAs(limitedTo(own), ownedAccessKeys, unlimited),
  await createAs(limitedTo(own), directClusterEndpointTokens, { ttl: 600 }),
  await createAs(limitedTo(below), ownedAccessKeys, unlimited),
];

describe('while no policy says what a limited credential may change', () => {
  let victims: Victims;
  let heirs: readonly Stored[];
  let permitted: Stored;
  let leaver: Stored;

  beforeAll(async () => {
    victims = await makeVictims();
    const parent = await make(limits);
    permitted = await make({ accessKey: parent.metadata.name, ttl: 600 });
    leaver = await make(limits);
    const bringBack = await takeAway(admin.client, judging);
    for (const { with: credential, on, spec } of victims.attacks) {
      // An API server goes on by the policies that it has read for up to a second.
      const succeeds = async () => (await patch(limitedTo(credential), on, spec)).status === 200;
      await until('no policy refuses it', succeeds);
    }
    // For the gateway it is limited a moment longer than its spec says.
    await expectDone(limitedTo(victims.own), victims.own, { ttl: 500 });
    heirs = await makeHeirs(victims);
    await expectDone(limitedTo(parent), permitted, { ttl: 300 });
    await expectDone(limitedTo(leaver), leaver, { disabled: true });
    await bringBack();
    const isComplete = async () => (await healthOf(world.operator, '/readyz')).status === 200;
    await until('all policies are there', isComplete, { timeoutMs: 90_000 });
  }, 60_000);

  it('nothing that it makes with the limits off is confirmed', async () => {
    for (const heir of heirs) {
      const { status } = await admin.untilRefused(heir, reasons.requesterUnknown);
      expect(status).not.toHaveProperty('credentialHash');
    }
  });

  it('nothing that it changes beyond its limits is confirmed, until someone else changes it', async () => {
    for (const { with: credential, on, remedy } of victims.attacks) {
      const seen = await admin.untilRefused(on, reasons.changedBeyondLimits);
      expect(mark(seen)).toBe(`${credential.metadata.name}/${credential.metadata.uid}`);
      expect(seen.status).not.toHaveProperty('credentialHash');
      expect(seen.status.fingerprint).toBe(on.status.fingerprint);
      await expectDone(alice, on, { displayName: 'mine' });
      expect(mark(await admin.get(on))).toBe(mark(seen));
      await expectDone(alice, on, remedy);
      expect(mark(await admin.untilReady(on))).toBeUndefined();
    }
  });

  it('it changes its children', async () => {
    const seen = await admin.untilReady(permitted);
    expect(mark(seen)).toBeUndefined();
    expect(seen.spec.ttl).toBe(300);
  });

  it('it disables itself', async () => {
    expect(mark(await admin.untilRefused(leaver, reasons.disabled))).toBeUndefined();
  });
});

async function expectDone(client: ApiClient, object: Stored, spec: object): Promise<void> {
  expect(await patch(client, object, spec)).toMatchObject({ status: 200 });
}
