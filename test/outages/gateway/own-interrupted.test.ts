import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { RunningGateway } from '../../../lab/gateway/running-gateway.ts';
import type { Stored } from '../../../lab/operator/api.ts';
import { RunningOperator } from '../../../lab/operator/running-operator.ts';
import { until } from '../../../lab/operator/until.ts';
import { sharedVirtualCluster } from '../../../lab/operator/virtual-cluster.ts';
import { targetSettings, untilLeading } from '../../../lab/operator/world.ts';
import { type Fate, WriteGate } from '../../../lab/operator/write-gate.ts';
import { labels } from '../../../src/api/names.ts';
import { credentialResources } from '../../../src/api/resources.ts';
import { gatewayWorld } from '../../e2e/gateway/gateway-world.ts';
import { untilKnown } from '../../e2e/gateway/known-holder.ts';
import {
  credential,
  management,
  type OwnAnswer,
  OwnClient,
  ownAPI,
  ownClient,
  ownKeys,
  ownTokens,
} from '../../e2e/gateway/own-client.ts';
import { Project, readingOf } from '../../e2e/kubeconfigs/kubeconfig-world.ts';
import { FragileOperator } from '../availability/fragile-operator.ts';

const env = { LATCHKEY_TARGET_ADDRESSES: '127.0.0.0/8' };
const world = await gatewayWorld(env, targetSettings);
const { admin } = world;
const gate = await WriteGate.start(world.plane);
afterAll(async () => await gate.close());
const project = await Project.ready(world, await sharedVirtualCluster());
const { namespace } = project;
const instance = project.instance.metadata.name;
/** Through the replica that lives on. */
const owner = await ownClient(world, { user: 'alice' });
const kubeConfigs = `${ownAPI}/namespaces/${namespace}/virtualclusterinstancekubeconfigs`;
const ofInstance = `${ownAPI}/namespaces/${namespace}/virtualclusterinstances/${instance}/kubeconfig`;
const forInstance = { virtualClusterInstance: instance, certificateTTL: 600 };

/** Where it is posted, its spec, and how the name of the object begins. */
const creates = [
  [ownKeys, { ttl: 600 }, 'key-'],
  [ownTokens, { ttl: 600 }, 'token-'],
  [kubeConfigs, forInstance, 'kubeconfig-'],
  [ofInstance, {}, `${instance}-`],
] as const;
const ownPlurals = new Set(Object.values(credentialResources).map(({ plural }) => plural));
const placeOf = ({ kind, metadata }: Stored): string =>
  `${{ OwnedAccessKey: ownKeys, DirectClusterEndpointToken: ownTokens }[kind ?? ''] ?? kubeConfigs}/${metadata.name}`;

afterEach(() => {
  gate.judge = () => 'pass';
  gate.onFailing = () => undefined;
  gate.thawWatches();
});

/** All credentials that the API server has. */
async function stored(): Promise<readonly Stored[]> {
  const lists = Object.values(credentialResources).map(async ({ kind, ...resource }) => {
    const { items } = await admin.client.list<Stored>({ ...resource, kind });
    return items.map((item) => ({ ...item, kind }));
  });
  return (await Promise.all(lists)).flat();
}

/** Lists objects that were not there before. */
async function newSince(before: readonly Stored[]): Promise<readonly Stored[]> {
  const known = new Set(before.map(({ metadata }) => metadata.uid));
  return (await stored()).filter(({ metadata }) => !known.has(metadata.uid));
}

const untilAllAreThere = async (before: readonly Stored[]): Promise<readonly Stored[]> =>
  await until('all are there', async () => {
    const found = await newSince(before);
    return found.length === creates.length && found;
  });

/** A replica behind the gate, which is going to die. */
async function mortalReplica(): Promise<RunningGateway> {
  const name = world.name('mortal');
  const replica = await RunningGateway.start(gate.access, world.guard, { name, env });
  await untilKnown(replica, owner.key);
  return replica;
}

/** Before its clients leave, which it would notice. */
async function kill(replica: RunningGateway): Promise<void> {
  process.kill(replica.process.pid, 'SIGKILL');
  await replica.process.exited;
  await replica.end();
}

/** One POST of each kind, through a replica that dies before it answers any. */
async function postInVain(replica: RunningGateway): Promise<void> {
  const client = new OwnClient({ gateway: replica, admin }, owner.key);
  const post = async ([place, spec]: (typeof creates)[number]) =>
    await client.send('POST', place, { body: { spec } }).catch(() => 'cut');
  expect(await Promise.all(creates.map(post))).toEqual(creates.map(() => 'cut'));
}

/** The same, and it dies as soon as each of them has come to this. */
async function postUntil(fate: Exclude<Fate, 'pass'>): Promise<void> {
  const replica = await mortalReplica();
  let reached = 0;
  gate.judge = ({ method, plural }) => (method === 'POST' && ownPlurals.has(plural) ? fate : 'pass');
  gate.onFailing = async () => {
    reached += 1;
    await (reached === creates.length ? kill(replica) : replica.process.exited);
  };
  await postInVain(replica);
  await gate.settled();
  expect(reached).toBe(creates.length);
}

const inside = `/kubernetes/project/${project.name}/virtualcluster/${instance}/api/v1/namespaces/default`;

/** Finds the path that the object opens here, and the secret for it; undefined where only its hash is there. */
function openingOf({ kind, spec, status }: Stored): readonly [path: string, secret: string] | undefined {
  if (kind === 'OwnedAccessKey')
    return spec.key.startsWith('sha256:') ? undefined : [`${management}/version`, spec.key];
  return status?.kubeConfig && [inside, readingOf(status.kubeConfig).token ?? ''];
}

/** A token is for other servers. */
async function untilOpens(object: Stored, expected: 200 | 401): Promise<void> {
  const opening = openingOf(object);
  if (opening === undefined) return;
  const [path, secret] = opening;
  const status = async () => (await new OwnClient(world, secret).send('GET', path)).status;
  await until(`${object.kind}: ${expected}`, async () => (await status()) === expected, { seen: status });
}

/** Its owner sees it, no one gets its credential, it goes by itself some time after its end, and at once by a DELETE. */
async function expectToBeInOwnHands(left: Stored): Promise<void> {
  const ready = await admin.untilReady(left);
  expect(ready.metadata.labels).toMatchObject({ [labels.ephemeral]: 'true' });
  await untilOpens(ready, 200);
  const read = await until('its owner sees it', async () => {
    const answer = await owner.send('GET', placeOf(left));
    return answer.status === 200 && answer;
  });
  expect(read.text).not.toMatch(credential);
  expect((await owner.send('DELETE', placeOf(left))).status).toBe(200);
  await admin.untilGone(left);
  await untilOpens(ready, 401);
}

describe('a replica that dies while it makes credentials', () => {
  it('leaves nothing that the API server has not', async () => {
    const before = await stored();
    await postUntil('lost');
    expect(await newSince(before)).toEqual([]);
  });

  it('without the answers of the API server leaves what its owner finds and deletes', async () => {
    const before = await stored();
    await postUntil('unanswered');
    await Promise.all((await untilAllAreThere(before)).map(expectToBeInOwnHands));
  });

  it('while it waits for the operator leaves what its owner finds and deletes', async () => {
    const before = await stored();
    const replica = await mortalReplica();
    gate.freezeWatches();
    const posted = postInVain(replica);
    const left = await untilAllAreThere(before);
    await kill(replica);
    await posted;
    await Promise.all(left.map(expectToBeInOwnHands));
  });
});

/** Of the gateway to a POST that its client waited for. */
const warningOf = ({ headers }: OwnAnswer): string => String(headers['warning']);
const notYet = 'the credential does not work yet: the operator has not confirmed it yet';

describe('a POST of a credential', () => {
  it('is answered with one that works when the operator dies in its midst and another one leads', async () => {
    const before = await stored();
    await world.killOperator();
    const mortal = new FragileOperator(world, gate, targetSettings);
    await mortal.start();
    const name = world.name('standby');
    // Its start would count as time that the clients wait.
    const standby = await RunningOperator.start(world.plane, world.guard, { name, env: targetSettings });
    const death = mortal.die(
      creates.map(([, , prefix], index) => ({
        isMeant: ({ subresource, name: of }) => subresource === 'status' && of.startsWith(prefix),
        nth: 1,
        fate: index % 2 === 0 ? 'lost' : 'unanswered',
      })),
    );
    const posted = creates.map(async ([place, spec]) => await owner.send('POST', place, { body: { spec } }));
    try {
      await death;
      await untilLeading(standby);
      for (const answer of await Promise.all(posted)) {
        expect([200, 201]).toContain(answer.status);
        // A slow machine may be too late for a key and a token.
        const hasIt = answer.body.kind === 'OwnedAccessKey' || !warningOf(answer).includes(notYet);
        expect(credential.test(answer.text)).toBe(hasIt);
        await untilOpens(answer.body, 200);
      }
      const made = await newSince(before);
      expect(made).toHaveLength(creates.length);
      for (const object of made) await admin.untilReady(object);
    } finally {
      await standby.end();
    }
  });
});
