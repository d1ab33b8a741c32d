import { beforeAll, describe, expect, it } from 'vitest';
import { conditionOf, entryOf, type Stored, secretAt, type Target } from '../../../lab/operator/api.ts';
import { metricOf } from '../../../lab/operator/telemetry.ts';
import { Verifier } from '../../../lab/operator/verifier.ts';
import { operatorWorld } from '../../../lab/operator/world.ts';
import { reasons } from '../../../src/api/reasons.ts';
import { type Family, makeFamily } from './family.ts';
import { createAsSelfService, ownerReferenceTo } from './self-service.ts';

const world = await operatorWorld();
const { admin } = world;
const verifier = new Verifier(admin);
const collected = { timeoutMs: 120_000 };

describe('while no operator runs', () => {
  let waiting: Family;
  let stripped: Family;
  let replaced: Family;
  let viaGateway: Belongings;

  beforeAll(async () => {
    [waiting, stripped, replaced] = [
      await makeFamily(world),
      await makeFamily(world),
      await makeFamily(world),
    ];
    viaGateway = await makeBelongings();
    await world.operator.end();
  });

  it('a deleted key waits and grants nothing', async () => {
    await admin.delete(waiting.root);
    expect(await verdicts(waiting)).not.toContain('live');
    expect((await admin.get(waiting.root)).metadata.deletionTimestamp).toBeDefined();
  });

  it('stripping its finalizers frees it and revives nothing', async () => {
    await admin.delete(stripped.root);
    await strip(stripped.root);
    await admin.untilGone(stripped.root);
    expect(await verdicts(stripped)).not.toContain('live');
  });

  it('a key of the same name and with the same key revives nothing', async () => {
    const { root } = replaced;
    await admin.delete(root);
    await strip(root);
    await admin.untilGone(root);
    await admin.createKey({ user: 'alice', key: root.spec.key }, { name: root.metadata.name });
    expect(await verdicts(replaced)).not.toContain('live');
  });

  it('the garbage collector alone removes Secrets and what was made through the gateway', async () => {
    const { root, made, secrets, bearers } = viaGateway;
    await admin.delete(root);
    await strip(root);
    for (const bearer of bearers) expect(await verifier.presented(bearer)).not.toBe('live');
    for (const object of made) {
      const isDeleted = ({ metadata }: Stored) => metadata.deletionTimestamp !== undefined;
      await admin.until(object, 'deleted by the garbage collector', isDeleted, collected);
      await strip(object);
      await admin.untilGone(object);
    }
    for (const secret of secrets) await admin.untilGone(secret, collected);
    for (const bearer of bearers) expect(await verifier.presented(bearer)).toBe('Unknown');
  });

  describe('and once it is back', () => {
    beforeAll(async () => {
      await world.startOperator();
    });

    it.each([
      ['a deleted key goes', () => waiting],
      ['a key without finalizers is gone', () => stripped],
    ])('%s, and all that hung on it is cleaned up', async (_what, familyOf) => {
      const family = familyOf();
      await admin.untilGone(family.root);
      await untilCleanedUp(family);
      expect(new Set(await verdicts(family))).toEqual(new Set(['Unknown']));
    });

    it('a key of the same name has inherited nothing', async () => {
      await untilCleanedUp(replaced);
      await admin.untilReady(replaced.root);
      const [first, ...others] = await verdicts(replaced);
      expect(first).toBe('live');
      expect(new Set(others)).toEqual(new Set(['Unknown']));
    });
  });
});

describe('with an operator', () => {
  it('finalizers of a living object come back when somebody strips them', async () => {
    const key = await admin.untilReady(await admin.createKey());
    const { metadata } = await strip(key);
    expect(metadata.finalizers).toEqual(key.metadata.finalizers);
  });

  it.each([
    ['an access key', async () => await admin.createKey()],
    ['a token', async () => await admin.createToken()],
  ])('a finalizer of somebody else keeps the object of %s, and not the credential', async (_kind, make) => {
    const object = await admin.untilReady(await make());
    const bearer = object.spec.key ?? object.status.token;
    const finalizers = [...(object.metadata.finalizers ?? []), 'example.com/backup'];
    await admin.patch(object, { metadata: { finalizers } });

    await admin.delete(object);

    expect(await verifier.presented(bearer)).not.toBe('live');
    const released = ({ metadata }: Stored) => metadata.finalizers?.join() === 'example.com/backup';
    const { status } = await admin.until(object, 'only the other finalizer is left', released);
    expect(status).not.toHaveProperty('token');
    expect(conditionOf({ ...object, status })).toMatchObject({ status: 'False', reason: reasons.deleting });
    expect(await verifier.presented(bearer)).toBe('Unknown');
    await strip(object);
    await admin.untilGone(object);
  });

  it('a token does not wait for more than 5 s for a Secret that does not go, and that is told', async () => {
    const released = 'latchkey_finalizers_released_total{kind="DirectClusterEndpointToken"}';
    const before = await metricOf(world.operator, released);
    const secret = secretAt('default', world.name('stuck'));
    const secretRef = { namespace: 'default', name: secret.metadata.name };
    const token = await admin.untilReady(await admin.createToken({ secretRef }));
    await admin.patch(secret, { metadata: { finalizers: ['example.com/stuck'] } });
    const bearer = entryOf(await admin.get(secret), 'token');
    const asked = Date.now();

    await admin.delete(token);

    expect(await verifier.presented(bearer)).toBe('Deleting');
    await admin.untilGone(token);
    const event = await admin.untilEvent(token, reasons.finalizerReleased);
    expect(event.type).toBe('Warning');
    const waited = Date.parse(event.eventTime) - asked;
    expect(waited).toBeGreaterThan(3_000);
    expect(waited).toBeLessThan(15_000);
    expect(await metricOf(world.operator, released)).toBe(before + 1);
    expect((await admin.get(secret)).metadata.deletionTimestamp).toBeDefined();
    expect(await verifier.presented(bearer)).toBe('Unknown');
    await strip(secret);
    await admin.untilGone(secret);
  });
});

async function strip(target: Parameters<typeof admin.patch>[0]): Promise<Stored> {
  return await admin.patch(target, { metadata: { finalizers: null } });
}

async function untilCleanedUp(family: Family): Promise<void> {
  for (const object of [...family.children, ...family.grandchildren]) {
    const { status } = await admin.untilRefused(object, reasons.accessKeyGone);
    expect(status).not.toHaveProperty('token');
    expect(status).not.toHaveProperty('credentialHash');
  }
  for (const secret of family.secrets) await admin.untilGone(secret, collected);
}

/** An access key with a key and a token in Secrets that were made through the gateway. */
interface Belongings {
  readonly root: Stored;
  readonly made: readonly Stored[];
  readonly secrets: readonly Target[];
  readonly bearers: readonly string[];
}

async function makeBelongings(): Promise<Belongings> {
  const root = await admin.untilReady(await admin.createKey());
  const owners = [ownerReferenceTo(root)];
  const make = async (kind: string, entry: string) => {
    const secretRef = { namespace: 'default', name: world.name(entry) };
    const spec = { accessKey: root.metadata.name, secretRef };
    const object = await admin.untilReady(
      await createAsSelfService(world, kind, spec, { ownerReferences: owners }),
    );
    const secret = secretAt(secretRef.namespace, secretRef.name);
    return { object, secret, bearer: entryOf(await admin.get(secret), entry) };
  };
  const parts = [await make('OwnedAccessKey', 'key'), await make('DirectClusterEndpointToken', 'token')];
  return {
    root,
    made: parts.map(({ object }) => object),
    secrets: parts.map(({ secret }) => secret),
    bearers: parts.map(({ bearer }) => bearer),
  };
}

const verdicts = async ({ bearers }: Family) =>
  await Promise.all(bearers.map((bearer) => verifier.presented(bearer)));
