import { createPrivateKey } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { Agent, request } from 'undici';
import { describe, expect, it } from 'vitest';
import { createAuthority, createClient } from '../../../lab/controlplane/certificates.ts';
import { trustingConfiguration } from '../../../lab/gateway/trusting-configuration.ts';
import { secretAt } from '../../../lab/operator/api.ts';
import { giveRight } from '../../../lab/operator/rights.ts';
import { until } from '../../../lab/operator/until.ts';
import { apiVersion, systemNamespace, systemObjects } from '../../../src/api/names.ts';
import { configMaps, credentialLocks } from '../../../src/api/resources.ts';
import { tokenIDHash } from '../../../src/credentials/token-id.ts';
import { signToken } from '../../../src/credentials/tokens/sign-token.ts';
import type { IssuedToken } from '../../e2e/gateway/direct-world.ts';
import { describeEnforcers } from '../../e2e/gateway/scope-enforcers.ts';
import { webhookWorld } from '../../e2e/gateway/webhook-world.ts';

const asking = await webhookWorld();
const { direct, url, files } = asking;
const { world, inside, cluster } = direct;
const { admin } = world;
const { plane } = inside;
let { endpoint } = asking;

const ca = Buffer.from(plane.caData, 'base64').toString();
const apiServer = new Agent({ connect: { ca } });
const maps = '/api/v1/namespaces/default/configmaps';

interface Answer {
  readonly status: number;
  readonly message: string;
  readonly text: string;
}

async function ask(
  token: string,
  path: string,
  { method = 'GET', headers = {}, body }: { method?: 'GET' | 'POST'; headers?: object; body?: object } = {},
): Promise<Answer> {
  const answer = await request(plane.server + path, {
    method,
    dispatcher: apiServer,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await answer.body.text();
  return {
    status: answer.statusCode,
    message: text.startsWith('{') ? (JSON.parse(text).message ?? '') : '',
    text,
  };
}

const reading = {
  rules: [
    { verbs: ['get', 'list', 'watch'], resources: [{ group: '', resources: ['configmaps'] }], cluster },
  ],
};

/** A token of a user who may do everything with config maps, and impersonate, in the cluster. */
async function token(scope: object | undefined = reading): Promise<IssuedToken & { readonly user: string }> {
  const user = await direct.user();
  await giveRight(inside.admin, user, { apiGroups: [''], resources: ['configmaps'], verbs: ['*'] });
  await giveRight(inside.admin, user, {
    ...{ apiGroups: [''], resources: ['users', 'groups'], verbs: ['impersonate'] },
  });
  const issued = await direct.token(user, scope === undefined ? {} : { scope });
  await until('the webhook knows the token', async () => (await ask(issued.token, maps)).status === 200);
  return { ...issued, user };
}

/** For tests that take nothing away from it. */
const shared = { narrow: await token(), whole: await token({ clusters: [{ cluster }] }) };

const partsOf = (text: string) =>
  text
    .split('.')
    .slice(0, 2)
    .map((part) => JSON.parse(Buffer.from(part, 'base64url').toString()));

describe('an API server that asks the webhook', () => {
  it('takes a narrow token, and lets it do what its scope and the rights of its user allow', async () => {
    const { token: text } = shared.narrow;
    const [header, claims] = partsOf(text);
    expect(header).not.toHaveProperty('crit');
    expect(claims.aud).toEqual([expect.stringMatching(new RegExp(`/cluster/${cluster}/scoped$`))]);
    expect(await ask(text, maps)).toMatchObject({ status: 200 });
    // In the scope of no token, and not among the rights of the user.
    expect((await ask(text, '/api/v1/namespaces/default/secrets')).message).toMatch(
      /secrets is forbidden.*scope.*ERR_SCOPE/,
    );
  });

  it('refuses what is outside the scope, though the user may, and says why to kubectl', async () => {
    const { token: text } = shared.narrow;
    const kubeconfig = await plane.kubeconfigWithToken('bearer', text);
    const { stderr } = await plane.kubectl(['create', 'configmap', 'new', '-n', 'default'], { kubeconfig });
    expect(stderr).toContain('out of scope: cannot create "configmaps"');
    const { stdout } = await plane.kubectl(['get', 'configmaps', '-n', 'default', '-o', 'name'], {
      kubeconfig,
    });
    expect(stdout).toContain('configmap/');
    const canI = async (verb: string) =>
      (
        await plane.kubectl(['auth', 'can-i', verb, 'configmaps', '-n', 'default'], { kubeconfig })
      ).stdout.trim();
    expect(await canI('list')).toBe('yes');
    expect(await canI('create')).toMatch(/^no - out of scope: cannot create .*ERR_SCOPE/);
  });

  it('lets an apply make an object only where the scope has create, and change one without it', async () => {
    const verbs = ['get', 'patch'];
    const { token: text } = await token({
      rules: [{ verbs: [...verbs, 'list'], resources: [{ group: '', resources: ['configmaps'] }], cluster }],
    });
    const kubeconfig = await plane.kubeconfigWithToken('bearer', text);
    const name = world.name('applied');
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'default' } };
    const apply = async () =>
      await plane.kubectl(['apply', '--server-side', '-f', '-'], {
        kubeconfig,
        input: JSON.stringify(object),
      });
    expect((await apply()).stderr).toContain('out of scope: cannot create "configmaps"');
    await inside.admin.createObject(configMaps, object);
    expect((await apply()).stderr).toBe('');
  });

  it('leaves the rights of the user to RBAC', async () => {
    const user = await direct.user();
    const { token: text } = await direct.token(user, { scope: reading });
    await until('RBAC refuses it', async () => {
      const { status, message } = await ask(text, maps);
      return status === 403 && !message.includes('ERR_');
    });
  });

  it.each([
    ['a narrow token', shared.narrow],
    ['one for the whole cluster', shared.whole],
  ])('lets no one act as another user with %s', async (_, { token: text }) => {
    for (const headers of [
      { 'impersonate-user': 'bob' },
      { 'impersonate-user': 'bob', 'impersonate-group': 'a' },
    ]) {
      const answer = await ask(text, maps, { headers });
      expect(answer).toMatchObject({ status: 403, message: expect.stringContaining('ERR_IMPERSONATION') });
    }
  });

  it('refuses a token within a second of its deletion', async () => {
    const times: number[] = [];
    for (let run = 0; run < 4; run += 1) {
      const { object, token: text } = await token(run % 2 === 0 ? reading : { clusters: [{ cluster }] });
      const deleted = admin.delete(object);
      const began = performance.now();
      let answer: Answer;
      do answer = await ask(text, maps);
      while (answer.status === 200);
      times.push(performance.now() - began);
      await deleted;
      expect(answer).toMatchObject({
        status: 403,
        message: expect.stringContaining('ERR_WEBHOOK_CREDENTIAL'),
      });
    }
    // One of them may fall into a pause of the machine.
    expect(times.toSorted((one, other) => one - other).at(-2)).toBeLessThan(1_000);
  });

  it('asks nothing about ordinary users', async () => {
    const answers = async () => {
      const port = await endpoint.listeningPort('metrics');
      const { body } = await request(`http://127.0.0.1:${port}/metrics`);
      const lines = (await body.text()).split('\n').filter((line) => line.includes('reviews_total{'));
      return lines.join('\n');
    };
    const before = await answers();
    await giveRight(inside.admin, 'ordinary', {
      apiGroups: [''],
      resources: ['configmaps'],
      verbs: ['list'],
    });
    const kubeconfig = await plane.kubeconfigFor('ordinary');
    await until('RBAC knows the right', async () => {
      const { exitCode } = await plane.kubectl(['get', 'configmaps', '-n', 'default'], { kubeconfig });
      return exitCode === 0;
    });
    expect(await answers()).toBe(before);
  });
});

describe('a token that is forged with the real signing key, which the API server takes,', () => {
  /** As someone with a copy of the key would sign it, for as long as they like. */
  async function forge(real: string, changes: object): Promise<string> {
    const [{ kid }, claims] = partsOf(real);
    const { data = {} } = await admin.get(secretAt(systemNamespace, systemObjects.signingKeys));
    const privateKey = createPrivateKey(Buffer.from(data[`${kid}.pem`] ?? '', 'base64'));
    return signToken({ ...claims, exp: claims.exp + 86_400, ...changes }, { kid, privateKey });
  }

  it('is refused with a serial that was guessed, and with every other ID that is not that of the token', async () => {
    const { object, token: text } = shared.narrow;
    const { uid } = object.metadata;
    const { jti } = partsOf(text)[1];
    expect(jti).toMatch(new RegExp(`^${uid}\\.1\\.[\\w-]{22}$`));
    const hash = object.status.tokenID?.hash;
    expect(hash).toBe(tokenIDHash(jti));
    for (const guessed of [`${uid}.1`, `${uid}.1.${'A'.repeat(22)}`, hash]) {
      const answer = await ask(await forge(text, { jti: guessed }), maps);
      expect(answer).toMatchObject({
        status: 403,
        message: expect.stringContaining('ERR_WEBHOOK_CREDENTIAL'),
      });
    }
    expect((await ask(text, maps)).status).toBe(200);
  });

  it('with an ID that somebody has seen can do no more than the token, and stops with it', async () => {
    const { token: text, hash } = await token();
    const copy = await forge(text, { jti: partsOf(text)[1].jti });
    expect((await ask(copy, maps)).status).toBe(200);
    expect((await ask(copy, '/api/v1/namespaces/default/secrets')).message).toContain('ERR_SCOPE');
    for (const changes of [{ sub: 'somebody-else' }, { groups: ['admins'] }])
      expect((await ask(await forge(text, changes), maps)).message).toContain('ERR_WEBHOOK_CREDENTIAL');
    await admin.createObject(credentialLocks, {
      apiVersion,
      kind: credentialLocks.kind,
      metadata: { name: world.name('lock') },
      spec: { credentialHash: hash },
    });
    for (const each of [text, copy])
      await until('the lock stops it', async () => (await ask(each, maps)).status === 403);
  });
});

describe('the webhook', () => {
  const review = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SubjectAccessReview',
    spec: { user: 'ann', nonResourceAttributes: { path: '/metrics', verb: 'get' } },
  };
  const { ca: endpointCA } = files.certificate;
  const post = async (connect: object, body: string, path = '/authorize') => {
    const dispatcher = new Agent({ connect: { ca: endpointCA, ...connect } });
    try {
      const answer = await request(url + path, { method: 'POST', dispatcher, body });
      return { status: answer.statusCode, body: (await answer.body.json()) as object };
    } finally {
      await dispatcher.close();
    }
  };

  it('answers an API server with its certificate, and no one else', async () => {
    const stranger = createClient(createAuthority('api-server-ca'), { user: 'api-server' });
    const other = { cert: stranger.certificate, key: stranger.key };
    for (const connect of [{}, other]) await expect(post(connect, JSON.stringify(review))).rejects.toThrow();
    const noOpinion = { status: { allowed: false, denied: false } };
    expect(await post(files.client, JSON.stringify(review))).toMatchObject({ status: 200, body: noOpinion });
  });

  it.each([
    ['no JSON', '{', 400],
    ['another kind', '{"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectAccessReview"}', 400],
    ['another version', '{"apiVersion":"authorization.k8s.io/v1beta1","kind":"SubjectAccessReview"}', 400],
    ['more than a review can be', JSON.stringify({ ...review, more: 'x'.repeat(300_000) }), 413],
  ])('has no answer to %s', async (_, body, status) => {
    expect(await post(files.client, body)).toMatchObject({ status });
  });
});

// Here, for it needs the same cluster, whose start takes as long as its tests.
describe('a scope', () => describeEnforcers(asking));

describe('without the webhook', () => {
  it('tokens open nothing while it is away, and others go on', async () => {
    const { token: text } = shared.narrow;
    await endpoint.end();
    // 404 would come from behind the authorization.
    expect([403, 500]).toContain((await ask(text, maps)).status);
    expect((await inside.admin.client.list(configMaps, { namespace: 'default' })).items).not.toEqual([]);
    endpoint = await asking.startEndpoint();
    await until('it answers again', async () => (await ask(text, maps)).status === 200);
  });

  // The last one: the API server keeps this configuration.
  it('a narrow token is refused by the configuration that takes tokens without asking', async () => {
    const { narrow, whole } = shared;
    const { url: issuer, ca: platformCA } = { url: world.gateway.url, ca: world.gateway.ca };
    const shown = JSON.stringify(trustingConfiguration(issuer, platformCA));
    await writeFile(files.authentication, shown.replaceAll('/cluster/staging', `/cluster/${cluster}`));
    await until('it is in use', async () => (await ask(narrow.token, maps)).status === 401, {
      timeoutMs: 90_000,
    });
    await until('whole ones go on', async () => (await ask(whole.token, maps)).status !== 401);
  });
});
