import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sharedControlPlane } from '../../../lab/controlplane/shared.ts';
import { conditionOf, entryOf, type Stored } from '../../../lab/operator/api.ts';
import { concurrently } from '../../../lab/operator/concurrently.ts';
import { until } from '../../../lab/operator/until.ts';
import { operatorWorld } from '../../../lab/operator/world.ts';
import type { Write } from '../../../lab/operator/write.ts';
import { confirmationsOf, WriteGate } from '../../../lab/operator/write-gate.ts';
import { labels } from '../../../src/api/names.ts';
import { directClusterEndpointTokens, ownedAccessKeys, secrets } from '../../../src/api/resources.ts';
import { credentialHash } from '../../../src/credentials/keys/credential-hash.ts';
import { hashForm } from '../../e2e/lifecycle/hash-form.ts';
import { FragileOperator } from './fragile-operator.ts';

const size = 120;
/** Counted among the writes of one process; some 190 are needed in all. */
const kills = [
  { nth: 40, fate: 'unanswered' },
  { nth: 60, fate: 'lost' },
] as const;

const plane = await sharedControlPlane();
const gate = await WriteGate.start(plane);
// The operator gives its lease back through the gate, so the gate goes after the world.
afterAll(async () => await gate.close());
const world = await operatorWorld({ plane, operator: false });
const { admin } = world;
const operator = new FragileOperator(world, gate);
const prefix = world.name('crowd');

interface Shape {
  readonly name: string;
  readonly spec: (name: string) => object;
  /** `status.keySource` of a key. */
  readonly source?: string;
  readonly inSecret?: boolean;
}

/** The shapes that are asked for, by turns. */
const shapes: readonly Shape[] = [
  { name: 'generated', spec: () => ({ user: 'alice' }), source: 'Generated' },
  { name: 'hash', spec: (name) => ({ user: 'alice', key: hashForm(name) }), source: 'Hash' },
  {
    name: 'key-in-secret',
    spec: (name) => ({ user: 'alice', secretRef: placeOf(name) }),
    source: 'Secret',
    inSecret: true,
  },
  { name: 'token', spec: () => ({}) },
  { name: 'token-in-secret', spec: (name) => ({ secretRef: placeOf(name) }), inSecret: true },
];

const placeOf = (name: string) => ({ namespace: 'default', name });
const isToken = (name: string) => name.includes('-token');
const targetOf = (name: string) => ({
  kind: isToken(name) ? 'DirectClusterEndpointToken' : 'OwnedAccessKey',
  metadata: { name },
});
const isCredential = ({ plural, name }: Write) => plural !== 'events' && name.startsWith(prefix);

const names = Array.from({ length: size }, (_, index) => `${prefix}-${index}-${nameAt(index)}`);

function nameAt(index: number): string {
  return shapes[index % shapes.length]?.name ?? '';
}

function shapeOf(name: string): Shape {
  const shape = shapes.find((candidate) => name.endsWith(`-${candidate.name}`));
  if (shape === undefined) throw new Error(`no shape: ${name}`);
  return shape;
}

async function create(name: string): Promise<void> {
  const spec = shapeOf(name).spec(name);
  await (isToken(name) ? admin.createToken(spec, { name }) : admin.createKey(spec, { name }));
}

async function readAll(): Promise<ReadonlyMap<string, Stored>> {
  const lists = await Promise.all(
    [ownedAccessKeys, directClusterEndpointTokens].map(
      async (resource) => (await admin.client.list<Stored>(resource)).items,
    ),
  );
  const ours = lists.flat().filter(({ metadata }) => metadata.name.startsWith(prefix));
  return new Map(ours.map((object) => [object.metadata.name, object]));
}

/** The Secrets of each owner, by its UID. */
async function readSecrets(): Promise<Readonly<Partial<Record<string, Stored[]>>>> {
  const { items } = await admin.client.list<Stored>(secrets, { labelSelector: labels.ownerUID });
  return Object.groupBy(items, ({ metadata }) => metadata.labels?.[labels.ownerUID] ?? '');
}

const isReady = (object: Stored) => conditionOf(object)?.status === 'True';

describe(`an operator that is killed ${kills.length} times in the middle of ${size} objects`, () => {
  let objects: ReadonlyMap<string, Stored>;
  let kept: Readonly<Partial<Record<string, Stored[]>>>;
  const readyAtKills: number[] = [];

  beforeAll(async () => {
    await operator.start();
    const creating = concurrently(names, create);
    for (const kill of kills) {
      await operator.die([{ ...kill, isMeant: isCredential }]);
      readyAtKills.push([...(await readAll()).values()].filter(isReady).length);
      await operator.start();
    }
    await creating;
    const all = async () => [...(await readAll()).values()].filter(isReady).length === size;
    await until('all are ready', all, { timeoutMs: 120_000, everyMs: 250 });
    [objects, kept] = await Promise.all([readAll(), readSecrets()]);
  });

  it('was each time in the middle', () => {
    for (const ready of readyAtKills) {
      expect(ready).toBeGreaterThan(0);
      expect(ready).toBeLessThan(size);
    }
  });

  it('confirms exactly one credential for each object', async () => {
    await gate.settled();
    const counts = Object.groupBy(confirmationsOf(gate), ({ name }) => name);
    expect(names.filter((name) => counts[name]?.length !== 1)).toEqual([]);
    expect(names.filter((name) => objects.get(name)?.status.serial !== 1)).toEqual([]);
  });

  it('has what it confirmed in the object or in its one Secret, and nothing anywhere else', () => {
    const wrong = names.filter((name) => !keepsItsCredential(name));
    expect(wrong).toEqual([]);
  });

  function keepsItsCredential(name: string): boolean {
    const { spec, status, metadata } = objects.get(name) ?? {};
    const { source, inSecret = false } = shapeOf(name);
    const own = kept[metadata?.uid ?? ''] ?? [];
    const inline = source === 'Hash' ? name : (spec.key ?? status.token);
    const credential = (inSecret ? credentialIn(own) : inline) ?? '';
    return own.length === (inSecret ? 1 : 0) && status.credentialHash === credentialHash(credential);
  }

  it('says of every key where it comes from', () => {
    const wrong = names.filter((name) => objects.get(name)?.status.keySource !== shapeOf(name).source);
    expect(wrong).toEqual([]);
  });

  it('takes each of them away with its Secret, killed once more meanwhile', async () => {
    const dying = operator.die([{ isMeant: isCredential, nth: 60, fate: 'unanswered' }]);
    await Promise.all([concurrently(names, async (name) => await admin.delete(targetOf(name))), dying]);
    const left = (await readAll()).size;
    expect(left).toBeGreaterThan(0);
    await operator.start();
    const none = async () => (await readAll()).size === 0;
    await until('all are gone', none, { timeoutMs: 120_000, everyMs: 250 });
    const remaining = await readSecrets();
    expect([...objects.values()].filter(({ metadata }) => remaining[metadata.uid] !== undefined)).toEqual([]);
  });
});

function credentialIn([secret]: readonly Stored[]): string | undefined {
  if (secret === undefined) return undefined;
  const [entry = ''] = Object.keys(secret.data ?? {});
  return entryOf(secret, entry);
}
