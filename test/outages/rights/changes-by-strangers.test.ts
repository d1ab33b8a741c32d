import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ControlPlane } from '../../../lab/controlplane/control-plane.ts';
import type { Stored } from '../../../lab/operator/api.ts';
import { startInstalled } from '../../../lab/operator/installed-plane.ts';
import { healthOf } from '../../../lab/operator/telemetry.ts';
import { until } from '../../../lab/operator/until.ts';
import { operatorWorld } from '../../../lab/operator/world.ts';
import { annotations } from '../../../src/api/names.ts';
import { reasons } from '../../../src/api/reasons.ts';
import {
  directClusterEndpointTokens,
  namespaces,
  ownedAccessKeys,
  type Resource,
} from '../../../src/api/resources.ts';
import { shippedPolicies } from '../../../src/operator/admission/generated/shipped-policies.ts';
import { give, impersonate, introduce, type Person } from '../../e2e/rights/people.ts';
import { takeAway } from './policies-away.ts';

const plane: ControlPlane = await startInstalled({ name: 'changes-by-strangers' });
afterAll(async () => await plane.stop());
const world = await operatorWorld({ plane });
const { admin } = world;

/** Either of them alone refuses most of it. */
const judging = ['latchkey-ownership', 'latchkey-delegation'];
const bindingsOf = (names: readonly string[]) =>
  shippedPolicies.filter(({ kind, name }) => names.includes(name) && kind.endsWith('Binding'));
const resourceOf = ({ kind }: Stored): Resource =>
  kind === ownedAccessKeys.kind ? ownedAccessKeys : directClusterEndpointTokens;

/** A stranger's change to an object of Alice. None changes what the fingerprint covers. */
interface Attack {
  readonly title: string;
  readonly on: Stored;
  readonly change: object;
}

const rotation = { metadata: { annotations: { [annotations.rotate]: 'now' } } };
const opening = {
  title: 'opens the key to a namespace',
  change: { spec: { allowedNamespaces: ['theirs'] } },
};

async function attacksOn(alice: Person, team: Person): Promise<readonly Attack[]> {
  const key = async (spec: object = {}) =>
    await admin.untilReady(await alice.create(ownedAccessKeys, { user: 'alice', ttl: 600, ...spec }));
  const token = async () =>
    await admin.untilReady(await alice.create(directClusterEndpointTokens, { ttl: 600 }));
  const stopped = await key();
  await alice.patch(stopped, ownedAccessKeys, { spec: { disabled: true } });
  const ofTeam = await team.create(ownedAccessKeys, { team: 'ops', scope: {}, ttl: 600 });
  return [
    { ...opening, on: await key() },
    { title: 'has the key live longer', on: await key(), change: { spec: { ttl: 6_000 } } },
    { title: 'has the key live for ever', on: await key(), change: { spec: { ttl: 0 } } },
    { title: 'has the token live longer', on: await token(), change: { spec: { ttl: 6_000 } } },
    { title: 'enables what was stopped', on: stopped, change: { spec: { disabled: false } } },
    {
      title: 'has the key of a team live longer',
      on: await admin.untilReady(ofTeam),
      change: { spec: { ttl: 6_000 } },
    },
    { title: 'has the key made again', on: await key(), change: rotation },
    { title: 'has the token made again', on: await token(), change: rotation },
  ];
}

let alice: Person;
let maker: Person;
let mallory: Person;

beforeAll(async () => {
  await give(world, 'maker', impersonate('users', 'team:ops', 'alice'));
  await give(world, 'maker', impersonate('groups', 'team:ops'));
  alice = await introduce(world, 'alice');
  maker = await introduce(world, 'maker');
  mallory = await introduce(world, 'mallory');
  const metadata = { name: 'theirs' };
  await admin.createObject(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata });
});

/** An API server goes on by the policies that it has read for up to a second. */
async function untilDone(attack: Attack): Promise<void> {
  const { on, change, title } = attack;
  const succeeds = async () => (await mallory.patch(on, resourceOf(on), change)).status === 200;
  await until(`no policy refuses that a stranger ${title}`, succeeds);
}

async function untilComplete(): Promise<void> {
  const isComplete = async () => (await healthOf(world.operator, '/readyz')).status === 200;
  await until('all policies are there', isComplete, { timeoutMs: 90_000 });
}

describe('while no policy says who may change a credential', () => {
  let attacks: readonly Attack[];
  let permitted: readonly Stored[];

  beforeAll(async () => {
    attacks = await attacksOn(alice, maker);
    const make = async () =>
      await admin.untilReady(await maker.create(ownedAccessKeys, { user: 'alice', ttl: 600 }));
    const [forAlice, byMaker] = [await make(), await make()];
    permitted = [forAlice, byMaker];
    const bringBack = await takeAway(admin.client, bindingsOf(judging));
    for (const attack of attacks) await untilDone(attack);
    await alice.patch(forAlice, ownedAccessKeys, { spec: { ttl: 500 } });
    await maker.patch(byMaker, ownedAccessKeys, { spec: { ttl: 500 } });
    await bringBack();
    await untilComplete();
  }, 180_000);

  it('nothing that a stranger changes is confirmed, until its creator changes it', async () => {
    for (const { title, on } of attacks) {
      const seen = await admin.untilRefused(on, reasons.changeNotAllowed);
      expect(seen.metadata.annotations?.[annotations.changedBy], title).toBe('mallory');
      expect(seen.status, title).not.toHaveProperty('credentialHash');
      expect(seen.status, title).not.toHaveProperty('allowedNamespaces');
      const creator = on.spec.team === undefined ? alice : maker;
      const remedy = { ttl: 300, ...(seen.spec.allowedNamespaces && { allowedNamespaces: [] }) };
      expect(await creator.patch(on, resourceOf(on), { spec: remedy }), title).toMatchObject({ status: 200 });
      await admin.untilReady(on);
    }
  });

  it('what its user or its creator changes is', async () => {
    for (const object of permitted) expect((await admin.untilReady(object)).spec.ttl).toBe(500);
  });
});

describe('while only the policies that judge the result are away', () => {
  it('a stranger who may read a token has no other made', async () => {
    const token = await admin.untilReady(await alice.create(directClusterEndpointTokens, { ttl: 600 }));
    const validating = bindingsOf(judging).filter(({ kind }) => kind.startsWith('Validating'));
    const bringBack = await takeAway(admin.client, validating);
    await untilDone({ title: 'has the token made again', on: token, change: rotation });
    await bringBack();
    await untilComplete();
    const seen = await admin.untilRefused(token, reasons.changeNotAllowed);
    expect(seen.metadata.annotations?.[annotations.changedBy]).toBe('mallory');
    expect(seen.status).not.toHaveProperty('credentialHash');
  }, 180_000);
});
