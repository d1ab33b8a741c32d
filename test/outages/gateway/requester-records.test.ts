import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Stored } from '../../../lab/operator/api.ts';
import { startInstalled } from '../../../lab/operator/installed-plane.ts';
import { giveRight } from '../../../lab/operator/rights.ts';
import { until } from '../../../lab/operator/until.ts';
import { annotations, group, labels } from '../../../src/api/names.ts';
import { virtualClusterInstances } from '../../../src/api/resources.ts';
import { recordNames } from '../../../src/gateway/endpoints/own/sent-object.ts';
import { gatewayWorld } from '../../e2e/gateway/gateway-world.ts';
import { type OwnAnswer, ownAPI, ownClient } from '../../e2e/gateway/own-client.ts';
import { type Piece, takeAway } from '../rights/policies-away.ts';

const plane = await startInstalled({ name: 'requester-records' });
afterAll(async () => await plane.stop());
const world = await gatewayWorld({}, undefined, plane);
const { admin } = world;
const namespace = 'p-records';
const alice = await ownClient(world, { user: 'alice' });
await plane.kubectl(['create', 'namespace', namespace]);
await plane.kubectl(['label', 'namespace', namespace, `${labels.project}=records`]);
await giveRight(admin, 'alice', {
  apiGroups: [group],
  resources: ['virtualclusterinstances'],
  verbs: ['use'],
});
await admin.create(virtualClusterInstances, {}, { name: 'shop', namespace });

const forged = {
  annotations: Object.fromEntries(recordNames.map((name) => [name, '["laura"]'])),
  labels: { [labels.ephemeral]: 'forged' },
};

interface Kind {
  readonly kind: string;
  readonly path: string;
  readonly namespace?: string;
  readonly spec: object;
  /** A change that gives no one anything. */
  readonly text: object;
  /** More than a text. */
  readonly change: object;
}

const kinds: readonly Kind[] = [
  {
    kind: 'OwnedAccessKey',
    path: `${ownAPI}/ownedaccesskeys`,
    spec: { ttl: 3_600 },
    text: { displayName: 'b' },
    change: { ttl: 1_200 },
  },
  {
    kind: 'DirectClusterEndpointToken',
    path: `${ownAPI}/directclusterendpointtokens`,
    spec: { ttl: 3_600 },
    text: {},
    change: { ttl: 1_200 },
  },
  {
    kind: 'VirtualClusterInstanceKubeConfig',
    path: `${ownAPI}/namespaces/${namespace}/virtualclusterinstancekubeconfigs`,
    namespace,
    spec: { virtualClusterInstance: 'shop', certificateTTL: 3_600 },
    text: {},
    change: { certificateTTL: 1_200 },
  },
];

type Made = { readonly kind: Kind; readonly name: string };
const placeOf = ({ kind, name }: Made): string => `${kind.path}/${name}`;
const [mergePatch, jsonPatch, applyPatch] = [
  'application/merge-patch+json',
  'application/json-patch+json',
  'application/apply-patch+yaml',
];

const expectOk = (answer: OwnAnswer, what: string): void =>
  expect([what, answer.status, answer.body.message]).toEqual([
    what,
    answer.status < 300 ? answer.status : 200,
    undefined,
  ]);

async function put(made: Made, change: object): Promise<void> {
  await withoutConflict('PUT', async () => {
    const { body } = await alice.send('GET', placeOf(made));
    const sent = { ...body, metadata: { ...body.metadata, ...forged }, spec: { ...body.spec, ...change } };
    return await alice.send('PUT', placeOf(made), { body: sent });
  });
}

const merge = async (made: Made, change: object): Promise<void> =>
  await withoutConflict('merge patch', async () =>
    alice.send('PATCH', placeOf(made), { type: mergePatch, body: { metadata: forged, spec: change } }),
  );

const patch = async (made: Made, change: object): Promise<void> => {
  const body = [
    ...Object.entries(change).map(([field, value]) => ({ op: 'add', path: `/spec/${field}`, value })),
    { op: 'add', path: '/metadata/annotations', value: forged.annotations },
  ];
  await withoutConflict('JSON patch', async () =>
    alice.send('PATCH', placeOf(made), { type: jsonPatch, body }),
  );
};

const apply = async (made: Made, change: object): Promise<void> =>
  await withoutConflict('apply', async () =>
    alice.send('PATCH', `${placeOf(made)}?fieldManager=me&force=true`, {
      type: applyPatch,
      body: { metadata: forged, spec: { ...made.kind.spec, ...change } },
    }),
  );

const rotate = async (made: Made, value: object): Promise<void> => {
  const metadata = { annotations: { ...forged.annotations, [annotations.rotate]: 'now' } };
  await withoutConflict('rotation', async () =>
    alice.send('PATCH', placeOf(made), { type: mergePatch, body: { metadata, spec: value } }),
  );
};

/** The operator and the gateway write too. */
async function withoutConflict(what: string, send: () => Promise<OwnAnswer>): Promise<void> {
  const answer = await until(`no conflict with ${what}`, async () => {
    const sent = await send();
    return sent.status !== 409 && sent;
  });
  expectOk(answer, what);
}

type Step = readonly [change: (made: Made, spec: object) => Promise<void>, what: 'text' | 'more' | 'none'];

interface Door {
  readonly first: 'POST' | 'apply';
  readonly steps?: readonly Step[];
}

const doors: Readonly<Record<string, Door>> = {
  POST: { first: 'POST' },
  'apply of a new one': { first: 'apply' },
  'PUT of a text': { first: 'POST', steps: [[put, 'text']] },
  PUT: { first: 'POST', steps: [[put, 'more']] },
  'merge patch': { first: 'POST', steps: [[merge, 'more']] },
  'JSON patch': { first: 'POST', steps: [[patch, 'more']] },
  rotation: { first: 'apply', steps: [[rotate, 'none']] },
  'apply of nothing new': { first: 'apply', steps: [[apply, 'none']] },
  'apply of a text': { first: 'apply', steps: [[apply, 'text']] },
  // With another group than POST has, which a token then loses.
  'apply after POST': { first: 'POST', steps: [[apply, 'more']] },
  // Each says of itself that it changed the object, in an annotation that the other one manages.
  'PUT and apply': {
    first: 'POST',
    steps: [
      [put, 'text'],
      [put, 'more'],
      [apply, 'none'],
    ],
  },
};

async function makeBy(first: 'POST' | 'apply', made: Made): Promise<void> {
  const { kind, name } = made;
  if (first === 'apply') return await apply(made, {});
  const body = { metadata: { name, ...forged }, spec: kind.spec };
  expectOk(await alice.send('POST', kind.path, { body }), 'POST');
}

/** Reads the record once all steps are done, without what differs from object to object. */
async function recordAfter(door: string, kind: Kind, mark: string) {
  const name = `${mark}-${door.toLowerCase().replaceAll(' ', '-')}`;
  const made = { kind, name };
  const { first, steps = [] } = doors[door] ?? { first: 'POST' };
  await makeBy(first, made);
  for (const [step, what] of steps) {
    const change = { text: kind.text, more: kind.change, none: {} }[what];
    await step(made, change);
  }
  return recordOf(
    await admin.get({ kind: kind.kind, metadata: { name, ...(kind.namespace && { namespace }) } } as never),
  );
}

function recordOf({ metadata, spec }: Stored) {
  const all = metadata.annotations ?? {};
  return {
    annotations: Object.fromEntries(recordNames.map((one) => [one, all[one]])),
    ephemeral: metadata.labels?.[labels.ephemeral],
    finalizers: metadata.finalizers,
    user: spec.user,
  };
}

/** Of the object that stands for a POST of a kubeconfig, which is there until the client leaves. */
async function recordOfRequest() {
  const before = new Set((await requested()).map(({ metadata }) => metadata.uid));
  const answer = alice.send(
    'POST',
    `${ownAPI}/namespaces/${namespace}/virtualclusterinstances/shop/kubeconfig`,
    {
      body: { metadata: forged, spec: {} },
    },
  );
  const made = await until('the object is there', async () =>
    (await requested()).find(({ metadata }) => !before.has(metadata.uid)),
  );
  return { record: recordOf(made as Stored), answer };
}

async function requested(): Promise<readonly Stored[]> {
  const { stdout } = await plane.kubectl(['get', 'vcik', '-n', namespace, '-o', 'json']);
  const { items }: { items: readonly Stored[] } = JSON.parse(stdout);
  return items.filter(({ metadata }) => metadata.name.startsWith('shop-'));
}

const rows = kinds.flatMap((kind) => Object.keys(doors).map((door) => [door, kind.kind, kind] as const));

type Records = ReadonlyMap<string, Awaited<ReturnType<typeof recordAfter>>>;

/** Of all rows. */
async function allRecords(mark: string): Promise<Records> {
  const entries = rows.map(
    async ([door, kindName, kind]) => [`${door} ${kindName}`, await recordAfter(door, kind, mark)] as const,
  );
  return new Map(await Promise.all(entries));
}

const policies: readonly Piece[] = [
  { kind: 'MutatingAdmissionPolicyBinding', name: 'latchkey-requester' },
  { kind: 'ValidatingAdmissionPolicyBinding', name: 'latchkey-requester-integrity' },
  { kind: 'MutatingAdmissionPolicyBinding', name: 'latchkey-kept-fields' },
];

async function isUnrecorded(): Promise<boolean> {
  const probe = {
    apiVersion: `${group}/v1`,
    kind: 'OwnedAccessKey',
    metadata: { name: 'probe' },
    spec: { user: 'alice' },
  };
  const dryRun = ['create', '-f', '-', '--dry-run=server', '-o', 'json'];
  const { stdout, exitCode } = await plane.kubectl(dryRun, { input: JSON.stringify(probe) });
  return exitCode === 0 && !stdout.includes(annotations.requester);
}

describe('what the gateway writes of who asks', () => {
  let [together, alone]: Records[] = [];

  let request: Awaited<ReturnType<typeof recordOfRequest>>['record'];

  beforeAll(async () => {
    // Without the policies the operator refuses it at once, and it is gone before anyone can look at it.
    const { record, answer } = await recordOfRequest();
    request = record;
    together = await allRecords('with');
    await answer;
    await takeAway(admin.client, policies);
    await until('no policy writes it', isUnrecorded);
    // It would refuse what is made now, and the gateway would take that away again.
    await world.killOperator();
    alone = await allRecords('without');
  });

  it('is the holder, also of a POST of a kubeconfig', () => {
    expect(request.annotations).toMatchObject({
      [annotations.requester]: 'alice',
      [annotations.createdWith]: `${alice.object.metadata.name}/${alice.object.metadata.uid}`,
    });
    expect(request.ephemeral).toBe('true');
  });

  it.each(rows.map(([door, kind]) => `${door} ${kind}`))('is what the policies write: %s', (row) => {
    const record = alone?.get(row);
    expect(record?.annotations).toMatchObject({
      [annotations.requester]: 'alice',
      [annotations.createdWith]: `${alice.object.metadata.name}/${alice.object.metadata.uid}`,
    });
    expect(record).toEqual(together?.get(row));
  });
});
