import { randomBytes, randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import { gunzipSync, gzip } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { parseKept, renderKept, storeKept } from './kept-set.ts';
import { LiveSet } from './live-set.ts';
import type { KeptRight } from './space-rights.ts';

const compress = promisify(gzip);
const clock = new FakeClock();
const now = Date.UTC(2026, 0, 1);
const positions = { tokens: '7', keys: '8', locks: '9' };

function setOf(count: number): LiveSet {
  const set = new LiveSet();
  set.apply({ type: 'START', number: 1, object: { cluster: 'edge', uid: 'u1' } });
  set.apply({
    type: 'SPACE',
    number: 2,
    object: { project: 'red', name: 'app', namespace: 'red-app', uid: 's1' },
  });
  for (let index = 0; index < count; index += 1) {
    const hash = randomBytes(32).toString('hex');
    const scopes = [{ owner: 'OwnedAccessKey "ci"', scope: { clusters: [{ cluster: 'edge' }] } }];
    const names = { name: `token-${index}`, user: `user-${index}`, groups: ['dev'], scopes };
    const [uid, tokenID] = [randomUUID(), randomBytes(32).toString('base64url')];
    set.apply({ type: 'ADD', number: 3, object: { hash, uid, tokenID, end: now + index, ...names } });
  }
  set.apply({ type: 'SYNCED', number: 4, object: { positions } });
  return set;
}

const secretOf = (text: string | undefined) => ({ data: { set: text } });
const rights: readonly KeptRight[] = [{ user: 'ann', key: 'a right', at: now - 1_000 }];
const keep = async (set: LiveSet, kept: readonly KeptRight[] = rights) =>
  await renderKept('edge', { set, proved: now, rights: kept }, clock);
const parse = async (secret: unknown, at = now) =>
  await parseKept('edge', secret, at, { clock, set: new LiveSet({ withTokenIDs: true }) });
/** Its first line, and its credential, with these changes. */
const altered = async (first: object, credential: object = {}) => {
  const rendered = await keep(setOf(1));
  const lines = gunzipSync(Buffer.from(rendered?.text ?? '', 'base64'))
    .toString()
    .split('\n');
  const changed = [first, credential].map((change, index) => ({
    ...JSON.parse(lines[index] ?? ''),
    ...change,
  }));
  const bytes = await compress(changed.map((line) => JSON.stringify(line)).join('\n'));
  return secretOf(bytes.toString('base64'));
};
const addSpaces = (set: LiveSet, count: number): void => {
  for (let index = 0; index < count; index += 1) {
    const uid = randomBytes(16).toString('hex');
    const object = { project: 'red', name: `app-${index}`, namespace: `red-app-${index}`, uid };
    set.apply({ type: 'SPACE', number: 5, object });
  }
};
const manyRights = Array.from({ length: 10_000 }, () => ({
  ...{ user: 'ann', key: randomBytes(80).toString('hex'), at: now },
}));

describe('the set for a restart', () => {
  it('reads back as it was, with its age', async () => {
    const set = setOf(3);
    const kept = await parse(secretOf((await keep(set))?.text), now + 5_000);
    expect(kept?.ageMs).toBe(5_000);
    expect(kept?.rights).toEqual(rights);
    expect(new Map(kept?.set.credentials)).toEqual(set.credentials);
    expect(kept?.set.spaces).toEqual(set.spaces);
    expect(kept?.set.positions).toEqual(positions);
  });

  it('is one text, as an earlier endpoint unpacks it: a line about all, and one for each token', async () => {
    const rendered = await keep(setOf(1_000));
    const text = gunzipSync(Buffer.from(rendered?.text ?? '', 'base64')).toString();
    const [first, ...lines] = text.split('\n').map((line) => JSON.parse(line));
    expect(first).toMatchObject({ version: 2, cluster: 'edge', positions });
    expect(lines).toHaveLength(1_000);
    expect(lines[0]).toMatchObject({ name: 'token-999', user: 'user-999', end: now + 999, groups: ['dev'] });
  });

  it('reads what an earlier endpoint has kept, whose tokens have no ID that a webhook would take', async () => {
    const uid = randomUUID();
    const former = { uid: undefined, tokenID: undefined, jti: `${uid}.3` };
    const kept = await parse(await altered({}, former));
    const read = [...(kept?.set.credentials.values() ?? [])];
    expect(read.map((known) => known.uid)).toEqual([uid]);
    expect(read.map((known) => known.tokenID)).toEqual([undefined]);
  });

  it('leaves out those that end first where not all have room, and says how many', async () => {
    const rendered = await keep(setOf(25_000));
    expect(rendered?.left).toBeGreaterThan(5_000);
    expect(Buffer.from(rendered?.text ?? '', 'base64').length).toBeLessThanOrEqual(900 * 1_024);
    const kept = await parse(secretOf(rendered?.text));
    const ends = [...(kept?.set.credentials.values() ?? [])].map(({ end }) => end - now);
    expect(ends).toHaveLength(25_000 - (rendered?.left ?? 0));
    expect(Math.min(...ends)).toBe(rendered?.left);
  });

  it.each<[string, object]>([
    ['is of another cluster', { cluster: 'other' }],
    ['is of another form', { version: 1 }],
    ['comes from the future', { proved: now + 3_600_000 }],
    ['does not say when it was good', { proved: 'now' }],
    ['has no positions', { positions: {} }],
  ])('counts for nothing where it %s', async (_, change) => {
    expect(await parse(await altered(change))).toBeUndefined();
    expect(await parse(await altered({}))).toBeDefined();
  });

  it('counts for nothing where a token has no scopes', async () => {
    expect(await parse(await altered({}, { scopes: undefined }))).toBeUndefined();
  });

  it('is read without rights that are none', async () => {
    const [right] = rights;
    const changed = ['a right', { ...right, at: -1 }, { ...right, user: '' }, { ...right, key: 1 }, right];
    expect((await parse(await altered({ rights: changed })))?.rights).toEqual(rights);
  });

  it.each<[string, string | undefined]>([
    ['is empty', undefined],
    ['is no base64', '%%%'],
    ['is not compressed', Buffer.from('{}').toString('base64')],
  ])('counts for nothing where the Secret %s', async (_, text) => {
    expect(await parse(secretOf(text))).toBeUndefined();
  });

  it('does not fill the memory with what a small Secret unfolds to', async () => {
    const bomb = await compress(Buffer.alloc(64 * 2 ** 20));
    expect(await parse(secretOf(bomb.toString('base64')))).toBeUndefined();
  });

  it('can be read back where its text compresses well: no more is written than is read', async () => {
    const set = new LiveSet();
    set.apply({ type: 'START', number: 1, object: { cluster: 'edge', uid: 'u1' } });
    const scopes = [{ owner: 'key', scope: { rules: ['x'.repeat(60_000)] } }];
    for (let index = 0; index < 600; index += 1) {
      const hash = index.toString(16).padStart(64, '0');
      const names = { uid: 'uid', name: 'ci', user: 'ann', groups: [], scopes };
      set.apply({ type: 'ADD', number: 2, object: { hash, end: now + index, ...names } });
    }
    const rendered = await keep(set);
    const kept = await parse(secretOf(rendered?.text));
    expect(rendered?.left).toBeGreaterThan(0);
    expect(kept?.set.credentials.size).toBe(600 - (rendered?.left ?? 0));
  });

  it('has room for the tokens of all others where one user has many with long scopes that end last', async () => {
    const set = setOf(3);
    const { length: others } = [...set.credentials.keys()];
    for (let index = 0; index < 40; index += 1) {
      const names = Array.from({ length: 1_500 }, () => ({ cluster: randomBytes(15).toString('base64url') }));
      const scopes = [{ owner: 'key', scope: { clusters: names } }];
      const hash = (1_000 + index).toString(16).padStart(64, '0');
      const end = now + 86_400_000 + index;
      const named = { uid: 'uid', name: 'ci', user: 'mallory', groups: [], scopes };
      set.apply({ type: 'ADD', number: 2, object: { hash, end, ...named } });
    }
    const rendered = await keep(set);
    expect(rendered?.left).toBeGreaterThan(0);
    const read = await parse(secretOf(rendered?.text));
    const users = [...(read?.set.credentials.values() ?? [])].map(({ user }) => user);
    expect(users.filter((user) => user !== 'mallory')).toHaveLength(others);
    expect(users.length).toBeGreaterThan(others + 10);
  });

  it.each<[string, number, readonly KeptRight[], readonly number[]]>([
    ['rights and spaces where they are few', 10, rights, [11, 1]],
    ['spaces, and no rights where these are too many', 10, manyRights, [11, 0]],
    ['neither where spaces alone are too many', 49_000, manyRights, [0, 0]],
  ])('leaves room for tokens: it has %s', async (_, spaces, kept, left) => {
    const set = setOf(3);
    addSpaces(set, spaces);
    const read = await parse(secretOf((await keep(set, kept))?.text));
    expect(read?.set.credentials.size).toBe(3);
    expect([read?.set.spaces.size, read?.rights.length]).toEqual(left);
  });

  it('lets timers and sockets run while it is made of many tokens', async () => {
    let time = 0;
    const busy = Object.assign(new FakeClock(), { monotonic: () => (time += 1) });
    let turns = 0;
    const count = () => {
      turns += 1;
      turning = setImmediate(count);
    };
    let turning = setImmediate(count);
    const rendered = await renderKept('edge', { set: setOf(1_000), proved: now, rights }, busy);
    const whileRendered = turns;
    await parseKept('edge', secretOf(rendered?.text), now, { clock: busy, set: new LiveSet() });
    clearImmediate(turning);
    expect(whileRendered).toBeGreaterThan(50);
    expect(turns - whileRendered).toBeGreaterThan(50);
  });
});

describe('the Secret', () => {
  /** With this set in it. */
  const secretWith = (text: string | undefined) => {
    const patches: unknown[] = [];
    const client = {
      get: async () => ({ metadata: { uid: 'u', resourceVersion: '1' }, ...secretOf(text) }),
      mergePatch: async (_: unknown, __: unknown, patch: unknown) => patches.push(patch),
    } as never;
    return { client, patches };
  };
  const at = (tokens: string, count = 2): LiveSet => {
    const set = setOf(count);
    set.positions = { ...positions, tokens };
    return set;
  };

  it.each<[string, string, number]>([
    ['is left alone where another replica knows further', '6', 0],
    ['is written where no one knows further', '7', 1],
  ])('%s', async (_, tokens, writes) => {
    const { client, patches } = secretWith((await keep(setOf(1)))?.text);
    const kept = { set: at(tokens), proved: now, rights };
    expect(await storeKept(client, 'edge', kept, clock)).toBe(0);
    expect(patches).toHaveLength(writes);
  });

  it('is written where another replica knew further, and what it kept is cut off', async () => {
    const whole = Buffer.from((await keep(setOf(3)))?.text ?? '', 'base64');
    const { client, patches } = secretWith(whole.subarray(0, -20).toString('base64'));
    expect(await storeKept(client, 'edge', { set: at('6'), proved: now, rights }, clock)).toBe(0);
    expect(patches).toHaveLength(1);
  });

  it('keeps what it has where nothing new has room', async () => {
    const { client, patches } = secretWith((await keep(setOf(1)))?.text);
    const set = at('9');
    set.uid = randomBytes(1_000_000).toString('hex');
    expect(await storeKept(client, 'edge', { set, proved: now, rights }, clock)).toBe(2);
    expect(patches).toEqual([]);
  });
});
