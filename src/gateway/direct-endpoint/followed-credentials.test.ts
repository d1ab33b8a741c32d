import { describe, expect, it } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import type { LiveCredential, Positions } from '../../api/live-credentials.ts';
import { tokenIDHash } from '../../credentials/token-id.ts';
import { FollowedCredentials } from './followed-credentials.ts';
import { BadStream } from './line-reader.ts';
import { LiveSet } from './live-set.ts';

const hour = 3_600_000;
const hashOf = (letter: string): string => letter.repeat(64);
const a = hashOf('a');
const b = hashOf('b');
const at = (tokens: number, keys = 1, locks = 1): Positions => ({
  tokens: String(tokens),
  keys: String(keys),
  locks: String(locks),
});

function setUp({ outageMs = hour } = {}) {
  const clock = new FakeClock();
  const changed: string[] = [];
  const options = {
    cluster: 'edge',
    clock,
    outageMs,
    withTokenIDs: true,
    onChange: (hash: string) => changed.push(hash),
  };
  const followed = new FollowedCredentials(options);
  const credential = (hash: string, more: Partial<LiveCredential> = {}) => ({
    ...{ hash, uid: `uid-${hash[0]}`, name: 'ci', user: 'ann', groups: ['dev'], scopes: [] },
    ...{ end: clock.now() + 10 * hour, ...more },
  });
  let number = 0;
  const send = (type: string, object: object): void => {
    number += 1;
    followed.take({ type, number, object });
  };
  const begin = (uid = 'u1'): void => {
    number = 0;
    followed.begin();
    send('START', { cluster: 'edge', uid });
  };
  const stream = (hashes: readonly string[], positions: Positions, uid = 'u1'): void => {
    begin(uid);
    for (const hash of hashes) send('ADD', credential(hash));
    send('SYNCED', { positions });
  };
  const beat = (positions: Positions): void => send('BEAT', { time: clock.now(), positions });
  const isGood = (hash: string): boolean =>
    followed.problem() === undefined && followed.find(hash) !== undefined;
  return { clock, changed, followed, credential, send, begin, stream, beat, isGood };
}

describe('a stream', () => {
  it('makes tokens good when it has sent all, and bad when it drops them', () => {
    const { followed, begin, send, credential, changed, isGood } = setUp();
    begin();
    send('ADD', credential(a));
    expect(isGood(a)).toBe(false);
    expect(followed.problem()).toBe('the platform has not said yet which credentials are good');
    send('SYNCED', { positions: at(5) });
    expect(isGood(a)).toBe(true);
    expect(followed.find(a)).toMatchObject({ identity: { user: 'ann', groups: ['dev'] }, gates: [] });
    send('DROP', { hash: a });
    expect(isGood(a)).toBe(false);
    expect(changed).toContain(a);
  });

  it('names spaces until it takes them back', () => {
    const { followed, stream, send } = setUp();
    stream([], at(5));
    const space = { project: 'red', name: 'app', namespace: 'red-app', uid: 's1' };
    send('SPACE', space);
    expect(followed.findSpace('red', 'app')).toEqual(space);
    send('NOSPACE', { project: 'red', name: 'app' });
    expect(followed.findSpace('red', 'app')).toBeUndefined();
  });

  it('carries scopes: its own and those above it', () => {
    const { followed, begin, send, credential } = setUp();
    begin();
    const scopes = [{ owner: 'OwnedAccessKey "ci"', scope: { clusters: [{ cluster: 'edge' }] } }];
    send('ADD', credential(a, { scopes }));
    send('SYNCED', { positions: at(5) });
    expect(followed.find(a)).toMatchObject({ gateOwners: ['OwnedAccessKey "ci"'] });
    expect(followed.find(a)?.gates).toHaveLength(1);
  });

  it('ends each token by itself, by the clock of the platform or its own, whichever is later', () => {
    const { clock, stream, send, isGood } = setUp({ outageMs: 24 * hour });
    stream([a], at(5));
    send('BEAT', { time: clock.now() + hour, positions: at(5) });
    clock.advance(9 * hour - 1);
    expect(isGood(a)).toBe(true);
    clock.advance(1);
    expect(isGood(a)).toBe(false);
  });

  it('makes no user of ours of a name that stands for all rights', () => {
    const { followed, begin, send, credential } = setUp();
    begin();
    send('ADD', credential(a, { user: 'system:admin' }));
    send('ADD', credential(b, { groups: ['system:masters'] }));
    send('SYNCED', { positions: at(5) });
    expect(followed.find(a)).toBeUndefined();
    expect(followed.find(b)).toBeUndefined();
  });

  it('takes 100,000 tokens', () => {
    const { followed, begin, send, credential } = setUp();
    begin();
    for (let index = 0; index < 100_000; index += 1) {
      const hash = index.toString(16).padStart(64, '0');
      send('ADD', credential(hash, { uid: `uid-${index}`, user: `user-${index % 1_000}` }));
    }
    send('SYNCED', { positions: at(5) });
    expect(followed.find('1869f'.padStart(64, '0'))?.identity.user).toBe('user-999');
  });
});

describe('a token that an API server asks about', () => {
  const jti = 'uid-a.1.AAECAwQFBgcICQoLDA0ODw';
  const setUpToken = (more: object) => {
    const world = setUp();
    world.begin();
    world.send('ADD', { ...world.credential(a), ...more });
    world.send('SYNCED', { positions: at(5) });
    return world;
  };

  it('is known by the jti whose hash the platform has named, and by no other', () => {
    const { followed, send } = setUpToken({ tokenID: tokenIDHash(jti) });
    expect(followed.findToken(jti)).toBe(followed.find(a));
    for (const guessed of ['uid-a.1', 'uid-a.1.', `${jti}A`, tokenIDHash(jti), ''])
      expect(followed.findToken(guessed)).toBeUndefined();
    send('DROP', { hash: a });
    expect(followed.findToken(jti)).toBeUndefined();
  });

  it('is followed, but known by no jti, where a gateway of an earlier release names it', () => {
    const { followed } = setUpToken({ uid: undefined, jti: 'uid-a.1' });
    expect(followed.find(a)?.record.uid).toBe('uid-a');
    expect(followed.findToken('uid-a.1')).toBeUndefined();
  });

  it('is none where the platform names no hash, because then the jti can be guessed', () => {
    const { followed } = setUpToken({});
    expect(followed.find(a)).toBeDefined();
    for (const guessed of ['uid-a.1', jti, '']) expect(followed.findToken(guessed)).toBeUndefined();
  });
});

describe('a bad stream', () => {
  const good = {
    ...{ hash: b, uid: 'uid-b', name: 'ci', user: 'ann', groups: [], scopes: [], end: 1 },
  };
  const start = { type: 'START', number: 1, object: { cluster: 'edge', uid: 'u1' } };
  const add = { type: 'ADD', number: 2, object: good };
  const synced = { type: 'SYNCED', number: 2, object: { positions: at(9) } };

  it.each<[string, readonly unknown[], RegExp]>([
    ['loses a line', [start, { ...add, number: 3 }], /lost, repeated or moved/],
    ['repeats a line', [start, start], /lost, repeated or moved/],
    ['goes back in number', [start, add, { ...add, number: 1 }], /lost, repeated or moved/],
    ['has lines without a number', [start, { type: 'DROP', object: { hash: b } }], /lost, repeated or moved/],
    ['begins with something else', [{ ...add, number: 1 }], /START is not the first/],
    ['starts twice', [start, { ...start, number: 2 }], /START is not the first/],
    ['names another cluster', [{ ...start, object: { cluster: 'other', uid: 'u1' } }], /another cluster/],
    ['names no UID', [{ ...start, object: { cluster: 'edge', uid: '' } }], /cannot be read/],
    ['has a line of an unknown type', [start, { type: 'EVICT', number: 2, object: {} }], /unknown type/],
    ['has a type of every object', [start, { type: 'constructor', number: 2, object: {} }], /unknown type/],
    ['has a line that is no object', [start, null], /lost, repeated or moved/],
    ['is synced twice', [start, synced, { ...synced, number: 3 }], /synced twice/],
    [
      'has positions that go back',
      [start, synced, { type: 'BEAT', number: 3, object: { time: 1, positions: at(8) } }],
      /go back/,
    ],
    [
      'has a position that is no number',
      [start, { ...synced, object: { positions: { ...at(1), keys: '-1' } } }],
      /cannot be read/,
    ],
    [
      'says one hash twice with two users',
      [start, add, { type: 'ADD', number: 3, object: { ...good, user: 'eve' } }],
      /two users/,
    ],
    ['has a short hash', [start, { ...add, object: { ...good, hash: 'bb' } }], /cannot be read/],
    ['leaves the scopes out', [start, { ...add, object: { ...good, scopes: undefined } }], /cannot be read/],
    [
      'has a scope that is none',
      [start, { ...add, object: { ...good, scopes: [{ owner: 'x' }] } }],
      /cannot be read/,
    ],
    ['has a group that is no text', [start, { ...add, object: { ...good, groups: [1] } }], /cannot be read/],
    ['has a short ID of a token', [start, { ...add, object: { ...good, tokenID: 'bb' } }], /cannot be read/],
    ['has a UID that is none', [start, { ...add, object: { ...good, uid: 'a/b' } }], /cannot be read/],
    [
      'has no UID, and a jti without a number',
      [start, { ...add, object: { ...good, uid: undefined, jti: 'uid-b' } }],
      /cannot be read/,
    ],
    ['names no user', [start, { ...add, object: { ...good, user: '' } }], /cannot be read/],
    ['names no end', [start, { ...add, object: { ...good, end: -1 } }], /cannot be read/],
    [
      'names a namespace that is a path',
      [start, { type: 'SPACE', number: 2, object: { project: 'p', name: 's', namespace: 'a/b', uid: 'u' } }],
      /cannot be read/,
    ],
  ])('that %s is over, and the former set stays', (_, lines, message) => {
    const { followed, stream, isGood } = setUp();
    stream([a], at(5));
    followed.begin();
    const take = () => {
      for (const line of lines) followed.take(line);
    };
    expect(take).toThrow(BadStream);
    expect(take).toThrow();
    followed.begin();
    expect(take).toThrow(message);
    followed.end();
    expect(isGood(a)).toBe(!lines.includes(synced));
  });

  it('with another user of a known token ends that token', () => {
    const { followed, stream, begin, send, credential, isGood } = setUp();
    stream([a, b], at(5));
    begin();
    expect(() => send('ADD', credential(a, { user: 'eve' }))).toThrow(BadStream);
    followed.end();
    expect([isGood(a), isGood(b)]).toEqual([false, true]);
  });
});

describe('a fresh stream', () => {
  it('leaves the former set alone until it has sent all', () => {
    const { begin, send, stream, changed, isGood } = setUp();
    stream([a], at(5));
    begin();
    expect(isGood(a)).toBe(true);
    send('SYNCED', { positions: at(6) });
    expect(isGood(a)).toBe(false);
    expect(changed).toContain(a);
  });

  it.each([at(4, 9, 9), at(9, 0, 9), at(9, 9, 0)])(
    'of a gateway that knows less brings nothing back until it knows as much (%j)',
    (positions) => {
      const { followed, stream, beat, isGood } = setUp();
      stream([a], at(5));
      beat(at(5));
      stream([a, b], positions);
      expect(followed.isBehind).toBe(true);
      expect([isGood(a), isGood(b)]).toEqual([true, false]);
      beat(at(9, 9, 9));
      expect(followed.isBehind).toBe(false);
      expect([isGood(a), isGood(b)]).toEqual([true, true]);
    },
  );

  it('that knows less is no proof, and yet its drops count', () => {
    const { clock, followed, stream, beat, send, isGood } = setUp();
    stream([a, b], at(5));
    stream([a, b], at(4));
    clock.advance(7_000);
    beat(at(4));
    expect(followed.isAway).toBe(true);
    send('DROP', { hash: a });
    expect([isGood(a), isGood(b)]).toEqual([false, true]);
  });

  it('does not bring back what another dropped without a proof of up to where', () => {
    const { clock, followed, stream, send, isGood } = setUp();
    stream([a, b], at(5));
    send('DROP', { hash: a });
    followed.end();
    stream([a, b], at(5));
    expect([isGood(a), isGood(b)]).toEqual([false, true]);
    clock.advance(10 * 60_000);
    expect(isGood(a)).toBe(true);
  });

  it('may bring back what was dropped with a proof, as a lock that was lifted does', () => {
    const { stream, send, beat, isGood } = setUp();
    stream([a], at(5));
    send('DROP', { hash: a });
    beat(at(6));
    stream([a], at(7));
    expect(isGood(a)).toBe(true);
  });

  it('of a Cluster that was made again ends all that was good before', () => {
    const { begin, stream, isGood } = setUp();
    stream([a], at(5));
    begin('u2');
    expect(isGood(a)).toBe(false);
  });
});

describe('a Cluster that is not there any more', () => {
  it('leaves no token good, for requests under way too, and keeps its positions', () => {
    const { followed, stream, beat, changed, isGood } = setUp();
    stream([a, b], at(5));
    changed.length = 0;
    followed.end();
    followed.forget();
    expect([isGood(a), isGood(b)]).toEqual([false, false]);
    expect(changed).toEqual([a, b]);
    // Not an outage: the answer is that the token is not good.
    expect(followed.problem()).toBeUndefined();
    expect(followed.isAway).toBe(false);
    stream([a], at(4));
    expect(isGood(a)).toBe(false);
    beat(at(5));
    expect(isGood(a)).toBe(true);
  });

  it('brings nothing back that an earlier process has kept', () => {
    const { followed, credential, isGood } = setUp();
    const set = new LiveSet();
    set.apply({ type: 'ADD', number: 2, object: credential(a) });
    followed.forget();
    followed.restore({ set, ageMs: 0 });
    expect(isGood(a)).toBe(false);
  });
});

describe('an outage', () => {
  it('leaves the last set good until its limit is over, and not longer', () => {
    const { clock, followed, stream, isGood } = setUp();
    stream([a], at(5));
    clock.advance(6_001);
    expect(followed.isAway).toBe(true);
    clock.advance(hour - 6_001);
    expect(isGood(a)).toBe(true);
    clock.advance(1);
    expect(followed.problem()).toBe('the platform has been away for too long');
  });

  it.each([59, 61])('ends with a fresh stream, after %i minutes too', (minutes) => {
    const { clock, stream, isGood } = setUp();
    stream([a], at(5));
    clock.advance(minutes * 60_000);
    stream([a], at(5));
    expect(isGood(a)).toBe(true);
  });

  it('does not forget after its limit what was revoked before', () => {
    const { clock, stream, send, beat, isGood } = setUp();
    stream([a], at(5));
    send('DROP', { hash: a });
    beat(at(6));
    clock.advance(2 * hour);
    stream([a], at(5));
    expect(isGood(a)).toBe(false);
  });

  it('without any time of its own still bears three beats', () => {
    const { clock, stream, isGood } = setUp({ outageMs: 0 });
    stream([a], at(5));
    clock.advance(6_000);
    expect(isGood(a)).toBe(true);
    clock.advance(1);
    expect(isGood(a)).toBe(false);
  });
});

describe('what an earlier process kept', () => {
  const kept = (credential: LiveCredential, positions: Positions): LiveSet => {
    const set = new LiveSet();
    set.apply({ type: 'START', number: 1, object: { cluster: 'edge', uid: 'u1' } });
    set.apply({ type: 'ADD', number: 2, object: credential });
    set.apply({ type: 'SYNCED', number: 3, object: { positions } });
    return set;
  };

  it('counts for what is left of the outage, and each token until its end', () => {
    const { clock, followed, credential, isGood } = setUp();
    followed.restore({ set: kept(credential(a), at(5)), ageMs: hour - 1_000 });
    expect(isGood(a)).toBe(true);
    clock.advance(1_001);
    expect(isGood(a)).toBe(false);
  });

  it('does not replace what a stream has said', () => {
    const { followed, stream, credential, isGood } = setUp();
    stream([a], at(9));
    followed.restore({ set: kept(credential(b), at(5)), ageMs: 0 });
    expect([isGood(a), isGood(b)]).toEqual([true, false]);
  });

  it('says up to where a stream has to know', () => {
    const { followed, stream, beat, isGood } = setUp();
    followed.remember(at(8));
    stream([a], at(7));
    expect(isGood(a)).toBe(false);
    beat(at(8));
    expect(isGood(a)).toBe(true);
  });
});
