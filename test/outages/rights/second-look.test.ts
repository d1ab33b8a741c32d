import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Stored } from '../../../lab/operator/api.ts';
import { concurrently } from '../../../lab/operator/concurrently.ts';
import { startInstalled } from '../../../lab/operator/installed-plane.ts';
import { metricOf } from '../../../lab/operator/telemetry.ts';
import { sharedVirtualCluster } from '../../../lab/operator/virtual-cluster.ts';
import { operatorWorld, targetSettings } from '../../../lab/operator/world.ts';
import { annotations } from '../../../src/api/names.ts';
import {
  directClusterEndpointTokens,
  ownedAccessKeys,
  type Resource,
  virtualClusterInstanceKubeConfigs,
} from '../../../src/api/resources.ts';
import { give, impersonate, introduce, type Person } from '../../e2e/rights/people.ts';
import {
  type Attempt,
  bindingsOf,
  casesOf,
  expectJustice,
  forged,
  forgedChange,
  isPlain,
  type Made,
  stamps,
  type Trial,
  whileAway,
} from './crowd.ts';
import { type KubeConfigTrial, kubeConfigTrial } from './kubeconfig-trial.ts';
import type { Piece } from './policies-away.ts';

const [plane, cluster] = await Promise.all([startInstalled({ name: 'second-look' }), sharedVirtualCluster()]);
afterAll(async () => await plane.stop());
// It is thousands of objects.
const world = await operatorWorld({ plane, clear: false, env: targetSettings });
const { admin } = world;
let kubeConfigs: KubeConfigTrial;

/** One for each set of verbs on instances, see `kubeConfigTrial`. */
const strangers = ['stranger-0', 'stranger-1', 'stranger-2'];
const [maker = '', holder = ''] = strangers;
const people = new Map<string, Person>();
beforeAll(async () => {
  await Promise.all(strangers.map(async (name) => void people.set(name, await introduce(world, name))));
});
const personOf = (name: string): Person => {
  const person = people.get(name);
  if (person === undefined) throw new Error(`no one is called ${name}`);
  return person;
};

/** Their keys say whose they are: the policy that stamps would say it for them, and without it the schema refuses the key. */
const naming = (user: string, resource: Resource, spec: object): object =>
  resource !== ownedAccessKeys || 'user' in spec || 'team' in spec ? spec : { user, ...spec };

const secretRef = { namespace: 'kube-system', name: 'out' };

/** The first two are everyone's right; the policies refuse the others, or stamp them otherwise. */
const attempts: readonly Attempt[] = [
  [ownedAccessKeys, { ttl: 600 }, {}],
  [directClusterEndpointTokens, { ttl: 600 }, {}],
  [ownedAccessKeys, { user: 'bob', ttl: 600 }, {}],
  [ownedAccessKeys, { user: 'bob', ttl: 600 }, forged],
  [ownedAccessKeys, { team: 'ops', ttl: 600, scope: {} }, {}],
  [ownedAccessKeys, { groups: ['ops'], ttl: 600, scope: {} }, {}],
  [ownedAccessKeys, { ttl: 600, secretRef }, {}],
  [directClusterEndpointTokens, { ttl: 600 }, forged],
  [directClusterEndpointTokens, { ttl: 600, secretRef }, forged],
];

const widened = { groups: ['ops'], scope: {} };

/** Adds what no one else refuses where these are away. */
async function attemptsWithout(away: readonly Piece[]): Promise<readonly Attempt[]> {
  const isAway = (name: string) => away.some((piece) => piece.name === name);
  const { metadata } = await admin.get({ kind: 'Namespace', metadata: { name: 'kube-system' } });
  const owner = { apiVersion: 'v1', kind: 'Namespace', name: metadata.name, uid: metadata.uid };
  const ownerReferences = [{ ...owner, blockOwnerDeletion: true }];
  return [
    ...attempts,
    ...(isAway('latchkey-owner-references')
      ? [[ownedAccessKeys, { ttl: 600 }, { ownerReferences }] as const]
      : []),
  ];
}

const isKubeConfig = ({ object }: Made): boolean => object.kind === virtualClusterInstanceKubeConfigs.kind;

/** Whether the maker may have it: it is for themselves and nothing else, and they may use the instance that it leads to. */
function mayHave(made: Made): boolean {
  if (isKubeConfig(made)) return isPlain(made) && kubeConfigs.mayUse(made);
  const { by, object } = made;
  const { user = by, groups, team } = object.spec;
  return isPlain(made) && user === by && groups === undefined && team === undefined;
}

/** Tells objects that each of these policies refuses, and those with another requester record than the policies write. */
const refused: Readonly<Record<string, (made: Made) => boolean>> = {
  stamps: ({ by, object: { metadata } }) => metadata.annotations?.[annotations.requester] !== by,
  'latchkey-delegation': ({ by, object: { spec } }) =>
    (spec.user ?? by) !== by || spec.team !== undefined || spec.groups !== undefined,
  'latchkey-secret-reference': ({ object: { spec } }) => spec.secretRef !== undefined,
  'latchkey-owner-references': ({ object: { metadata } }) => metadata.ownerReferences !== undefined,
};

/** By the policies that refuse it. `victim`: a token of the first, which the others try to change. */
async function letIn(made: readonly Made[], victim: Stored): Promise<readonly string[]> {
  const { spec } = await admin.get(victim);
  const stored = Object.entries(refused).filter(([, isRefused]) => made.some(isRefused));
  const names = stored.map(([name]) => name);
  return spec.ttl === victim.spec.ttl ? names : [...names, 'latchkey-ownership'];
}

/** Two policies stamp, and either does for both. Of the two of ownership one judges those who may get the object. */
function expectedWithout(away: readonly Piece[]): readonly string[] {
  const isAway = (name: string) => away.some((piece) => piece.name === name);
  const isUnowned = away.some(
    ({ kind, name }) => kind.startsWith('Validating') && name === 'latchkey-ownership',
  );
  return [
    ...(stamps.every((piece) => away.includes(piece)) ? ['stamps'] : []),
    ...Object.keys(refused).filter(isAway),
    ...(isUnowned ? ['latchkey-ownership'] : []),
  ];
}

async function keyTrial(away: readonly Piece[], victim: Stored): Promise<Trial> {
  const tryCreate: Trial['tryCreate'] = async (person, name, [resource, spec, metadata]) =>
    await person.tryCreate(resource, naming(name, resource, spec), metadata);
  return {
    attempts: await attemptsWithout(away),
    tryCreate,
    own: async (person, user) => ({
      by: user,
      object: await person.create(ownedAccessKeys, { user, ttl: 600 }),
    }),
    widen: async (person, own) => {
      await person.patch(own, ownedAccessKeys, { metadata: forgedChange, spec: widened });
      if (person !== people.get(maker))
        await person.patch(victim, directClusterEndpointTokens, { spec: { ttl: 500 } });
    },
  };
}

const cases = [
  ...casesOf([
    ['latchkey-delegation', 'latchkey-secret-reference', 'latchkey-owner-references'],
    ['latchkey-ownership'],
  ]),
  { title: 'the stamps', away: stamps },
  { title: 'both policies of ownership', away: bindingsOf('latchkey-ownership') },
];

describe('what is confirmed', () => {
  it('goes on when its creator loses the rights and the owner narrows the scope', async () => {
    const right = await give(world, maker, impersonate('users', holder));
    const key = await admin.untilReady(
      await personOf(maker).create(ownedAccessKeys, { user: holder, ttl: 600 }),
    );
    await right.take();
    const narrower = { spec: { scope: { clusters: [{ cluster: 'a' }] } } };
    expect(await personOf(holder).patch(key, ownedAccessKeys, narrower)).toMatchObject({ status: 200 });
    await admin.until(
      key,
      'confirmed',
      ({ status, metadata }) => status.observedGeneration === metadata.generation,
    );
    await admin.untilReady(key);
  });

  it('costs no question about a key of your own, and some about one for someone else', async () => {
    await give(world, maker, impersonate('users', holder));
    const series = 'latchkey_client_requests_total{verb="POST",resource="subjectaccessreviews",code="201"}';
    const asked = async () => await metricOf(world.operator, series);
    const before = await asked();
    const make = async (user: string) =>
      await admin.untilReady(await personOf(maker).create(ownedAccessKeys, { user, ttl: 600 }));
    for (let count = 0; count < 5; count++) await make(maker);
    expect(await asked()).toBe(before);
    await make(holder);
    expect(await asked()).toBeGreaterThan(before);
  });

  it('are keys that were made while the operator was away, or restarts', async () => {
    const everyoneMakes = async () =>
      await Promise.all(strangers.map((user) => personOf(user).create(ownedAccessKeys, { user, ttl: 600 })));
    await world.killOperator();
    const made = await everyoneMakes();
    await world.startOperator();
    made.push(...(await everyoneMakes()));
    await concurrently(made, async (key) => void (await admin.untilReady(key, { timeoutMs: 90_000 })));
  });
});

describe('while three users try', () => {
  beforeAll(async () => {
    kubeConfigs = await kubeConfigTrial(world, cluster, strangers);
  });

  it.each(cases)(
    'nothing is confirmed that the policies would refuse, without $title',
    async ({ away }) => {
      const victim = await personOf(maker).create(directClusterEndpointTokens, { ttl: 600 });
      const trials = [await keyTrial(away, victim), kubeConfigs];
      const made = await whileAway(away, { world, people, trials });
      const expected = expectedWithout(away);
      // An API server acts on the policy that the case before has brought back only a moment later.
      expect(await letIn(made, victim)).toEqual(
        expected.length === 0 ? expected : expect.arrayContaining([...expected]),
      );
      await expectJustice(world, [...made, { by: maker, object: victim }], mayHave);
    },
    180_000,
  );
});
