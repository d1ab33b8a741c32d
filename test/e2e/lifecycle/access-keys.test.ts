import { describe, expect, it } from 'vitest';
import { conditionOf, type Stored } from '../../../lab/operator/api.ts';
import { baseURL } from '../../../lab/operator/running-operator.ts';
import { Verifier } from '../../../lab/operator/verifier.ts';
import { operatorWorld } from '../../../lab/operator/world.ts';
import { group } from '../../../src/api/names.ts';
import { reasons } from '../../../src/api/reasons.ts';
import { Issuer } from './issuer.ts';

const world = await operatorWorld();
const { admin } = world;
const issuer = new Issuer(admin);
const verifier = new Verifier(admin);
const alice = (await world.user('alice')).api;
const bob = (await world.user('bob')).api;
const argo = (await world.user('system:serviceaccount:argocd:controller')).api;
const everyCluster = { clusters: [{ cluster: '*' }] };

describe.concurrent('who may name an access key', () => {
  it('is the user that the key speaks for', async () => {
    const accessKey = (await admin.createKey({ user: 'alice' })).metadata.name;
    const { status } = await alice.untilReady(await alice.createToken({ accessKey }));
    expect((await issuer.verify(status.token)).sub).toBe('alice');
  });

  it('is the user who made the key', async () => {
    const accessKey = (await bob.createKey({ user: 'alice' })).metadata.name;
    const { status } = await bob.untilReady(await bob.createToken({ accessKey }));
    expect((await issuer.verify(status.token)).sub).toBe('alice');
  });

  it.each([
    ['a token', async (accessKey: string) => await bob.createToken({ accessKey })],
    ['an access key', async (accessKey: string) => await bob.createKey({ accessKey })],
  ])('is no one else: %s is refused', async (_kind, make) => {
    const accessKey = (await alice.createKey({ user: 'alice' })).metadata.name;
    const made = await make(accessKey);
    const { status } = await bob.untilRefused(made, reasons.accessKeyNotAllowed);
    expect(status).not.toHaveProperty('token');
    expect(status).not.toHaveProperty('credentialHash');
    const { type, note } = await admin.untilEvent(made, reasons.accessKeyNotAllowed);
    expect(conditionOf(await bob.get(made))?.message).toBe(note);
    expect([type, note]).toEqual([
      'Warning',
      'spec.accessKey names a key that the requester neither speaks for nor made: create this object under a key of your own.',
    ]);
    expect(await verifier.of(made)).not.toBe('live');
  });

  it('is no account that makes objects for many people', async () => {
    const accessKey = (await argo.createKey({ user: 'alice' })).metadata.name;
    await argo.untilReady({ kind: 'OwnedAccessKey', metadata: { name: accessKey } });
    await argo.untilRefused(await argo.createToken({ accessKey }), reasons.accessKeyNotAllowed);
  });

  it('decides who has a token: such an account gets none of its own', async () => {
    const token = await argo.createToken();
    const { status } = await argo.untilRefused(token, reasons.requesterNotAllowed);
    expect(status).not.toHaveProperty('token');
    expect(conditionOf(await argo.get(token))?.message).toContain('set spec.accessKey');
  });
});

describe.concurrent('an access key above another credential', () => {
  it('gives it the identity, no matter who asks', async () => {
    const parent = await admin.createKey({ team: 'red', groups: ['dev'], scope: everyCluster });
    const key = await admin.createKey({ accessKey: parent.metadata.name });
    const token = await admin.createToken({ accessKey: key.metadata.name });
    const { status } = await admin.untilReady(token);
    const claims = await issuer.verify(status.token);
    expect(claims).toMatchObject({ sub: 'team:red', groups: expect.arrayContaining(['team:red', 'dev']) });
  });

  it('stops all below it while it is disabled', async () => {
    const parent = await admin.untilReady(await admin.createKey());
    const child = await admin.untilReady(await admin.createKey({ accessKey: parent.metadata.name }));
    const token = await admin.untilReady(await admin.createToken({ accessKey: child.metadata.name }));
    const bearers = [parent.spec.key, child.spec.key, token.status.token];

    await admin.patch(parent, { spec: { disabled: true } });

    for (const bearer of bearers) expect(await verifier.presented(bearer)).not.toBe('live');
    await admin.untilRefused(parent, reasons.disabled);
    for (const object of [child, token]) {
      await admin.untilRefused(object, reasons.accessKeyNotLive);
      await admin.untilEvent(object, reasons.accessKeyNotLive);
    }

    await admin.patch(parent, { spec: { disabled: false } });

    for (const object of [parent, child, token]) {
      const { status } = await admin.untilReady(object);
      expect(status).toMatchObject({ serial: 1, credentialHash: object.status.credentialHash });
      await admin.untilEvent(object, reasons.enabled);
    }
    for (const bearer of bearers) expect(await verifier.presented(bearer)).toBe('live');
  });

  it('ends all below it with its own end', async () => {
    const parent = await admin.untilReady(await admin.createKey({ user: 'alice', ttl: 8 }));
    const child = await admin.untilReady(
      await admin.createKey({ accessKey: parent.metadata.name, ttl: 600 }),
    );
    const end = new Date(parent.status.notAfter).getTime();
    expect(new Date(child.status.expirationTimestamp).getTime()).toBe(end);
    await admin.untilRefused(child, reasons.accessKeyNotLive, { timeoutMs: 90_000 });
    expect(Date.now()).toBeGreaterThanOrEqual(end);
    expect((await admin.get(child)).spec).not.toHaveProperty('disabled');
    await admin.patch(parent, { spec: { ttl: 3600 } });
    await admin.untilReady(child);
    expect(await verifier.presented(child.spec.key)).toBe('live');
  });

  it('narrows the tokens below it again when its scope changes', async () => {
    const clusters = (...names: string[]) => ({ clusters: names.map((cluster) => ({ cluster })) });
    const top = await admin.untilReady(
      await admin.createKey({ user: 'alice', scope: clusters('one', 'two') }),
    );
    const middle = await admin.untilReady(await admin.createKey({ accessKey: top.metadata.name }));
    const token = await admin.untilReady(await admin.createToken({ accessKey: middle.metadata.name }));
    const predecessor = token.status.token;
    expect((await issuer.verify(predecessor, `${baseURL}/cluster/one`)).aud).toHaveLength(2);

    await admin.patch(top, { spec: { scope: clusters('two') } });

    expect(await verifier.presented(predecessor)).not.toBe('live');
    const isSuccessor = ({ status }: Stored) => status.serial > 1 && status.token !== undefined;
    const after = await admin.until(token, 'a successor', isSuccessor);
    for (const reason of [reasons.issued, reasons.chainChanged]) await admin.untilEvent(token, reason);
    const told = (await admin.eventsOf(token)).map(({ reason }) => reason);
    expect(told.sort()).toEqual([reasons.chainChanged, reasons.issued]);
    const claims = await issuer.verify(after.status.token, `${baseURL}/cluster/two`);
    expect(claims.aud).toEqual([`${baseURL}/cluster/two`]);
    expect(claims[group].scopes).toEqual([clusters('two')]);
    expect(after.status).toMatchObject({ serial: 2 });
    expect(after.status).not.toHaveProperty('previous');
    expect(after.status.chain).not.toBe(token.status.chain);
    expect(await verifier.presented(predecessor)).toBe('Unknown');
    expect(await verifier.presented(after.status.token)).toBe('live');
    expect(await verifier.presented(middle.spec.key)).toBe('live');
    expect((await admin.get(middle)).status.serial).toBe(1);
  });
});

describe.concurrent('the chain of access keys', () => {
  it('has 8 levels at most', async () => {
    const chain = [await admin.createKey()];
    for (let level = 1; level <= 9; level += 1) {
      const accessKey = chain.at(-1)?.metadata.name;
      chain.push(await admin.createKey({ accessKey }));
    }
    const [tooDeep, deepest] = [chain[9], chain[8]];
    if (tooDeep === undefined || deepest === undefined) throw new TypeError('no chain');
    await admin.untilReady(deepest);
    await admin.untilRefused(tooDeep, reasons.accessKeyChainInvalid);
    const { type, note } = await admin.untilEvent(tooDeep, reasons.accessKeyChainInvalid);
    expect([type, note]).toEqual(['Warning', expect.stringContaining('more than 8 levels')]);
    const underDeepest = await admin.createToken({ accessKey: deepest.metadata.name });
    await admin.untilRefused(underDeepest, reasons.accessKeyChainInvalid);
    const accessKey = chain[7]?.metadata.name;
    const { status } = await admin.untilReady(await admin.createToken({ accessKey }));
    expect(await verifier.presented(status.token)).toBe('live');
  });

  it.each([1, 2, 3])('is no loop: %i keys that lead back to the first grant nothing', async (length) => {
    const names = Array.from({ length }, () => world.name('loop'));
    const keys = await Promise.all(
      names.map((name, index) => admin.createKey({ accessKey: names[(index + 1) % length] }, { name })),
    );
    const token = await admin.createToken({ accessKey: names[0] });
    for (const object of [...keys, token]) {
      const { spec, status } = await admin.untilRefused(object, reasons.accessKeyChainInvalid);
      const { type, note } = await admin.untilEvent(object, reasons.accessKeyChainInvalid);
      expect([type, note]).toEqual([
        'Warning',
        expect.stringMatching(/^The chain of access keys .* has a loop/),
      ]);
      expect(spec).not.toHaveProperty('key');
      expect(status).not.toHaveProperty('credentialHash');
      expect(await verifier.of(object)).not.toBe('live');
    }
  });
});
