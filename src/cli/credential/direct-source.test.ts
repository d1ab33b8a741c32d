import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type Answers,
  aKey,
  baseURL,
  Person,
  selfOf,
  statusOf,
} from '../../../test/builders/command-line.ts';
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

/** A platform that makes tokens, and an endpoint that knows them a few questions later. */
class World {
  now = start;
  tokens: string[] = [];
  refused = new Set<string>();
  /** Questions that the endpoint answers with 401 for each new token. */
  lag = 0;
  isEndpointAway = false;
  isKeyDead = false;
  asked = 0;

  readonly answers: Answers = {
    'POST /selves': () => (this.isKeyDead ? statusOf(401, 'the access key is disabled') : selfOf()),
    'POST /directclusterendpointtokens': (request) => {
      const { ttl } = JSON.parse(request.body ?? '').spec;
      const token = `token.${this.tokens.length}.x`;
      this.tokens.push(token);
      this.asked = 0;
      const expirationTimestamp = new Date(this.now + ttl * 1_000).toISOString().replace('.000', '');
      return { metadata: { name: 'made' }, spec: { ttl }, status: { token, expirationTimestamp } };
    },
    'POST /oauth/token': { access_token: 'exchanged', expires_in: 900 },
    'GET /kubernetes/cluster/edge/version': (request) => {
      if (this.isEndpointAway) throw new Failure('unavailable', 'away', 'Try again.');
      const token = request.headers['authorization']?.replace('Bearer ', '') ?? '';
      this.asked += 1;
      if (this.asked <= this.lag || this.refused.has(token)) return statusOf(401, 'unknown');
      return { gitVersion: 'v1.36.0' };
    },
  };
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

  it('gives a token that the endpoint does not come to know, and one of an endpoint that is away', async () => {
    world.lag = Number.POSITIVE_INFINITY;
    expect((await ask()).token).toBe('token.0.x');
    world.isEndpointAway = true;
    expect((await ask(`${line} --child-ttl 2h`)).token).toBe('token.1.x');
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
    expect((await ask(`credential --base-url ${baseURL}`)).token).toBe(aKey);
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
