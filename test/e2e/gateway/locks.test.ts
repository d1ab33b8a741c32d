import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { RunningGateway } from '../../../lab/gateway/running-gateway.ts';
import type { Stored } from '../../../lab/operator/api.ts';
import { bindRole, giveRight } from '../../../lab/operator/rights.ts';
import { leastMs, until } from '../../../lab/operator/until.ts';
import { formatInstant } from '../../../src/api/instant.ts';
import { apiVersion } from '../../../src/api/names.ts';
import { reasons } from '../../../src/api/reasons.ts';
import { credentialLocks } from '../../../src/api/resources.ts';
import { generateAccessKey } from '../../../src/credentials/keys/access-key.ts';
import { credentialHash } from '../../../src/credentials/keys/credential-hash.ts';
import { isAllowed } from '../../../src/platform/access-review.ts';
import { gatewayWorld } from './gateway-world.ts';
import { untilKnown } from './known-holder.ts';
import { serveUntilRefused } from './load.ts';

const world = await gatewayWorld();
const { gateway, admin } = world;
const path = '/kubernetes/management/api/v1/namespaces/default/configmaps';
const locksPath = `/kubernetes/management/apis/${apiVersion}/credentiallocks`;
const maps = { apiGroups: [''], resources: ['configmaps'], verbs: ['*'] };

const newUser = async (): Promise<string> => {
  const user = world.name('user');
  await giveRight(admin, user, maps);
  return user;
};

const lockObject = (spec: object) => ({
  ...{ apiVersion, kind: 'CredentialLock' },
  ...{ metadata: { name: world.name('lock') }, spec },
});
const lock = async (spec: object): Promise<Stored> =>
  await admin.createObject(credentialLocks, lockObject(spec));

async function statusOf(key: string): Promise<number> {
  const { statusCode, body } = await gateway.send(path, { key });
  await body.dump();
  return statusCode;
}

const untilServed = async (key: string): Promise<void> =>
  void (await until('the key is served', async () => (await statusOf(key)) === 200));
const untilStopped = async (key: string): Promise<void> =>
  void (await until('the key is refused', async () => (await statusOf(key)) === 401));

/** Open and alive; `ended` resolves when the gateway has cut it. */
async function watchWith(key: string) {
  await untilServed(key);
  const { body } = await gateway.send(`${path}?watch=true`, { key });
  const ended = (async () => {
    for await (const _ of body);
  })().catch(() => 'cut' as const);
  return { ended };
}

it('a lock of a user stops their keys under load, cuts what is open, and gives all back when it goes', async () => {
  const user = await newUser();
  const { key, object } = await world.holder({ user });
  const { key: other } = await world.holder({ user: await newUser() });
  await untilServed(other);
  const watch = await watchWith(key);
  const made = Promise.withResolvers<Stored>();
  const { late } = await serveUntilRefused(
    async () => await statusOf(key),
    async () => made.resolve(await lock({ user })),
  );
  expect(late).toBe(0);
  expect(await watch.ended).toBe('cut');
  const { statusCode, body } = await gateway.send(path, { key });
  expect(statusCode).toBe(401);
  expect(await body.json()).toMatchObject({
    message: expect.stringContaining('a lock of the platform stops this credential'),
  });
  expect(await statusOf(other)).toBe(200);
  const stopped = await admin.untilRefused(object, reasons.locked);
  expect(stopped.status).toMatchObject({ active: false, state: 'Locked' });
  const inForce = await admin.until(
    await made.promise,
    'counted',
    ({ status }) => status.stoppedCredentials === 1,
  );
  expect(inForce.status).toMatchObject({
    stops: `user ${user}`,
    state: 'Ready',
    inForceSince: expect.any(String),
  });
  await admin.delete(inForce);
  await untilServed(key);
  expect((await admin.untilReady(object)).spec).toEqual(object.spec);
});

it('what is refused begins within 50 ms of the answer to the lock, on a machine that is not busy', async () => {
  const took = await leastMs(50, async () => {
    const user = await newUser();
    const { key } = await world.holder({ user });
    await untilServed(key);
    const made = await lock({ user });
    const began = performance.now();
    // A request under way is cut.
    for (let status = 200; status === 200; ) status = await statusOf(key).catch(() => 401);
    const ms = performance.now() - began;
    await admin.delete(made);
    return ms;
  });
  expect(took).toBeLessThan(50);
});

type Family = Readonly<Record<'user' | 'group' | 'parent' | 'key' | 'hash', string>>;

describe('a key below a key', () => {
  it.concurrent.each<[string, (family: Family) => object]>([
    ['its user', ({ user }) => ({ user })],
    ['a group that the key above carries', ({ group }) => ({ group })],
    ['the key above', ({ parent }) => ({ accessKey: { name: parent } })],
    ['the hash of the key above', ({ hash }) => ({ credentialHash: hash })],
    ['its user, and a time to come', ({ user }) => ({ user, issuedBefore: '2100-01-01T00:00:00Z' })],
  ])('is stopped by a lock of %s, also when it was made a moment before', async (_, specOf) => {
    const [user, group] = [await newUser(), world.name('group')];
    const parent = await world.holder({ user, groups: [group] });
    const child = await world.holder({ accessKey: parent.object.metadata.name });
    await untilServed(child.key);
    const name = parent.object.metadata.name;
    const family = { user, group, parent: name, key: child.key, hash: credentialHash(parent.key) };
    const watch = await watchWith(child.key);
    const [made, late] = await Promise.all([lock(specOf(family)), admin.createKey({ accessKey: name })]);
    expect(await watch.ended).toBe('cut');
    await untilStopped(child.key);
    await admin.untilRefused(child.object, reasons.locked);
    await admin.untilRefused(late, reasons.locked);
    await admin.delete(made);
    await untilServed(child.key);
    await admin.untilReady(late);
  });

  it.concurrent.each<[string, (family: Family) => object]>([
    ['its user in another case', ({ user }) => ({ user: user.toUpperCase() })],
    ['a time before it', ({ user }) => ({ user, issuedBefore: '2020-01-01T00:00:00Z' })],
    ['the key above under another UID', ({ parent }) => ({ accessKey: { name: parent, uid: 'another' } })],
    [
      'its user, with an end that is over',
      ({ user }) => ({ user, expirationTimestamp: '2020-01-01T00:00:00Z' }),
    ],
  ])('goes on under a lock of %s', async (_, specOf) => {
    const user = await newUser();
    const parent = await world.holder({ user });
    const child = await world.holder({ accessKey: parent.object.metadata.name });
    await untilServed(child.key);
    const family = { user, group: '', parent: parent.object.metadata.name, key: child.key, hash: '' };
    const made = await lock(specOf(family));
    const known = await admin.until(made, 'seen', ({ status }) => status.observedGeneration === 1);
    expect(known.status.stoppedCredentials ?? 0).toBe(0);
    expect(await statusOf(child.key)).toBe(200);
    await admin.delete(made);
  });
});

it('below a locked key nothing is issued, also where its user asks the API server past the gateway', async () => {
  const user = await newUser();
  const parent = await world.holder({ user });
  const accessKey = parent.object.metadata.name;
  const { api } = await world.user(user);
  const made = await lock({ accessKey: { name: accessKey } });
  await untilStopped(parent.key);
  const secret = generateAccessKey(randomBytes(32));
  const [child, token] = await Promise.all([
    api.createKey({ accessKey, key: secret }),
    api.createToken({ accessKey, scope: { roles: [{ role: 'platform-cli' }] } }),
  ]);
  await admin.untilRefused(child, reasons.locked);
  expect((await admin.untilRefused(token, reasons.locked)).status).not.toHaveProperty('token');
  expect(await statusOf(secret)).toBe(401);
  await admin.delete(made);
  await untilServed(secret);
  expect((await admin.untilReady(token)).status).toHaveProperty('token');
});

it('a key that is locked by its hash stays stopped when it comes back with another object, from a backup or from Git', async () => {
  const user = await newUser();
  const { key, object } = await world.holder({ user });
  const made = await lock({ credentialHash: `sha256:${credentialHash(key)}` });
  await untilStopped(key);
  await admin.delete(object);
  await admin.untilGone(object);
  const restored = await admin.createKey({ user, key: `sha256:${credentialHash(key)}` });
  await admin.untilRefused(restored, reasons.locked);
  expect(await statusOf(key)).toBe(401);
  await admin.delete(made);
  await untilServed(key);
  await admin.delete(restored);
});

it('a lock by time lets pass what is made from then on, and ends by the clock', async () => {
  const user = await newUser();
  const { key } = await world.holder({ user });
  await untilServed(key);
  const issuedBefore = formatInstant(Date.now() + 1_000);
  const end = formatInstant(Date.now() + 6_000);
  const made = await lock({ user, issuedBefore, expirationTimestamp: end });
  await untilStopped(key);
  await until('that time', async () => Date.now() > Date.parse(issuedBefore) + 50);
  const later = await world.holder({ user });
  await untilServed(later.key);
  await untilServed(key);
  expect(Date.now()).toBeGreaterThan(Date.parse(end) - 50);
  const over = await admin.untilRefused(made, reasons.expired);
  expect(over.status).toMatchObject({ state: 'Expired', stoppedCredentials: 0 });
  await admin.delete(over);
});

it('a token is stopped by the key that signed it, and works again without the lock', async () => {
  const user = await newUser();
  const parent = await world.holder({ user });
  const scope = { roles: [{ role: 'platform-cli' }] };
  const accessKey = parent.object.metadata.name;
  const token = await admin.untilReady(await admin.createToken({ accessKey, scope }));
  const bearer = String(token.status.token);
  const asked = async () => {
    const { statusCode, body } = await gateway.send('/kubernetes/management/version', { key: bearer });
    await body.dump();
    return statusCode;
  };
  await until('the token is taken', async () => (await asked()) === 200);
  const made = await lock({
    signingKeyID: token.status.signingKeyID,
    expirationTimestamp: '2100-01-01T00:00:00Z',
  });
  await until('the token is refused', async () => (await asked()) === 401);
  const stopped = await admin.untilRefused(token, reasons.locked);
  expect(stopped.status.token).toBe(bearer);
  await admin.delete(made);
  await until('the token is taken again', async () => (await asked()) === 200);
});

describe('a lock', () => {
  const usual = { apiGroups: ['management.platform.sh'], resources: ['credentiallocks'] };
  const verbs = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection'];

  it('is made, changed and deleted by no one without the verb lock, whatever other rights they have', async () => {
    const name = world.name('gitops');
    const { api } = await world.user(name);
    await giveRight(admin, name, { ...usual, verbs });
    const made = await lock({ user: world.name('nobody') });
    const refusal = { statusMessage: expect.stringMatching(/needs the verb lock .*code ERR_POLICY_LOCK/) };
    await expect(api.createObject(credentialLocks, lockObject({ user: 'x' }))).rejects.toMatchObject(refusal);
    await expect(
      api.patch(made, { spec: { expirationTimestamp: '2020-01-01T00:00:00Z' } }),
    ).rejects.toMatchObject(refusal);
    await expect(api.patch(made, { metadata: { labels: { a: 'b' } } })).rejects.toMatchObject(refusal);
    await expect(api.delete(made)).rejects.toMatchObject(refusal);
    await expect(api.client.request('DELETE', `/apis/${apiVersion}/credentiallocks`)).rejects.toMatchObject(
      refusal,
    );
    await bindRole(admin, name, 'latchkey-locker');
    const question = { group: 'management.platform.sh', resource: 'credentiallocks', verb: 'lock', name: '' };
    await until(
      'the role counts',
      async () => await isAllowed(admin.client, { user: name, groups: [] }, question),
    );
    await expect(
      api.patch(made, { status: { stops: 'nothing' } }, { subresource: 'status' }),
    ).rejects.toThrow();
    await api.patch(made, { spec: { reason: 'INC-1' } });
    await api.delete(made);
  });

  it('is within reach of an unlimited key of who may lock, and of a scope that names it alone', async () => {
    const user = await newUser();
    await giveRight(admin, user, { ...usual, verbs: [...verbs, 'lock'] });
    const send = async (key: string) => {
      const headers = { 'content-type': 'application/json' };
      const body = JSON.stringify(lockObject({ user: world.name('nobody') }));
      const { statusCode, body: said } = await gateway.send(`${locksPath}?dryRun=All`, {
        method: 'POST',
        key,
        headers,
        body,
      });
      return { statusCode, text: await said.text() };
    };
    const rule = (resources: readonly string[]) => ({
      scope: {
        rules: [
          {
            verbs: ['create'],
            resources: [{ group: 'management.platform.sh', resources }],
            requestTargets: ['Management'],
          },
        ],
      },
    });
    const [free, wide, named] = await Promise.all(
      [{}, rule(['*']), rule(['credentiallocks'])].map(async (spec) => await world.holder({ user, ...spec })),
    );
    const expected = [
      [free, 201, ''],
      [named, 201, ''],
      [wide, 403, 'out of scope'],
    ] as const;
    for (const [holder, status, text] of expected) {
      await untilKnown(gateway, holder?.key ?? '');
      const answer = await send(holder?.key ?? '');
      expect(answer).toEqual({ statusCode: status, text: expect.stringContaining(text) });
    }
  });
});

it('a lock that is made while no operator runs is obeyed, also by a gateway that starts only then', async () => {
  const user = await newUser();
  const { key } = await world.holder({ user });
  const { key: other } = await world.holder({ user: await newUser() });
  await untilServed(key);
  await world.killOperator();
  await lock({ user });
  await untilStopped(key);
  const restarted = await RunningGateway.start(world.plane, world.guard, { name: world.name('restarted') });
  const ask = async (secret: string) => {
    const { statusCode, body } = await restarted.send(path, { key: secret });
    await body.dump();
    return statusCode;
  };
  expect([await ask(key), await ask(other)]).toEqual([401, 200]);
  await restarted.end();
  await world.startOperator();
});
