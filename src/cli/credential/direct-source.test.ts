import { readdirSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type Answers,
  aKey,
  baseURL,
  Person,
  selfOf,
  statusOf,
} from '../../../test/builders/command-line.ts';
import type { SentRequest } from '../shared/context.ts';
import { Failure } from '../shared/failure.ts';
import { answerFromCache } from './fast-path.ts';

let person: Person;
beforeEach(() => {
  person = new Person();
});
afterEach(() => person.end());

const start = Date.parse('2026-01-01T00:00:00Z');
const minute = 60_000;
const authority = '-----BEGIN CERTIFICATE-----\nendpoint\n-----END CERTIFICATE-----\n';
const server = 'https://edge.example.com/kubernetes/cluster/edge';
const info = JSON.stringify({
  apiVersion: 'client.authentication.k8s.io/v1',
  kind: 'ExecCredential',
  spec: {
    cluster: { server, 'certificate-authority-data': Buffer.from(authority).toString('base64') },
  },
});

const atGateway = {
  KUBERNETES_EXEC_INFO: info.replace('https://edge.example.com', baseURL),
};

/** A platform that makes tokens, and an endpoint that knows them a few questions later. */
class World {
  now = start;
  tokens: string[] = [];
  deleted: string[] = [];
  refused = new Set<string>();
  exchanged = new Set<string>();
  exchangedUntil = 0;
  /** Keys that the gateway no longer takes. */
  dead = new Set<string>();
  /** Questions that the endpoint answers with 401 for each new token. */
  lag = 0;
  isEndpointAway = false;
  isPlatformAway = false;
  isOperatorSlow = false;
  /** Tokens that an endpoint without news of the platform does not know. */
  isEndpointOld = (_token: string) => false;
  refusal = statusOf(401, 'the credential is not accepted');
  isKeyDead = false;
  asked = 0;

  readonly answers: Answers = {
    'POST /selves': (request) => this.#refusalOf(request) ?? selfOf(),
    'POST /directclusterendpointtokens': (request) => {
      const refusal = this.#refusalOf(request);
      if (refusal !== undefined) return refusal;
      const { ttl } = JSON.parse(request.body ?? '').spec;
      const token = `token.${this.tokens.length}.x`;
      this.tokens.push(token);
      this.asked = 0;
      const isBelowExchanged = request.headers['authorization'] === 'Bearer exchanged';
      const end = Math.min(
        this.now + ttl * 1_000,
        isBelowExchanged ? this.exchangedUntil : Number.POSITIVE_INFINITY,
      );
      const expirationTimestamp = new Date(end).toISOString().replace('.000', '');
      const metadata = { name: `made-${this.tokens.length - 1}` };
      if (this.isOperatorSlow) return { metadata, spec: { ttl } };
      return { metadata, spec: { ttl }, status: { token, expirationTimestamp } };
    },
    'DELETE /directclusterendpointtokens/made-0': () => this.#delete('made-0'),
    'DELETE /directclusterendpointtokens/made-1': () => this.#delete('made-1'),
    'POST /oauth/token': (request) => {
      const token = new URLSearchParams(request.body).get('subject_token') ?? '';
      if (this.exchanged.has(token))
        return { error: 'invalid_request', error_description: 'this token was exchanged before' };
      this.exchanged.add(token);
      this.exchangedUntil = this.now + 900_000;
      const { size } = this.exchanged;
      return { access_token: size === 1 ? 'exchanged' : `exchanged-${size}`, expires_in: 900 };
    },
    'GET /clusters/edge': { spec: { directEndpoint: { host: 'edge.example.com' } } },
    'GET /kubernetes/cluster/edge/version': (request) => {
      if (this.isEndpointAway) throw new Failure('unavailable', 'away', 'Try again.');
      const token = request.headers['authorization']?.replace('Bearer ', '') ?? '';
      this.asked += 1;
      if (this.asked <= this.lag || this.refused.has(token) || this.isEndpointOld(token)) return this.refusal;
      return { gitVersion: 'v1.36.0' };
    },
  };

  #refusalOf({ headers }: SentRequest): object | undefined {
    if (this.isPlatformAway) throw new Failure('unavailable', 'away', 'Try again.');
    const key = headers['authorization']?.replace('Bearer ', '') ?? '';
    return this.isKeyDead || this.dead.has(key) ? statusOf(401, 'the access key is disabled') : undefined;
  }

  #delete(name: string): object {
    this.deleted.push(name);
    return { kind: 'DirectClusterEndpointToken', metadata: { name } };
  }
}

let world: World;
beforeEach(() => {
  world = new World();
});

const line = `credential --base-url ${baseURL} --direct cluster/edge`;
let lastProcess = 500;
async function ask(words = line, process = ++lastProcess, env: Record<string, string> = {}) {
  const result = await person.run(words, {
    ...{ answers: world.answers, now: () => world.now, ppid: process },
    env: { LATCHKEY_ACCESS_KEY: aKey, KUBERNETES_EXEC_INFO: info, ...env },
  });
  const { status } = result.code === 0 ? JSON.parse(result.stdout) : { status: {} };
  return { ...result, token: status.token as string, end: status.expirationTimestamp as string };
}
const sentTo = (url: string) => person.sent.filter((request) => request.url.startsWith(url));

describe('latchkey credential --direct', () => {
  it.each([
    ['cluster/edge', { clusters: [{ cluster: 'edge' }] }],
    ['space/demo/web', { spaces: [{ project: 'demo', space: 'web' }] }],
  ])('makes a token below the key, for an hour, that opens %s alone', async (target, scope) => {
    const { token } = await ask(line.replace('cluster/edge', target));
    expect(token).toBe('token.0.x');
    const made = person.sent.find(({ url }) => url.endsWith('/directclusterendpointtokens'));
    expect(JSON.parse(made?.body ?? '')).toMatchObject({
      kind: 'DirectClusterEndpointToken',
      metadata: { generateName: 'mine-direct-' },
      spec: { accessKey: 'mine', ttl: 3_600, scope },
    });
  });

  it('never sends the key to the endpoint, nor trusts its authority for the gateway', async () => {
    await ask();
    for (const request of sentTo(server)) {
      expect(JSON.stringify(request)).not.toContain(aKey);
      expect(request.ca).toBe(authority);
    }
    for (const request of sentTo(baseURL)) expect(request.ca).toBeUndefined();
  });

  it('waits until the endpoint knows the token, for a client asks once', async () => {
    world.lag = 3;
    expect((await ask()).token).toBe('token.0.x');
    expect(sentTo(server)).toHaveLength(4);
  });

  it('gives the token of an endpoint that is away', async () => {
    world.isEndpointAway = true;
    expect((await ask()).token).toBe('token.0.x');
  });

  it('answers from its cache, and renews when a fifth of the life is left', async () => {
    const { end } = await ask();
    expect(end).toBe('2026-01-01T00:48:00Z');
    world.now += 4 * minute;
    const sent = person.sent.length;
    await ask();
    expect(person.sent).toHaveLength(sent);
    world.now += 44 * minute;
    expect((await ask()).token).toBe('token.1.x');
  });

  it('makes another token after a 401 of the endpoint, and none where the endpoint accepts it', async () => {
    const { token } = await ask(line, 7);
    expect((await ask(line, 7)).token).toBe(token);
    world.refused.add(token);
    expect((await ask(line, 7)).token).toBe('token.1.x');
  });

  it('says that the key has ended, once the endpoint refuses its token', async () => {
    const { token } = await ask(line, 7);
    world.refused.add(token);
    world.isKeyDead = true;
    expect(await ask(line, 7)).toMatchObject({
      ...{ code: 3, stdout: '' },
      stderr: expect.stringContaining('the access key is disabled'),
    });
  });

  it('puts the token below an exchanged key in a pipeline', async () => {
    const { token } = await ask(`${line} --trust ci`, 9, { LATCHKEY_ID_TOKEN: 'a.b.c' });
    expect(token).toBe('token.0.x');
    const made = person.sent.find(({ url }) => url.endsWith('/directclusterendpointtokens'));
    expect(made?.headers['authorization']).toBe('Bearer exchanged');
    expect(JSON.parse(made?.body ?? '').spec).not.toHaveProperty('accessKey');
  });

  it('never gives the token of one target for another, nor in place of a key', async () => {
    await ask();
    await ask(line.replace('edge', 'other'));
    expect(world.tokens).toHaveLength(2);
    expect((await ask(`credential --base-url ${baseURL}`, undefined, atGateway)).token).toBe(aKey);
  });

  it('answers from the cache alone as the whole command does', async () => {
    await person.run(`login --with-key --base-url ${baseURL}`, { stdin: aKey, answers: world.answers });
    const none = { LATCHKEY_ACCESS_KEY: '' };
    const { stdout } = await ask(
      `${line} --certificate-authority ${person.write('a.crt', authority)}`,
      1,
      none,
    );
    const words = [...line.split(' ').slice(1), '--certificate-authority', 'a.crt'];
    const env = { HOME: person.home, KUBERNETES_EXEC_INFO: info };
    const context = { env, platform: 'linux' as const, ppid: 2, now: () => world.now };
    expect(answerFromCache(words, context)).toBe(stdout);
  });

  it.each([
    ['platform', 'is behind no direct endpoint'],
    ['virtualcluster/demo/shop', 'is behind no direct endpoint'],
    ['pod/a', 'is no target'],
  ])('refuses %s', async (target, problem) => {
    const { code, stderr } = await ask(line.replace('cluster/edge', target));
    expect([code, stderr]).toEqual([2, expect.stringContaining(problem)]);
  });
});

describe('a token that the endpoint does not accept', () => {
  const refused = {
    ...{ code: 6, stdout: '' },
    stderr: expect.stringContaining('the endpoint does not accept it: the credential is not accepted'),
  };

  it('is deleted, and no other is made until some time has gone by', async () => {
    world.lag = Number.POSITIVE_INFINITY;
    expect(await ask()).toMatchObject(refused);
    expect(world.deleted).toEqual(['made-0']);
    for (let call = 0; call < 3; call += 1) expect(await ask()).toMatchObject(refused);
    expect(world.tokens).toHaveLength(1);
    world.lag = 0;
    world.now += minute;
    expect((await ask()).token).toBe('token.1.x');
  });

  it('takes the place of none that works: an endpoint without news of the platform knows the present one', async () => {
    const { token } = await ask();
    world.isEndpointOld = (other) => other !== token;
    world.now += 49 * minute;
    for (let call = 0; call < 3; call += 1) expect((await ask()).token).toBe(token);
    expect(world.deleted).toEqual(['made-1']);
    expect(world.tokens).toHaveLength(2);
  });

  it('is made once for all calls of clients that it refuses for good', async () => {
    const { token } = await ask(line, 7);
    world.isEndpointOld = () => true;
    for (let call = 0; call < 3; call += 1) expect(await ask(line, 7)).toMatchObject(refused);
    expect(world.tokens).toHaveLength(2);
    world.isEndpointOld = () => false;
    expect((await ask(line, 7)).token).toBe(token);
  });

  it('counts for a login and not for the next one', async () => {
    world.lag = Number.POSITIVE_INFINITY;
    await ask();
    world.lag = 0;
    expect(
      (await ask(line, 7, { LATCHKEY_ACCESS_KEY_FILE: person.write('b.key', aKey), LATCHKEY_ACCESS_KEY: '' }))
        .token,
    ).toBe('token.1.x');
  });

  it('is one with 403 where an API server asks the webhook', async () => {
    world.refusal = statusOf(403, 'forbidden: the token is not good any more (ERR_WEBHOOK_CREDENTIAL)');
    world.lag = 2;
    const { token } = await ask(line, 7);
    expect(token).toBe('token.0.x');
    world.refused.add(token);
    expect((await ask(line, 7)).token).toBe('token.1.x');
  });

  it('is none with 403 for another reason', async () => {
    world.refusal = statusOf(403, 'forbidden');
    world.lag = Number.POSITIVE_INFINITY;
    expect((await ask()).token).toBe('token.0.x');
    expect((await ask(line, 7)).token).toBe('token.0.x');
    expect((await ask(line, 7)).token).toBe('token.0.x');
  });

  it('is replaced where the endpoint cannot be asked: the client comes back because of a 401', async () => {
    const noCluster = { KUBERNETES_EXEC_INFO: JSON.stringify({ spec: {} }) };
    expect((await ask(line, 7, noCluster)).token).toBe('token.0.x');
    expect((await ask(line, 7, noCluster)).token).toBe('token.1.x');
    for (let call = 0; call < 3; call += 1) expect((await ask(line, 7, noCluster)).token).toBe('token.1.x');
    world.now += minute;
    expect((await ask(line, 7, noCluster)).token).toBe('token.2.x');
  });

  it('is replaced where only this command cannot reach the endpoint, and its client can', async () => {
    expect((await ask(line, 7)).token).toBe('token.0.x');
    world.isEndpointAway = true;
    expect((await ask(line, 7)).token).toBe('token.1.x');
    for (let call = 0; call < 3; call += 1) expect((await ask(line, 7)).token).toBe('token.1.x');
  });

  it('is used on where neither the endpoint nor the platform can be asked: an outage ends no token', async () => {
    const noCluster = { KUBERNETES_EXEC_INFO: JSON.stringify({ spec: {} }) };
    expect((await ask(line, 7, noCluster)).token).toBe('token.0.x');
    world.isPlatformAway = true;
    for (let call = 0; call < 2; call += 1) expect((await ask(line, 7, noCluster)).token).toBe('token.0.x');
    expect(sentTo(baseURL)).toHaveLength(3);
  });

  it('and one that the operator has not signed in time is deleted', async () => {
    world.isOperatorSlow = true;
    expect(await ask()).toMatchObject({
      code: 6,
      stderr: expect.stringContaining('has not made the token yet'),
    });
    expect(world.deleted).toEqual(['made-0']);
  });
});

describe('a pipeline whose token is exchanged once', () => {
  const env = { LATCHKEY_ID_TOKEN: 'a.b.c', LATCHKEY_ACCESS_KEY: '' };
  const options = (more = {}) => ({ answers: world.answers, now: () => world.now, env: { ...env, ...more } });
  const place = `--base-url ${baseURL} --trust ci`;

  it('writes a kubeconfig, and gets tokens for two targets and a key', async () => {
    expect((await person.run(`kubeconfig cluster/edge --direct ${place}`, options())).code).toBe(0);
    expect((await ask(`${line} --trust ci`, 9, env)).token).toBe('token.0.x');
    expect((await ask(`${line.replace('edge', 'other')} --trust ci`, 10, env)).token).toBe('token.1.x');
    expect((await ask(`credential ${place}`, 11, { ...env, ...atGateway })).token).toBe('exchanged');
  });

  it('exchanges it before it takes the lock of the token: both together take longer than a lock lives', async () => {
    const locks: string[][] = [];
    const { 'POST /oauth/token': exchange, ...others } = world.answers;
    const answers = {
      ...others,
      'POST /oauth/token': (request: SentRequest) => {
        const names = readdirSync(path.join(person.home, '.cache/latchkey'));
        locks.push(names.filter((name) => name.endsWith('.lock')));
        return (exchange as (request: SentRequest) => object)(request);
      },
    };
    expect((await person.run(`${line} --trust ci`, { ...options(), answers })).code).toBe(0);
    expect(locks).toEqual([[expect.any(String)]]);
  });

  it('exchanges its next token when the key of the first was revoked', async () => {
    const { token } = await ask(`${line} --trust ci`, 9, env);
    world.refused.add(token);
    world.dead.add('exchanged');
    const next = { ...env, LATCHKEY_ID_TOKEN: 'd.e.f' };
    await ask(`${line} --trust ci`, 10, next);
    expect((await ask(`${line} --trust ci`, 10, next)).token).toBe('token.1.x');
  });

  it('makes one exchange for many processes', async () => {
    const all = await Promise.all(Array.from({ length: 8 }, () => ask(`${line} --trust ci`, undefined, env)));
    expect(all.map(({ token }) => token)).toEqual(Array(8).fill('token.0.x'));
  });

  it('uses its token until the end, though no other exchange comes about', async () => {
    await ask(`${line} --trust ci`, 9, env);
    world.now += 13 * minute;
    expect(await ask(`${line} --trust ci`, 10, env)).toMatchObject({ code: 0, token: 'token.1.x' });
    world.now += 2 * minute;
    expect(await ask(`${line} --trust ci`, 11, env)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('exchanged before'),
    });
  });
});
