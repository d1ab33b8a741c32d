import { describe, expect, it } from 'vitest';
import type { Stored } from '../../../lab/operator/api.ts';
import { until } from '../../../lab/operator/until.ts';
import { Verifier } from '../../../lab/operator/verifier.ts';
import { operatorWorld } from '../../../lab/operator/world.ts';
import { reasons } from '../../../src/api/reasons.ts';
import { type Family, makeFamily } from './family.ts';

const world = await operatorWorld();
const { admin } = world;
const verifier = new Verifier(admin);

describe('the deletion of an access key', () => {
  it('takes effect at once for all that depends on it, which then say so', async () => {
    const family = await makeFamily(world);
    const { root, children, grandchildren, secrets } = family;
    expect(new Set(await verdicts(family))).toEqual(new Set(['live']));
    expect(family.bearers).toHaveLength(7);

    await admin.delete(root);

    expect(await verdicts(family)).not.toContain('live');
    await admin.untilGone(root);
    for (const object of [...children, ...grandchildren]) {
      const { metadata, status } = await admin.untilRefused(object, reasons.accessKeyGone);
      expect(metadata).not.toHaveProperty('deletionTimestamp');
      expect(status).not.toHaveProperty('token');
      expect(status).not.toHaveProperty('credentialHash');
      await admin.untilEvent(object, reasons.accessKeyGone);
    }
    for (const secret of secrets) await admin.untilGone(secret);
    expect(new Set(await verdicts(family))).toEqual(new Set(['Unknown']));
  });

  it('is final: a new key of that name revives nothing', async () => {
    const family = await makeFamily(world);
    const { root, children, grandchildren } = family;
    await admin.delete(root);
    await admin.untilGone(root);

    const again = await admin.createKey({ user: 'alice', key: root.spec.key }, { name: root.metadata.name });

    const { status } = await admin.untilReady(again);
    expect(status.credentialHash).toBe(root.status.credentialHash);
    for (const child of [...children, ...grandchildren]) {
      const { metadata } = await admin.patch(child, { spec: { ttl: 7200 } });
      expect(metadata.generation).toBeGreaterThan(child.metadata.generation ?? 0);
      await admin.untilRefused(child, reasons.accessKeyGone);
      expect(await verifier.of(child)).not.toBe('live');
    }
    const [renewed, ...dead] = await verdicts(family);
    expect(renewed).toBe('live');
    expect(new Set(dead)).toEqual(new Set(['Unknown']));
  });

  it('of one in the middle leaves those above and beside it alone', async () => {
    const family = await makeFamily(world);
    const [middle, ...siblings] = family.children;
    if (middle === undefined) throw new TypeError('no child');
    await admin.delete(middle);
    for (const grandchild of family.grandchildren) {
      await admin.untilRefused(grandchild, reasons.accessKeyGone);
      expect(await verifier.of(grandchild)).not.toBe('live');
    }
    await admin.untilGone(middle);
    for (const object of [family.root, ...siblings]) {
      expect(await verifier.of(object)).toBe('live');
      expect((await admin.get(object)).metadata.resourceVersion).toBe(object.metadata.resourceVersion);
    }
  });

  it('of a child that has lost its parent works as any other', async () => {
    const { root, children, grandchildren } = await makeFamily(world);
    await admin.delete(root);
    await admin.untilGone(root);
    for (const object of [...grandchildren, ...children]) {
      await admin.delete(object);
      await admin.untilGone(object);
    }
  });
});

describe.each([
  ['an access key', () => admin.createKey()],
  ['a token', () => admin.createToken()],
])('the deletion of %s', (_, create) => {
  it('is an event', async () => {
    const gone: Stored[] = [];
    // Where another file has just deleted very many, the operator sums up the first ones.
    const { note } = await until('an event about a deletion', async () => {
      const object = await admin.untilReady(await create());
      await admin.delete(object);
      await admin.untilGone(object);
      gone.push(object);
      const told = await Promise.all(gone.map((each) => admin.eventsOf(each)));
      return told.flat().find(({ reason }) => reason === reasons.deleted);
    });
    expect(note).toBe('The object was deleted. The credential with serial 1 has ended.');
  });
});

describe('the deletion of a token', () => {
  it('ends it at once, and its Secret goes', async () => {
    const { children, secrets, bearers } = await makeFamily(world);
    const tokens = children.filter(({ kind }) => kind === 'DirectClusterEndpointToken');
    expect(tokens).toHaveLength(2);
    const tokenBearers = bearers.filter((bearer) => bearer.startsWith('ey'));
    for (const token of tokens) await admin.delete(token);
    const [grandchild, ...ended] = await Promise.all(
      [tokenBearers[1], tokenBearers[0], tokenBearers[2]].map((bearer) => verifier.presented(bearer ?? '')),
    );
    expect(grandchild).toBe('live');
    expect(ended).not.toContain('live');
    for (const token of tokens) await admin.untilGone(token);
    const [ofKey, ofToken] = secrets;
    if (ofKey === undefined || ofToken === undefined) throw new TypeError('no Secrets');
    await admin.untilGone(ofToken);
    expect(await admin.find(ofKey)).toBeDefined();
  });
});

const verdicts = async ({ bearers }: Family) =>
  await Promise.all(bearers.map((bearer) => verifier.presented(bearer)));
