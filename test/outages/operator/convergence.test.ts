import fc from 'fast-check';
import { expect, it } from 'vitest';
import { annotations, labels } from '../../../src/api/names.ts';
import type { CredentialRecord } from '../../../src/credentials/record.ts';
import { secretKeyOf } from '../../../src/operator/credentials/secret-record.ts';
import type { Fate } from '../../component/operator/memory-api.ts';
import { Simulation } from '../../component/operator/simulation.ts';

/** They begin with another seed each time, so that days of runs see thousands. */
const numRuns = 100;
/** Milliseconds for them: a busy machine is ten times slower than an idle one. */
const limit = 240_000;
const keys = 'ownedaccesskeys';
const tokens = 'directclusterendpointtokens';
const names = ['a', 'b', 'c'] as const;
const name = fc.constantFrom(...names);
const secretRef = (of: string) => ({ namespace: 'default', name: `secret-${of}` });
const plain = fc.constantFrom('plain-key-number-one-x', 'plain-key-number-two-x');

type Act = readonly [label: string, act: (world: Simulation) => void | Promise<void>];

const keySpec = fc
  .record({
    credential: fc.oneof(
      plain.map((key) => ({ key })),
      name.map((of) => ({ secretRef: secretRef(of) })),
      fc.constant({}),
    ),
    parent: fc.option(name, { nil: undefined }),
    ttl: fc.constantFrom(0, 60, 7_200),
  })
  .map(({ credential, parent, ttl }) => ({
    ...credential,
    ttl,
    ...(parent === undefined ? { user: 'alice' } : { accessKey: parent }),
  }));

const tokenSpec = fc
  .record({
    parent: fc.option(name, { nil: undefined }),
    secret: fc.option(name, { nil: undefined }),
    ttl: fc.constantFrom(60, 3_600),
  })
  .map(({ parent, secret, ttl }) => ({
    ttl,
    ...(parent === undefined ? {} : { accessKey: parent }),
    ...(secret === undefined ? {} : { secretRef: secretRef(`token-${secret}`) }),
  }));

const scope = fc.constantFrom({ projects: [{ project: 'p' }] }, { clusters: [{ cluster: 'c' }] });
const either = fc.constantFrom(keys, tokens);

const act: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc
      .tuple(name, keySpec)
      .map(([n, spec]): Act => [`key ${n} ${JSON.stringify(spec)}`, (w) => w.create(keys, n, spec)]),
  },
  {
    weight: 3,
    arbitrary: fc
      .tuple(name, tokenSpec)
      .map(([n, spec]): Act => [`token ${n} ${JSON.stringify(spec)}`, (w) => w.create(tokens, n, spec)]),
  },
  fc
    .tuple(either, name, scope)
    .map(([p, n, s]): Act => [`scope of ${p} ${n}`, (w) => w.edit(p, n, { spec: { scope: s } })]),
  fc
    .tuple(either, name, fc.constantFrom(60, 100_000))
    .map(([p, n, ttl]): Act => [`ttl ${ttl} of ${p} ${n}`, (w) => w.edit(p, n, { spec: { ttl } })]),
  fc
    .tuple(name, fc.boolean())
    .map(
      ([n, disabled]): Act => [
        `disabled ${disabled} of ${n}`,
        (w) => w.edit(keys, n, { spec: { disabled } }),
      ],
    ),
  fc
    .tuple(name, plain)
    .map(
      ([n, key]): Act => [`key value of ${n}`, (w) => w.edit(keys, n, { spec: { key, secretRef: null } })],
    ),
  fc
    .tuple(either, name, fc.nat(5))
    .map(
      ([p, n, v]): Act => [
        `rotate ${p} ${n}`,
        (w) => w.edit(p, n, { metadata: { annotations: { [annotations.rotate]: String(v) } } }),
      ],
    ),
  fc.tuple(either, name).map(([p, n]): Act => [`delete ${p} ${n}`, (w) => w.delete(p, n)]),
  fc
    .tuple(either, name)
    .map(([p, n]): Act => [`strip ${p} ${n}`, (w) => w.edit(p, n, { metadata: { finalizers: null } })]),
  name.map((n): Act => [`Secret of ${n} deleted`, (w) => w.delete('secrets', `default/secret-${n}`)]),
  name.map(
    (n): Act => [
      `Secret of ${n} altered`,
      (w) => w.edit('secrets', `default/secret-${n}`, { data: { key: 'cGxhbnRlZA==' } }),
    ],
  ),
  name.map((n): Act => [`Secret of somebody else at ${n}`, (w) => occupySecret(w, n)]),
  fc.constant<Act>([
    'signing keys revoked',
    (w) => w.delete('secrets', 'latchkey-system/latchkey-signing-keys'),
  ]),
  fc.constantFrom(1, 30, 90, 4_000).map((s): Act => [`${s} s pass`, (w) => w.clock.advance(s * 1_000)]),
  { weight: 3, arbitrary: fc.nat(6).map((count): Act => [`${count} events`, (w) => w.deliver(count)]) },
  { weight: 3, arbitrary: fc.nat(3).map((count): Act => [`${count} worked on`, (w) => w.work(count)]) },
  fc.constant<Act>(['the watch of Secrets stands still', (w) => w.holdSecrets()]),
  fc.constant<Act>(['the watch of Secrets goes on', (w) => w.releaseSecrets()]),
  fc.constant<Act>(['crash', (w) => w.crash()]),
);

function occupySecret(world: Simulation, of: string): void {
  if (world.api.find('secrets', `default/secret-${of}`) !== undefined) return;
  world.api.create('secrets', {
    metadata: { namespace: 'default', name: `secret-${of}` },
    data: { theirs: 'eA==' },
  } as never);
}

const fates = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: fc.constant<Fate>('works') },
    fc.constant<Fate>('lost'),
    fc.constant<Fate>('unanswered'),
  ),
  { maxLength: 40 },
);

/** A family of three levels, credentials in Secrets and in the objects: what most of the acts are about. */
function createFamily(world: Simulation): void {
  world.create(keys, 'a', { user: 'alice' });
  world.create(keys, 'b', { accessKey: 'a', key: 'plain-key-number-one-x' });
  world.create(keys, 'c', { user: 'alice', secretRef: secretRef('c') });
  world.create(tokens, 'a', { accessKey: 'b', ttl: 3_600 });
  world.create(tokens, 'b', { accessKey: 'c', ttl: 3_600, secretRef: secretRef('token-b') });
  world.create(tokens, 'c', { ttl: 3_600 });
}

async function live(acts: readonly Act[], fate: readonly Fate[], family: boolean): Promise<Simulation> {
  const world = new Simulation(family ? [] : fate);
  if (family) {
    createFamily(world);
    await world.runUntilIdle();
    world.suffer(fate);
  }
  for (const [, run] of acts) await run(world);
  await world.runUntilIdle();
  return world;
}

/** Histories of one world: what is done to it, how its writes fare, and whether it begins with the family. */
const history = (acts: fc.Arbitrary<Act>) => fc.tuple(fc.array(acts, { maxLength: 30 }), fates, fc.boolean());

const readyOf = ({ conditions }: CredentialRecord) => conditions.find(({ type }) => type === 'Ready');

/** Ready is True for exactly the credentials that are live. */
function expectTruthful(world: Simulation): void {
  for (const record of world.records()) {
    if (record.deleted !== undefined) continue;
    const verdict = world.liveness(record);
    const detail = `${record.kind} ${record.name}: ${JSON.stringify(readyOf(record))} ${JSON.stringify(verdict)}`;
    expect(readyOf(record)?.status === 'True', detail).toBe(verdict.live);
  }
}

/** A live credential is where its holder reads it. */
function expectHeld(world: Simulation): void {
  for (const record of world.records().filter((one) => world.liveness(one).live))
    expect(world.heldHash(record)).toBe(record.status.credentialHash);
}

/** A Secret that is left says what the status says. */
function expectSecretsTruthful(world: Simulation): void {
  for (const record of world.records().filter(({ deleted }) => deleted === undefined)) {
    const { metadata } = world.api.find('secrets', secretKeyOf(record) ?? '') ?? {};
    if (metadata?.labels?.[labels.ownerUID] !== record.uid) continue;
    const { [annotations.reason]: reason, [annotations.fingerprint]: fingerprint } =
      metadata.annotations ?? {};
    expect({ reason, fingerprint }).toEqual({
      reason: readyOf(record)?.reason,
      fingerprint: record.status.fingerprint,
    });
  }
}

/** Serials only rise, and none ever stood for two credentials. */
function expectSerialsRise(world: Simulation): void {
  const hashes = new Map<string, string>();
  const serials = new Map<string, number>();
  for (const { plural, object } of world.api.changes) {
    if (plural !== keys && plural !== tokens) continue;
    const { credentialHash, serial = 0 } = (object.status ?? {}) as {
      credentialHash?: string;
      serial?: number;
    };
    const { uid } = object.metadata;
    expect(serial).toBeGreaterThanOrEqual(serials.get(uid) ?? 0);
    serials.set(uid, serial);
    if (credentialHash === undefined) continue;
    expect(hashes.get(`${uid} ${serial}`) ?? credentialHash).toBe(credentialHash);
    hashes.set(`${uid} ${serial}`, credentialHash);
  }
}

/** The next process finds all as it is to be. */
async function expectNothingToWrite(world: Simulation): Promise<void> {
  const before = JSON.stringify(world.records());
  world.crash();
  await world.runUntilIdle();
  expect(JSON.stringify(world.records())).toBe(before);
}

/** Deleted objects go; `decent`: no one stripped a finalizer, so no Secret is left either. */
async function expectNothingLeft(world: Simulation, decent: boolean): Promise<void> {
  for (const plural of [tokens, keys]) for (const n of names) world.delete(plural, n);
  await world.runUntilIdle();
  expect(world.records().map(({ key }) => key)).toEqual([]);
  const left = world.api.all('secrets').map(({ metadata }) => metadata.labels ?? {});
  if (decent) expect(left.filter((labels) => 'management.platform.sh/owner-uid' in labels)).toEqual([]);
}

const isStripping = ([label]: Act): boolean => label.startsWith('strip');
const decentAct = act.filter((one) => !isStripping(one));

// One history shows all of it: to live through them is what takes the time.
it(
  'whatever happens, in the end Ready is True for exactly the live credentials, holders can read these, Secrets say the same, serials rose, and nothing is left to write; deleted objects go, and leave no Secret behind unless somebody stripped the finalizer',
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(history(act), history(decentAct)), async (told) => {
        const world = await live(...told);
        expectTruthful(world);
        expectHeld(world);
        expectSecretsTruthful(world);
        expectSerialsRise(world);
        await expectNothingToWrite(world);
        await expectNothingLeft(world, !told[0].some(isStripping));
      }),
      { numRuns },
    );
  },
  limit,
);

it(
  'however events, faults and crashes fall, nothing is issued twice',
  async () => {
    const unrest = act.filter(([label]) => /events$|worked on$|crash/.test(label));
    await fc.assert(
      fc.asyncProperty(fc.array(unrest, { maxLength: 30 }), fates, async (acts, fate) => {
        const world = new Simulation(fate);
        createFamily(world);
        for (const [, run] of acts) await run(world);
        await world.runUntilIdle();
        for (const record of world.records()) {
          expect(`${record.key} ${record.status.serial} ${readyOf(record)?.reason}`).toBe(
            `${record.key} 1 Issued`,
          );
        }
      }),
      { numRuns },
    );
  },
  limit,
);
