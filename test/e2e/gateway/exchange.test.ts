import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { RunningGateway } from '../../../lab/gateway/running-gateway.ts';
import { baseURL } from '../../../lab/operator/running-operator.ts';
import { until } from '../../../lab/operator/until.ts';
import { TokenIssuer } from '../../../lab/provider/token-issuer.ts';
import { annotations } from '../../../src/api/names.ts';
import { credentialLocks } from '../../../src/api/resources.ts';
import { credentialHash, keyIDOf } from '../../../src/credentials/keys/credential-hash.ts';
import { readAuditLog } from '../../builders/audit-lines.ts';
import { removeExchangedKeys } from './exchanged-keys.ts';
import { gatewayWorld } from './gateway-world.ts';
import { management, OwnClient } from './own-client.ts';

const issuer = await TokenIssuer.start();
const login = {
  clientID: 'latchkey-cli',
  username: { claim: 'preferred_username', prefix: '' },
  groups: { claim: 'groups', prefix: 'site:', allowed: ['shop-*'] },
  ttl: 3_600,
};
const { certificateAuthority } = issuer;
const trusted = [{ issuer: issuer.issuer, algorithms: ['ES256'], certificateAuthority, login }];
const folder = await mkdtemp(path.join(tmpdir(), 'exchange-'));
const auditLog = path.join(folder, 'audit.log');
const env = { LATCHKEY_TRUSTED_ISSUERS: JSON.stringify(trusted) };
const world = await gatewayWorld({ ...env, LATCHKEY_AUDIT: 'require', LATCHKEY_AUDIT_LOG: auditLog });
const { admin, name, plane } = world;
const replica = async () => await RunningGateway.start(plane, world.guard, { name: name('replica'), env });
const other = await replica();
afterAll(async () => {
  await other.end();
  await issuer.stop();
  await rm(folder, { recursive: true });
  await removeExchangedKeys(plane);
});

async function exchange(parameters: Record<string, string>, gateway = world.gateway) {
  const body = new URLSearchParams({
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
    ...parameters,
  });
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const answer = await gateway.send('/oauth/token', { method: 'POST', headers, body: body.toString() });
  // biome-ignore lint/suspicious/noExplicitAny: answers are checked by the tests
  const json = (await answer.body.json()) as any;
  return { status: answer.statusCode, headers: answer.headers, body: json };
}

const selves = `${management}/apis/management.platform.sh/v1/selves`;
const pipeline = name('ci-shop');
let count = 0;
const pipelineToken = async (claims: object = {}) =>
  await issuer.sign({
    aud: baseURL,
    sub: 'repo:acme/shop:ref:refs/heads/main',
    jti: name(`run-${++count}`),
    repository_id: '821093847',
    ref: 'refs/heads/main',
    ...claims,
  });

/** A key that takes tokens of one repository, once both replicas know it. */
async function trustingKey(spec: object = {}) {
  const key = await admin.untilReady(
    await admin.createKey({
      user: pipeline,
      exchange: {
        maxTTL: 900,
        tokens: [{ issuer: issuer.issuer, claims: { repository_id: '821093847', ref: 'refs/heads/main' } }],
      },
      ...spec,
    }),
  );
  const audience = key.metadata.name;
  for (const gateway of [world.gateway, other])
    await until('the replica takes tokens for it', async () => {
      const { status } = await exchange({ audience, subject_token: await pipelineToken() }, gateway);
      return status === 200;
    });
  return { key, audience };
}

it('a pipeline exchanges its token for a child that ends with the key, which has no secret itself', async () => {
  const { key, audience } = await trustingKey();
  expect(key).toMatchObject({ status: { keySource: 'Exchange' } });
  expect(key.spec).not.toHaveProperty('key');
  const answer = await exchange({ audience, subject_token: await pipelineToken() });
  expect(answer).toMatchObject({
    status: 200,
    headers: { 'cache-control': 'no-store', 'content-type': 'application/json' },
    body: { issued_token_type: 'urn:ietf:params:oauth:token-type:access_token', token_type: 'Bearer' },
  });
  expect(answer.body.expires_in).toBeGreaterThan(880);
  expect(answer.body.expires_in).toBeLessThanOrEqual(900);
  const child = new OwnClient(world, answer.body.access_token);
  const self = await child.send('POST', selves, { body: {} });
  expect(self.body.status.user.name).toBe(pipeline);
  await admin.patch(key, { spec: { disabled: true } });
  await until(
    'the child ends with its key',
    async () => (await child.send('GET', `${management}/api`)).status === 401,
  );
});

it('a lock of issuer and subject stops what came of their tokens, and takes no more of these', async () => {
  const { audience } = await trustingKey();
  const sub = name('repo');
  const [mine, other] = await Promise.all(
    [sub, name('repo')].map(
      async (subject) => await exchange({ audience, subject_token: await pipelineToken({ sub: subject }) }),
    ),
  );
  const [child, untouched] = [mine, other].map((answer) => new OwnClient(world, answer?.body.access_token));
  const statusOf = async (client: OwnClient | undefined) =>
    (await client?.send('GET', `${management}/api`))?.status;
  expect([await statusOf(child), await statusOf(untouched)]).toEqual([200, 200]);
  const { body: self } = (await child?.send('POST', selves, { body: {} })) ?? {};
  const key = { kind: 'OwnedAccessKey', metadata: { name: String(self.status.credential.name) } };
  // Its user has rights at the API server, and cannot take it from under the lock there.
  const { api } = await world.user(pipeline);
  const changed = await api.annotate(key, {
    [annotations.exchangedIssuer]: null,
    [annotations.exchangedSubject]: 'another',
  });
  expect(changed.metadata.annotations).toMatchObject({ [annotations.exchangedSubject]: sub });
  const lock = await admin.create(credentialLocks, { exchange: { issuer: issuer.issuer, subject: sub } });
  await until('the child is refused', async () => (await statusOf(child)) === 401);
  const refused = await exchange({ audience, subject_token: await pipelineToken({ sub }) });
  expect(refused).toMatchObject({
    status: 400,
    body: { error_description: expect.stringContaining('a lock of the platform stops') },
  });
  expect(await statusOf(untouched)).toBe(200);
  await admin.delete(lock);
  await until('the child works again', async () => (await statusOf(child)) === 200);
});

it('two replicas that get one token at once make one key', async () => {
  const { audience } = await trustingKey();
  const subject_token = await pipelineToken();
  const answers = await Promise.all(
    [world.gateway, other, world.gateway, other].map(
      async (gateway) => await exchange({ audience, subject_token }, gateway),
    ),
  );
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 400, 400, 400]);
  const refused = answers.find(({ status }) => status === 400);
  expect(refused?.body).toMatchObject({
    error: 'invalid_request',
    error_description: expect.stringContaining('was exchanged before'),
  });
});

it('a token is not exchanged once more after its key was deleted', async () => {
  const { audience } = await trustingKey();
  const subject_token = await pipelineToken();
  const { body } = await exchange({ audience, subject_token });
  const child = new OwnClient(world, body.access_token);
  const own = `${management}/apis/management.platform.sh/v1/ownedaccesskeys`;
  const self = await child.send('POST', selves, { body: {} });
  expect((await child.send('DELETE', `${own}/${self.body.status.credential.name}`)).status).toBe(200);
  await until('the deleted key grants nothing', async () => (await child.send('GET', own)).status === 401);
  const restarted = await replica();
  for (const gateway of [world.gateway, other, restarted])
    expect((await exchange({ audience, subject_token }, gateway)).body.error_description).toContain(
      'was exchanged before',
    );
  await restarted.end();
});

it('the audit log has a line about each exchange, with the key and without the token', async () => {
  const { audience } = await trustingKey();
  const subject_token = await pipelineToken();
  const { body } = await exchange({ audience, subject_token });
  const keyID = keyIDOf(credentialHash(body.access_token));
  expect((await exchange({ audience, subject_token })).status).toBe(400);
  const lines = async () => readAuditLog(await readFile(auditLog, 'utf8'));
  const made = await until('there is a line', async () =>
    (await lines()).find(
      ({ stage, annotations }) => stage === 'ResponseComplete' && annotations['changed-key-id'] === keyID,
    ),
  );
  expect(made).toMatchObject({
    requestURI: '/oauth/token',
    user: { username: 'system:anonymous' },
    responseStatus: { code: 200 },
    annotations: {
      ...{ action: 'create', decision: 'allow', 'changed-kind': 'OwnedAccessKey' },
      changed: expect.stringMatching(/^exchanged-/),
    },
  });
  await until('there is a line about the refused one', async () =>
    (await lines()).some(({ annotations }) => annotations['error'] === 'ERR_EXCHANGE_USED'),
  );
  const text = await readFile(auditLog, 'utf8');
  for (const secret of [body.access_token, ...subject_token.split('.')]) expect(text).not.toContain(secret);
});

it('a key that takes other tokens now, or none, takes the former ones no more', async () => {
  const { key, audience } = await trustingKey();
  const answer = async (claims: object) =>
    (await exchange({ audience, subject_token: await pipelineToken(claims) })).body.error ?? 'taken';
  const rule = (ref: string) => ({ tokens: [{ issuer: issuer.issuer, claims: { ref } }] });
  await admin.patch(key, { spec: { exchange: rule('refs/heads/next') } });
  await until('the change is known', async () => (await answer({ ref: 'refs/heads/next' })) === 'taken');
  expect(await answer({})).toBe('invalid_target');
  await admin.patch(key, { spec: { disabled: true } });
  await until('the key is known to be disabled', async () => {
    const { body } = await exchange({
      audience,
      subject_token: await pipelineToken({ ref: 'refs/heads/next' }),
    });
    return body.error_description?.includes('grants nothing now: the access key is disabled');
  });
  await admin.delete(key);
  await until('the key is gone', async () => {
    const { body } = await exchange({
      audience,
      subject_token: await pipelineToken({ ref: 'refs/heads/next' }),
    });
    return body.error_description?.includes('no access key');
  });
});

it.each([
  ['another repository', { repository_id: '1' }],
  ['a number in place of a text', { repository_id: 821093847 }],
])(
  'a token with %s is taken for no key, and the answer is that for a key that is not there',
  async (_, claims) => {
    const { audience } = await trustingKey();
    const [refused, unknown] = await Promise.all(
      [audience, 'not-there'].map(
        async (one) => await exchange({ audience: one, subject_token: await pipelineToken(claims) }),
      ),
    );
    expect(refused).toMatchObject({ status: 400, body: { error: 'invalid_target' } });
    expect(refused?.body.error_description.replace(audience, 'x')).toBe(
      unknown?.body.error_description.replace('not-there', 'x'),
    );
  },
);

it('a person logs in: the key is a Login with the mapped groups and the identity, and never with the token', async () => {
  const user = name('alice');
  const claims = {
    aud: login.clientID,
    sub: 'subject-of-alice',
    jti: name('login'),
    preferred_username: user,
    email: 'alice@example.com',
    email_verified: true,
    groups: ['shop-devs', 'staff'],
  };
  const subject_token = await issuer.sign(claims);
  const { status, body } = await exchange({ subject_token });
  expect([status, body.error_description]).toEqual([200, undefined]);
  const holder = new OwnClient(world, body.access_token);
  const own = `${management}/apis/management.platform.sh/v1/ownedaccesskeys`;
  const { body: list } = await holder.send('GET', own);
  expect(list.items).toHaveLength(1);
  expect(list.items[0]).toMatchObject({
    spec: {
      user,
      groups: ['site:shop-devs'],
      type: 'Login',
      ttl: 3_600,
      identity: {
        userId: 'subject-of-alice',
        username: user,
        email: 'alice@example.com',
        groups: ['shop-devs'],
        connector: issuer.issuer,
      },
    },
  });
  expect(JSON.stringify(list)).not.toContain(subject_token.slice(-40));
  const { metadata } = list.items[0];
  expect(metadata.annotations).toMatchObject({
    'management.platform.sh/requester': user,
    'management.platform.sh/exchanged-issuer': issuer.issuer,
    'management.platform.sh/exchanged-subject': 'subject-of-alice',
  });
  const lock = await admin.create(credentialLocks, { group: 'site:shop-devs' });
  await until('the login is refused', async () => (await holder.send('GET', own)).status === 401);
  const again = await exchange({ subject_token: await issuer.sign({ ...claims, jti: name('login') }) });
  expect(again.body.error_description).toContain('a lock of the platform stops');
  await admin.delete(lock);
  await until('it works again', async () => (await holder.send('GET', own)).status === 200);
});

it('what is made with a login is below it, and ends with it', async () => {
  const claims = { aud: login.clientID, sub: 's', jti: name('login'), preferred_username: name('carol') };
  const { body } = await exchange({ subject_token: await issuer.sign(claims) });
  const holder = new OwnClient(world, body.access_token);
  const own = `${management}/apis/management.platform.sh/v1/ownedaccesskeys`;
  const made = await holder.send('POST', own, { body: { spec: { ttl: 31_536_000 } } });
  expect([made.status, made.body.spec.accessKey]).toEqual([201, expect.stringMatching(/^exchanged-/)]);
  const child = new OwnClient(world, made.body.spec.key);
  expect((await child.send('GET', own)).status).toBe(200);
  expect((await holder.send('DELETE', `${own}/${made.body.spec.accessKey}`)).status).toBe(200);
  await until('the child has ended', async () => (await child.send('GET', own)).status === 401);
});

/** A ServiceAccount is stopped by its name as a subject: no key speaks for it as a user. */
async function stopsAccount(account: Account, token: string, holder: OwnClient): Promise<void> {
  const { iss, sub } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
  expect(sub).toBe(`system:serviceaccount:${account.namespace}:${account.name}`);
  const works = async () => (await holder.send('GET', `${management}/api`)).status;
  expect(await works()).toBe(200);
  await expect(admin.create(credentialLocks, { user: sub })).rejects.toMatchObject({
    statusMessage: expect.stringContaining('spec.exchange those that came of its tokens'),
  });
  const lock = await admin.create(credentialLocks, { exchange: { issuer: iss, subject: sub } });
  await until('the child is refused', async () => (await works()) === 401);
  await admin.delete(lock);
  await until('it works again', async () => (await works()) === 200);
}

interface Account {
  readonly namespace: string;
  readonly name: string;
}

it('a token of a ServiceAccount is judged by the API server', async () => {
  const account = { namespace: 'default', name: name('worker') };
  const inNamespace = ['-n', account.namespace];
  await plane.kubectl(['create', 'serviceaccount', account.name, ...inNamespace]);
  const { audience } = await trustingKey({
    exchange: {
      serviceAccounts: [account],
      tokens: [{ issuer: issuer.issuer, claims: { ref: 'refs/heads/main' } }],
    },
  });
  const token = async (aud: string) =>
    (
      await plane.kubectl(['create', 'token', account.name, ...inNamespace, `--audience=${aud}`])
    ).stdout.trim();
  const good = await exchange({ audience, subject_token: await token(baseURL) });
  expect([good.status, good.body.error_description]).toEqual([200, undefined]);
  await stopsAccount(account, await token(baseURL), new OwnClient(world, good.body.access_token));
  const other = await exchange({ audience, subject_token: await token('https://elsewhere.example') });
  expect(other).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
  const used = await token(baseURL);
  await plane.kubectl(['delete', 'serviceaccount', account.name, ...inNamespace]);
  expect((await exchange({ audience, subject_token: used })).status).toBe(400);
});
