import {
  chmodSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
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
import { accessKeyBytes, generateAccessKey } from '../../credentials/keys/access-key.ts';
import { Failure } from '../shared/failure.ts';
import { cachePlace, readCache, rememberGiven, wasGiven } from './cache.ts';
import { lockLifeMs, takeLock } from './cache-lock.ts';
import { answerFromCache } from './fast-path.ts';

let person: Person;
beforeEach(() => {
  person = new Person();
});
afterEach(() => person.end());

const start = Date.parse('2026-01-01T00:00:00Z');
const minute = 60_000;
const info = JSON.stringify({
  apiVersion: 'client.authentication.k8s.io/v1',
  kind: 'ExecCredential',
  spec: {},
});
let made = 0;
const nextKey = () => {
  made += 1;
  return generateAccessKey(new Uint8Array(accessKeyBytes).fill(made % 256));
};

/** A gateway that makes child keys, and counts them. */
class Gateway {
  now = start;
  keys: string[] = [];
  refused: string[] = [];
  isAway = false;
  requests = 0;

  readonly answers: Answers = {
    'POST /selves': (request) => {
      this.#count();
      const key = request.headers['authorization']?.replace('Bearer ', '') ?? '';
      return this.refused.includes(key) ? statusOf(401, 'the access key is disabled') : selfOf();
    },
    'POST /ownedaccesskeys': async () => {
      this.#count();
      await Promise.resolve();
      const key = nextKey();
      this.keys.push(key);
      const creationTimestamp = new Date(this.now).toISOString().replace('.000', '');
      return { metadata: { name: 'child', creationTimestamp }, spec: { key } };
    },
  };

  #count(): void {
    this.requests += 1;
    if (this.isAway) throw new Failure('unavailable', 'away', 'Try again.');
  }
}

let gateway: Gateway;
beforeEach(() => {
  gateway = new Gateway();
});

const child = `credential --base-url ${baseURL} --child-ttl 10m`;
let lastProcess = 100;
const nextProcess = () => {
  lastProcess += 1;
  return lastProcess;
};
const withKey = { LATCHKEY_ACCESS_KEY: aKey };

/** As a new kubectl does, unless the process is named. */
async function ask(line = child, process = nextProcess(), env: Record<string, string> = withKey) {
  const result = await person.run(line, {
    ...{ answers: gateway.answers, now: () => gateway.now, ppid: process },
    env: { ...env, KUBERNETES_EXEC_INFO: info },
  });
  const { status } = result.code === 0 ? JSON.parse(result.stdout) : { status: {} };
  return { ...result, key: status.token as string, end: status.expirationTimestamp as string };
}

describe('latchkey credential', () => {
  it('makes a child with a name after its parent', async () => {
    await ask();
    const { metadata, spec } = JSON.parse(person.sent.at(-1)?.body ?? '');
    expect([metadata, spec]).toEqual([
      { generateName: 'mine-cli-' },
      { accessKey: 'mine', ttl: 600, displayName: expect.any(String) },
    ]);
  });

  it('answers from its cache, in a file for its owner alone, without a word to the gateway', async () => {
    const { key } = await ask();
    const { requests } = gateway;
    gateway.now += 4 * minute;
    expect((await ask()).key).toBe(key);
    expect(gateway.requests).toBe(requests);
    const folder = path.join(person.home, '.cache/latchkey');
    for (const file of readdirSync(folder)) expect(statSync(path.join(folder, file)).mode & 0o077).toBe(0);
  });

  it('tells clients to ask again when a fifth of the life is left, and renews then', async () => {
    const { key, end } = await ask();
    expect(end).toBe('2026-01-01T00:08:00Z');
    gateway.now += 8 * minute;
    expect((await ask()).key).not.toBe(key);
    expect(gateway.keys).toHaveLength(2);
  });

  it('renews for a client that runs on and asks again when it was told to', async () => {
    const { key } = await ask(child, 7);
    gateway.now += 8 * minute;
    const next = await ask(child, 7);
    expect(next.key).not.toBe(key);
    gateway.now += 8 * minute;
    gateway.isAway = true;
    expect((await ask(child, 7)).key).toBe(next.key);
  });

  it('makes one key where twenty processes find none', async () => {
    const all = await Promise.all(Array.from({ length: 20 }, () => ask()));
    expect(new Set(all.map(({ key }) => key)).size).toBe(1);
    expect(gateway.keys).toHaveLength(1);
  });

  it('renews once where twenty processes find a key that ends soon', async () => {
    await ask();
    gateway.now += 9 * minute;
    await Promise.all(Array.from({ length: 20 }, () => ask()));
    expect(gateway.keys).toHaveLength(2);
  });

  it('uses its key until the end while the gateway is away, and no longer', async () => {
    const { key } = await ask();
    gateway.isAway = true;
    gateway.now += 9 * minute;
    expect((await ask()).key).toBe(key);
    const { requests } = gateway;
    expect((await ask()).key).toBe(key);
    expect(gateway.requests).toBe(requests);
    gateway.now += minute;
    expect(await ask()).toMatchObject({ code: 6, stdout: '' });
  });

  it('asks the gateway after five minutes whether it accepts the key', async () => {
    await ask(`${child.replace('10m', '1h')}`);
    const { requests } = gateway;
    gateway.now += 5 * minute;
    await ask(`${child.replace('10m', '1h')}`);
    expect(gateway.requests).toBe(requests + 1);
  });

  it('gets another key after a 401: the process that asks twice was refused', async () => {
    const first = await ask(child, 7);
    gateway.refused.push(first.key);
    const second = await ask(child, 7);
    expect(second.key).not.toBe(first.key);
    expect((await ask()).key).toBe(second.key);
  });

  it('keeps a key that the gateway accepts, also for a process that asks twice', async () => {
    const first = await ask(child, 7);
    expect((await ask(child, 7)).key).toBe(first.key);
    expect(gateway.keys).toHaveLength(1);
  });

  it('never gives the key of a variable in place of that of the login', async () => {
    await person.run(`login --with-key --base-url ${baseURL}`, { stdin: aKey, answers: gateway.answers });
    const line = `credential --base-url ${baseURL}`;
    const other = nextKey();
    expect((await ask(line, nextProcess(), { LATCHKEY_ACCESS_KEY: other })).key).toBe(other);
    expect((await ask(line, nextProcess(), {})).key).toBe(aKey);
    expect((await ask(line, nextProcess(), { LATCHKEY_ACCESS_KEY: other })).key).toBe(other);
  });

  it('reads a key file again when it was replaced', async () => {
    const file = person.write('ci.key', aKey);
    const line = `credential --base-url ${baseURL} --key-file ${file}`;
    expect((await ask(line, 1, {})).key).toBe(aKey);
    const next = nextKey();
    writeFileSync(file, next);
    utimesSync(file, 1, 1);
    expect((await ask(line, 2, {})).key).toBe(next);
  });

  it('leaves no credential on the disk after a logout, but those of other gateways', async () => {
    await person.run(`login --with-key --base-url ${baseURL}`, { stdin: aKey, answers: gateway.answers });
    const other = 'https://latchkey.example.com.evil.example';
    for (const line of [child, `credential --base-url ${baseURL}`, child.replace(baseURL, other)])
      expect((await ask(line)).code).toBe(0);
    expect((await ask(child, 7, {})).code).toBe(0);
    const folder = path.join(person.home, '.cache/latchkey');
    writeFileSync(path.join(folder, 'unreadable.json'), '{');
    expect((await person.run('logout', { answers: gateway.answers })).code).toBe(0);
    const left = readdirSync(folder).map((name) => name.replace(/-[0-9a-f]{16}\b/, ''));
    expect(left.sort()).toEqual([
      ...['latchkey.example.com.evil.example.json', 'latchkey.example.com.evil.example.json.last'],
      'unreadable.json',
    ]);
  });

  it('takes no cache that others may read', async () => {
    await ask();
    const folder = path.join(person.home, '.cache/latchkey');
    for (const name of readdirSync(folder)) chmodSync(path.join(folder, name), 0o644);
    expect(await ask()).toMatchObject({ code: 2, stderr: expect.stringContaining('chmod 600') });
  });

  it.each(['', 'null', '{"source":"another"}', '[1', '{"key":1}'])(
    'makes a new key where the cache holds %j',
    async (text) => {
      await ask();
      const folder = path.join(person.home, '.cache/latchkey');
      const file = readdirSync(folder).find((name) => name.endsWith('.json')) ?? '';
      writeFileSync(path.join(folder, file), text);
      expect((await ask()).code).toBe(0);
      expect(gateway.keys).toHaveLength(2);
    },
  );

  it.each([
    ['client.authentication.k8s.io/v1beta1', 'client.authentication.k8s.io/v1beta1'],
    ['client.authentication.k8s.io/v9', 'client.authentication.k8s.io/v1'],
  ])('answers %s in %s', async (asked, expected) => {
    const result = await person.run(child, {
      ...{ answers: gateway.answers, now: () => gateway.now },
      env: { LATCHKEY_ACCESS_KEY: aKey, KUBERNETES_EXEC_INFO: JSON.stringify({ apiVersion: asked }) },
    });
    expect(JSON.parse(result.stdout)).toMatchObject({ apiVersion: expected, kind: 'ExecCredential' });
  });
});

describe('the answer from the cache alone', () => {
  const words = child.split(' ').slice(1);
  const context = (process: number) => ({
    ...{ env: { HOME: person.home, KUBERNETES_EXEC_INFO: info }, platform: 'linux' as const },
    ...{ ppid: process, now: () => gateway.now },
  });
  const withSession = async () => {
    await person.run(`login --with-key --base-url ${baseURL}`, { stdin: aKey, answers: gateway.answers });
    return await ask(child, 1, {});
  };

  it('is that of the whole command', async () => {
    const { stdout } = await withSession();
    expect(answerFromCache(words, context(2))).toBe(stdout);
  });

  it.each<[string, readonly string[], Record<string, string>]>([
    ['an option that it does not know', ['--output', 'json'], {}],
    ['an option without a value', ['--trust'], {}],
    ['a key in a variable', [], { LATCHKEY_ACCESS_KEY: aKey }],
  ])('is left to the whole program with %s', async (_, more, env) => {
    await withSession();
    const { env: own, ...rest } = context(2);
    expect(answerFromCache([...words, ...more], { ...rest, env: { ...own, ...env } })).toBeUndefined();
  });

  it('is left to the whole program for a process that asks again, and after another login', async () => {
    await withSession();
    answerFromCache(words, context(2));
    expect(answerFromCache(words, context(2))).toBeUndefined();
    await person.run(`login --with-key --base-url ${baseURL}`, {
      stdin: nextKey(),
      answers: gateway.answers,
    });
    expect(answerFromCache(words, context(3))).toBeUndefined();
  });
});

describe('the lock of a renewal', () => {
  const file = () => path.join(person.home, 'a.lock');

  it('is held by one at a time', () => {
    const release = takeLock(file(), Date.now());
    expect(takeLock(file(), Date.now())).toBeUndefined();
    release?.();
    expect(takeLock(file(), Date.now())).toBeDefined();
  });

  it('of a process that has died is taken over', () => {
    writeFileSync(file(), '999999999 0 0');
    expect(takeLock(file(), Date.now())).toBeDefined();
  });

  it('is taken over when it is older than any renewal takes, and not given back by its former owner', () => {
    const former = takeLock(file(), Date.now());
    const later = Date.now() + lockLifeMs + 1;
    expect(takeLock(file(), later)).toBeDefined();
    former?.();
    expect(readFileSync(file(), 'utf8')).not.toBe('');
  });
});

it('two sources never share a cache', () => {
  const context = { env: { HOME: person.home }, platform: 'linux' as const };
  const one = cachePlace({ baseURL, from: 'session' }, context);
  const other = cachePlace({ baseURL, from: 'trust:session' }, context);
  expect(one.file).not.toBe(other.file);
  writeFileSync(person.write('x.json', JSON.stringify({ source: other.source, key: 'a' })), '');
  expect(readCache({ file: path.join(person.home, 'x.json'), source: one.source }, 'linux')).toBeUndefined();
});

it('a link in the place of the list of given keys leads to no other file', () => {
  const file = path.join(person.home, 'cache.json');
  const place = { file, source: '' };
  rememberGiven(place, 7, 'a-key');
  rememberGiven(place, 8, 'a-key');
  expect([7, 8, 9].map((ppid) => wasGiven(place, ppid, 'a-key'))).toEqual([true, true, false]);
  const other = { file: path.join(person.home, 'other.json'), source: '' };
  const precious = person.write('.profile', 'precious');
  symlinkSync(precious, `${other.file}.last`);
  rememberGiven(other, 7, 'a-key');
  expect(readFileSync(precious, 'utf8')).toBe('precious');
});
