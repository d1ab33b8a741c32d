import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ControlPlaneAccess } from '../../../lab/controlplane/access.ts';
import type { ControlPlane } from '../../../lab/controlplane/control-plane.ts';
import { RunningGateway } from '../../../lab/gateway/running-gateway.ts';
import { conditionOf, type Stored } from '../../../lab/operator/api.ts';
import { concurrently } from '../../../lab/operator/concurrently.ts';
import { startInstalled } from '../../../lab/operator/installed-plane.ts';
import { RunningOperator } from '../../../lab/operator/running-operator.ts';
import { healthOf } from '../../../lab/operator/telemetry.ts';
import { until } from '../../../lab/operator/until.ts';
import { operatorWorld, targetSettings, untilLeading, untilStandingBy } from '../../../lab/operator/world.ts';
import { WriteGate } from '../../../lab/operator/write-gate.ts';
import { annotations, group, systemNamespace, systemObjects } from '../../../src/api/names.ts';
import { reasons } from '../../../src/api/reasons.ts';
import { leases, ownedAccessKeys } from '../../../src/api/resources.ts';
import type { Lease } from '../../../src/kube/leader/lease.ts';
import { isNewerVersion } from '../../../src/kube/object.ts';
import { parsePoliciesSeen } from '../../../src/operator/admission/policies-seen.ts';
import { readPolicies } from '../../../src/operator/admission/policy-digest.ts';
import { give, introduce, type Person } from '../../e2e/rights/people.ts';
import { attackByHolder, type Holder, type HolderAttack, holderOf } from './attacks-by-holder.ts';
import {
  changeTargets,
  expectChangesRefused,
  expectNeverConnected,
  makeTargets,
  putBack,
  type StandingTarget,
} from './attacks-on-targets.ts';
import {
  anyHash,
  attackWithVerbs,
  expectNoSecrets,
  giveSecrets,
  makeVictims,
  untilNoneJudges,
  type Victim,
} from './attacks-with-verbs.ts';
import { type Disturbance, disturbances } from './disturbed-policies.ts';

const plane: ControlPlane = await startInstalled({ name: 'time-without-policies' });
afterAll(async () => await plane.stop());
// A standby takes over sooner.
const env = { ...targetSettings, LATCHKEY_LEASE_DURATION: '4s' };
const world = await operatorWorld({ plane, operator: false, clear: false });
const { admin } = world;
const gateway = await RunningGateway.start(plane, world.guard);
afterAll(async () => void (await gateway.end()));
const way = Object.assign(Object.create(world) as typeof world, { gateway });
const slow = { timeoutMs: 90_000 };

const use = { apiGroups: [group], resources: ['virtualclusterinstances'], verbs: ['use'] };

let vic: Person;
let mallory: Person;
let free: Holder;
let targets: readonly StandingTarget[];
let leader: RunningOperator;
/** Between some operators and the API server. */
const gate = await WriteGate.start(plane);
afterAll(async () => await gate.close());
const operators: RunningOperator[] = [];

async function start(access: ControlPlaneAccess = plane): Promise<RunningOperator> {
  const operator = await RunningOperator.start(access, world.guard, { name: world.name('operator'), env });
  operators.push(operator);
  return operator;
}

async function lead(access?: ControlPlaneAccess): Promise<void> {
  leader = await start(access);
  const leads = async () => (await healthOf(leader, '/readyz')).status === 200;
  await until('it leads and all policies are there', leads, slow);
  await untilLeading(leader);
}

beforeAll(async () => {
  [vic, mallory] = await Promise.all([introduce(world, 'vic'), introduce(world, 'mallory'), lead()]);
  await giveSecrets(world);
  for (const user of ['vic', 'carla']) await give(world, user, use);
  targets = await makeTargets(world);
  free = await holderOf(way, { user: 'carla' });
}, 120_000);
afterAll(async () => {
  for (const operator of operators) await operator.end();
});

const key = async (spec: object = {}): Promise<Stored> =>
  await admin.untilReady(
    await vic.create(ownedAccessKeys, { user: 'vic', ttl: 600, key: anyHash(), ...spec }),
  );

/** Until the Lease says that its holder has seen all of this: otherwise the next one may refuse it for being new. */
async function untilSeen(objects: readonly Stored[]): Promise<void> {
  const place = { namespace: systemNamespace, name: systemObjects.lease };
  let tooOld: string | undefined;
  const isSeen = async () => {
    const { metadata } = await admin.client.get<Lease>(leases, place);
    const says = metadata.annotations?.[annotations.policiesSeen];
    // The Lease says another thing every few seconds; objects only get newer meanwhile.
    if (says === tooOld) return false;
    const seen = parsePoliciesSeen(says);
    if (seen === undefined) return false;
    const stored = await concurrently(objects, async (object) => await admin.get(object));
    if (stored.some((object) => isNewerVersion(object.metadata.resourceVersion, seen.until))) {
      tooOld = says;
      return false;
    }
    return seen.digest === (await readPolicies(admin.client)).digest;
  };
  await until('the Lease says so', isSeen, slow);
}

interface OperatorState {
  readonly before: () => Promise<void>;
  readonly after: () => Promise<void>;
}

/** The operator beside a disturbance: who leads afterwards. */
const operatorStates: Readonly<Record<string, OperatorState>> = {
  'an operator runs': {
    before: async () => undefined,
    after: async () => await untilAllThere(),
  },
  'none runs': {
    before: async () => void (await leader.end('SIGTERM')),
    after: async () => await lead(),
  },
  'the leader is killed beside a standby': {
    before: async () => {
      const standby = await start();
      await untilStandingBy(standby);
      await leader.end('SIGKILL');
      leader = standby;
    },
    after: async () => await untilLeading(leader),
  },
};

const untilAllThere = async (): Promise<void> => {
  const isComplete = async () => (await healthOf(leader, '/readyz')).status === 200;
  await until('all policies are there', isComplete, slow);
};

const isAboutPolicies = (path: string): boolean => path.includes('/admissionregistration.k8s.io/');
const questionsAboutPolicies = (): number =>
  gate.requests.filter((request) => isAboutPolicies(request) && !request.includes('watch=')).length;

/** The watch of an object and those of the policies have no common order. */
const lateWatches: Readonly<Record<string, OperatorState>> = {
  'the watches of the policies are late': {
    before: async () => {
      await leader.end('SIGTERM');
      await lead(gate.access);
      gate.freezeWatches(isAboutPolicies);
    },
    after: async () => {
      const asked = questionsAboutPolicies();
      await until('it has asked in vain', async () => questionsAboutPolicies() > asked + 12, slow);
      gate.thawWatches();
      await untilAllThere();
    },
  },
  'the watches of the objects are late': {
    before: async () => {
      await leader.end('SIGTERM');
      await lead(gate.access);
      gate.freezeWatches((path) => !isAboutPolicies(path));
    },
    after: async () => {
      await untilAllThere();
      gate.thawWatches();
    },
  },
};

const [deleted = '', edited = ''] = Object.keys(disturbances);
const lateCells = [
  [edited, 'the watches of the policies are late'],
  [deleted, 'the watches of the objects are late'],
].map(([gap = '', state = '']) => ({
  ...{ gap, state },
  disturb: disturbances[gap] as Disturbance,
  ...(lateWatches[state] as OperatorState),
}));

const cells = Object.entries(disturbances).flatMap(([gap, disturb]) =>
  Object.entries(operatorStates).map(([state, times]) => ({ gap, state, disturb, ...times })),
);

/** Objects that are there before, and are to go on. */
interface Others {
  readonly untouched: Stored;
  readonly victim: Stored;
  readonly stopped: Stored;
  readonly deleted: Stored;
  readonly gone: Stored;
}

async function makeOthers(): Promise<Others> {
  const made = await concurrently([1, 2, 3, 4, 5], async () => await key());
  const [untouched, victim, stopped, deleted, gone] = made as [Stored, Stored, Stored, Stored, Stored];
  await admin.delete(gone);
  await admin.untilGone(gone);
  return { untouched, victim, stopped, deleted, gone };
}

interface Holders {
  readonly limited: Holder;
  /** Their keys are disabled before the time without policies, and in it. */
  readonly before: Holder;
  readonly meanwhile: Holder;
  /** Once the gateway refuses it, it knows of all that was changed before. */
  readonly marker: Holder;
}

async function makeHolders(): Promise<Holders> {
  const carla = { user: 'carla', ttl: 600 };
  const [limited, before, meanwhile, marker] = await Promise.all([
    holderOf(way, { ...carla, scope: { roles: [{ role: 'platform-cli' }] } }),
    holderOf(way, carla),
    holderOf(way, carla),
    holderOf(way, carla),
  ]);
  await admin.patch(before.object, { spec: { disabled: true } });
  await admin.untilRefused(before.object, reasons.disabled);
  return { limited, before, meanwhile, marker };
}

const answerTo = async (holder: Holder): Promise<number> =>
  (await holder.send('GET', '/kubernetes/management/version')).status;
const untilOut = async (holder: Holder): Promise<void> =>
  void (await until('the gateway refuses it', async () => (await answerTo(holder)) === 401));

/** An administrator disables one more, and a stranger enables both. The gateway goes on refusing them, whether or not an operator runs. */
async function enable({ before, meanwhile, marker }: Holders): Promise<void> {
  await admin.patch(meanwhile.object, { spec: { disabled: true } });
  await untilOut(meanwhile);
  for (const { object } of [before, meanwhile]) {
    const { status } = await mallory.patch(object, ownedAccessKeys, { spec: { disabled: false } });
    expect(status).toBe(200);
  }
  // One watch brings all keys in turn.
  await admin.patch(marker.object, { spec: { disabled: true } });
  await untilOut(marker);
  expect(await Promise.all([answerTo(before), answerTo(meanwhile)])).toEqual([401, 401]);
}

/** Fields that would be of use to someone. */
const given = ['credentialHash', 'token', 'kubeConfig', 'allowedNamespaces', 'confirmed'];

function expectNothing(status: unknown): void {
  for (const field of given) expect(status).not.toHaveProperty(field);
}

describe.each([...cells, ...lateCells])(
  'while the policies are $gap and $state',
  ({ disturb, before, after }) => {
    let made: readonly Stored[];
    let victims: readonly Victim[];
    let others: Others;
    let holders: Holders;
    let attack: HolderAttack;

    beforeAll(async () => {
      [victims, others, holders] = await Promise.all([makeVictims(world, vic), makeOthers(), makeHolders()]);
      const { gone: _, ...present } = others;
      await untilSeen([
        ...victims.map(({ on }) => on),
        ...Object.values(present),
        holders.before.object,
        ...targets.map(({ on }) => on),
      ]);
      await before();
      const bringBack = await disturb(admin.client);
      try {
        const stopped = victims.find(({ title }) => title === 'disabled taken back') as Victim;
        await untilNoneJudges(mallory, others.victim, stopped.on);
        attack = await attackByHolder(world, { free, limited: holders.limited }, others.victim);
        made = await attackWithVerbs(mallory, victims, { gone: others.gone, present: others.untouched });
        await changeTargets(mallory, targets);
        await enable(holders);
        await vic.patch(others.stopped, ownedAccessKeys, { spec: { disabled: true } });
        await admin.delete(others.deleted);
      } finally {
        await bringBack();
        await after();
      }
    }, 300_000);

    it('no one with verbs at the API server gets anything by what they make or change', async () => {
      const enabled = [holders.before.object, holders.meanwhile.object];
      const attacked = [...made, ...victims.map(({ on }) => on), ...enabled];
      await concurrently(attacked, async (object) => {
        const { status } = await admin.untilRefused(object, reasons.requesterUnknown, slow);
        expectNothing(status);
      });
      await expectNoSecrets(admin);
      await expectNeverConnected(admin, made);
      await expectChangesRefused(admin, targets);
    }, 150_000);

    it('nor does the holder of a key at the gateway', async () => {
      const { before: disabled, meanwhile, limited } = holders;
      const [applied, ...posts] = await attack.answers;
      expect(applied?.status).toBe(201);
      for (const { body } of posts) expectNothing(body.status);
      const kept = await admin.get(attack.applied);
      const left = await Promise.all(attack.posted.map(async (target) => await admin.find(target)));
      for (const object of [kept, ...left.filter((found) => found !== undefined)]) {
        expect(object.metadata.annotations).toMatchObject({ [annotations.requester]: 'carla' });
        expectNothing((await admin.untilRefused(object, reasons.requesterUnknown, slow)).status);
      }
      for (const holder of [disabled, meanwhile]) expect(await answerTo(holder)).toBe(401);
      expect(await answerTo(limited)).toBe(200);
    }, 150_000);

    it('all else works on, and what narrows has its effect', async () => {
      for (const object of [others.untouched, others.victim])
        expect(conditionOf(await admin.get(object))).toMatchObject({ status: 'True' });
      await admin.untilRefused(others.stopped, reasons.disabled, slow);
      await admin.untilGone(others.deleted, slow);
    }, 150_000);

    it('what its owner changes afterwards is right again', async () => {
      const longer = victims.find(({ title }) => title === 'a longer life') as Victim;
      await untilSeen([longer.on]);
      const isChanged = async () =>
        (await vic.patch(longer.on, ownedAccessKeys, { spec: { ttl: 500 } })).status === 200;
      await until('vic changes it', isChanged, slow);
      await admin.untilReady(longer.on, slow);
      await putBack(admin, targets);
    }, 150_000);
  },
);

describe('without a change of the policies', () => {
  it('a restart distrusts no one: what was made and changed meanwhile is confirmed', async () => {
    const changed = await key();
    await untilSeen([changed]);
    await leader.end('SIGTERM');
    const made = await vic.create(ownedAccessKeys, { user: 'vic', ttl: 600, key: anyHash() });
    await vic.patch(changed, ownedAccessKeys, { spec: { ttl: 6_000 } });
    await lead();
    await admin.untilReady(made, slow);
    await admin.until(changed, 'confirmed', ({ status }) => status.confirmedTTL === 6_000, slow);
    await admin.untilReady(changed, slow);
  }, 150_000);

  it('a Lease that is deleted makes no one believe what was made meanwhile', async () => {
    const present = await key();
    await untilSeen([present]);
    await leader.end('SIGTERM');
    const made = await vic.create(ownedAccessKeys, { user: 'vic', ttl: 600, key: anyHash() });
    await admin.client.delete(leases, { namespace: systemNamespace, name: systemObjects.lease });
    await lead();
    await admin.untilRefused(made, reasons.requesterUnknown, slow);
    expect(conditionOf(await admin.get(present))).toMatchObject({ status: 'True' });
  }, 150_000);
});
