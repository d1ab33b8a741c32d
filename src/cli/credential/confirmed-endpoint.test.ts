import { existsSync, readdirSync, readFileSync, utimesSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createAuthority } from '../../../lab/controlplane/certificates.ts';
import {
  type Answers,
  aKey,
  baseURL,
  Person,
  selfOf,
  statusOf,
} from '../../../test/builders/command-line.ts';
import { accessKeyBytes, generateAccessKey } from '../../credentials/keys/access-key.ts';
import { Failure } from '../shared/failure.ts';

let person: Person;
beforeEach(() => {
  person = new Person();
});
afterEach(() => person.end());

const authority = createAuthority('endpoint').certificate;
const otherAuthority = createAuthority('evil').certificate;
const encode = (pem: string) => Buffer.from(pem).toString('base64');
const minute = 60_000;

/** Written once: a key that was written again counts as another one. */
function keyFile(key: string): string {
  const file = path.join(person.home, `key-${key.slice(-4)}`);
  return existsSync(file) ? file : person.write(path.basename(file), key);
}

/** A platform and an endpoint, and a fleet tool that starts again for each question. */
class World {
  now = Date.parse('2026-01-01T00:00:00Z');
  host = 'edge.example.com';
  ca = authority;
  isAway = false;
  refusal: object | undefined;
  made = 0;
  #process = 800;

  readonly #answers: Answers = {
    'POST /selves': () => this.#answer(selfOf({ accessKey: 'ci' })),
    'GET /clusters/edge': () =>
      this.#answer({ spec: { directEndpoint: { host: this.host, caData: encode(this.ca) } } }),
    'GET /clusters/other': () =>
      this.#answer({ spec: { directEndpoint: { host: this.host, caData: encode(this.ca) } } }),
    'POST /directclusterendpointtokens': () => {
      const metadata = { name: `a-${this.made}`, creationTimestamp: new Date(this.now).toISOString() };
      const token = `token-${this.made}`;
      this.made += 1;
      return this.#answer({ metadata, spec: { ttl: 3600 }, status: { token } });
    },
    'GET /kubernetes/cluster/edge/version': statusOf(403, 'no'),
    'GET /kubernetes/cluster/other/version': statusOf(403, 'no'),
  };

  #answer(object: object): object {
    if (this.isAway) throw new Failure('unavailable', 'nothing listens', 'Try again.');
    return this.refusal ?? object;
  }

  async ask({ cluster = {}, words = '', key = aKey, name = 'edge', url = baseURL }: Asked = {}) {
    const file = keyFile(key);
    const place = {
      server: `https://${this.host}/kubernetes/cluster/${name}`,
      'certificate-authority-data': encode(this.ca),
      config: { target: `cluster/${name}`, direct: true },
      ...cluster,
    };
    const info = {
      ...{ apiVersion: 'client.authentication.k8s.io/v1', kind: 'ExecCredential' },
      spec: { interactive: false, cluster: place },
    };
    this.#process += 1;
    return await person.run(`credential --cluster-profile --base-url ${url} --key-file ${file} ${words}`, {
      env: { KUBERNETES_EXEC_INFO: JSON.stringify(info) },
      ...{ answers: this.#answers, now: () => this.now, ppid: this.#process },
    });
  }
}

interface Asked {
  readonly cluster?: object;
  readonly words?: string;
  readonly key?: string;
  readonly name?: string;
  readonly url?: string;
}

let world: World;
beforeEach(() => {
  world = new World();
});
const given = (token: string) => ({ code: 0, stdout: expect.stringContaining(`"${token}"`) });
const away = { code: 6, stdout: '', stderr: expect.stringContaining('nothing listens') };

describe('a tool that starts while the platform is away', () => {
  it('goes on with the token that it got for this endpoint, until the end of it', async () => {
    expect(await world.ask()).toMatchObject(given('token-0'));
    world.isAway = true;
    for (const minutes of [1, 20, 30]) {
      world.now += minutes * minute;
      expect(await world.ask()).toMatchObject(given('token-0'));
    }
    world.now += 9 * minute;
    expect(await world.ask()).toMatchObject(away);
    expect(world.made).toBe(1);
  });

  it('gets none that was made for a client without a ClusterProfile: no one has confirmed a place for it', async () => {
    const direct = `credential --base-url ${baseURL} --direct cluster/edge --key-file ${keyFile(aKey)}`;
    await world.ask();
    world.now += 61 * minute;
    const { stdout } = await person.run(direct, {
      ...{ now: () => world.now, ppid: 5, env: { KUBERNETES_EXEC_INFO: '{"spec":{}}' } },
      answers: {
        'POST /selves': selfOf({ accessKey: 'ci' }),
        'POST /directclusterendpointtokens': {
          metadata: { name: 'b', creationTimestamp: new Date(world.now).toISOString() },
          ...{ spec: { ttl: 3600 }, status: { token: 'token-b' } },
        },
      },
    });
    expect(stdout).toContain('token-b');
    world.isAway = true;
    expect(await world.ask()).toMatchObject(away);
  });

  it.each<[string, object, string]>([
    [
      'another server',
      { server: 'https://evil.example.com/kubernetes/cluster/edge' },
      'and not https://evil',
    ],
    [
      'another authority',
      { 'certificate-authority-data': encode(otherAuthority) },
      'an authority that is not',
    ],
    ['no authority', { 'certificate-authority-data': '' }, 'or none'],
    ['a proxy', { 'proxy-url': 'http://evil.example.com:3128' }, 'sets proxy-url'],
  ])('gets none for a ClusterProfile with %s', async (_, cluster, problem) => {
    await world.ask();
    world.isAway = true;
    expect(await world.ask({ cluster })).toMatchObject({
      ...{ code: 4, stdout: '' },
      stderr: expect.stringContaining(problem),
    });
    for (const { url } of person.sent) expect(url).not.toContain('evil');
    expect(await world.ask()).toMatchObject(given('token-0'));
  });

  it.each<[string, () => Asked]>([
    ['another key', () => ({ key: generateAccessKey(new Uint8Array(accessKeyBytes).fill(7)) })],
    [
      'a key that was in the file before',
      () => {
        utimesSync(keyFile(aKey), 1, 1);
        return {};
      },
    ],
    ['another life', () => ({ words: '--child-ttl 2h' })],
    ['another target', () => ({ name: 'other' })],
    ['another platform', () => ({ url: 'https://other.example.com' })],
    [
      'another authority of the platform',
      () => ({ words: `--certificate-authority ${person.write('ca.crt', otherAuthority)}` }),
    ],
  ])('gets none that belongs to %s', async (_, asked) => {
    await world.ask();
    world.isAway = true;
    expect(await world.ask(asked())).toMatchObject(away);
  });

  it.each([401, 403, 404])('gets none where the platform has answered %i last', async (status) => {
    await world.ask();
    world.refusal = statusOf(status, 'no more');
    const refused = { stdout: '', stderr: expect.stringContaining('no more') };
    expect(await world.ask()).toMatchObject(refused);
    world.refusal = undefined;
    world.isAway = true;
    expect(await world.ask()).toMatchObject(away);
    world.isAway = false;
    expect(await world.ask()).toMatchObject(given('token-0'));
    world.isAway = true;
    expect(await world.ask()).toMatchObject(given('token-0'));
  });

  it.each([500, 503, 504])('counts an answer %i as an outage', async (status) => {
    await world.ask();
    world.refusal = statusOf(status, 'away');
    expect(await world.ask()).toMatchObject(given('token-0'));
  });

  it('goes to the place that the platform named last', async () => {
    await world.ask();
    const before = `https://${world.host}/kubernetes/cluster/edge`;
    world.host = 'new.example.com';
    expect(await world.ask()).toMatchObject(given('token-0'));
    world.isAway = true;
    expect(await world.ask()).toMatchObject(given('token-0'));
    expect(await world.ask({ cluster: { server: before } })).toMatchObject({ code: 4, stdout: '' });
  });

  it('gets none after a logout of all that is kept', async () => {
    await world.ask();
    await person.run(`login --with-key --base-url ${baseURL}`, {
      ...{ stdin: aKey, answers: { 'POST /selves': selfOf() } },
    });
    await person.run('logout', { answers: { 'POST /selves': selfOf() } });
    world.isAway = true;
    expect(await world.ask()).toMatchObject(away);
  });

  it('reads nothing that somebody has put in place of an endpoint', async () => {
    await world.ask();
    const folder = path.join(person.home, '.cache/latchkey');
    const [name = ''] = readdirSync(folder).filter((each) => each.endsWith('.json'));
    const text = readFileSync(path.join(folder, name), 'utf8');
    const { endpoint, ...cached } = JSON.parse(text);
    expect(endpoint).toEqual({ baseURL: 'https://edge.example.com', ca: authority });
    world.isAway = true;
    for (const other of [null, 1, [], {}, { baseURL: 1 }]) {
      person.write(path.join('.cache/latchkey', name), JSON.stringify({ ...cached, endpoint: other }));
      expect(await world.ask()).toMatchObject(away);
    }
  });
});
