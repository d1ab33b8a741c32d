import { once } from 'node:events';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { liveRecord } from '../../../../test/builders/credential-object.ts';
import { FakeClock } from '../../../../test/fakes/fake-clock.ts';
import { openResponse } from '../../../../test/fakes/open-response.ts';
import { untilStill, waitFor } from '../../../../test/fakes/wait-for.ts';
import { beatMs, type LiveLine, maxScopesBytes } from '../../../api/live-credentials.ts';
import { TargetRecords } from '../../index/target-records.ts';
import type { Verdict } from '../../index/verdict.ts';
import type { EndpointRequest } from '../shared/endpoint.ts';
import { CredentialStream, type StreamServices } from './credential-stream.ts';

const record = liveRecord({ kind: 'DirectClusterEndpointToken' });
const verdictOf = (user: string, end: number) =>
  ({
    record,
    ancestors: [],
    identity: { user, groups: [] },
    end,
    scopes: '',
    gates: [],
  }) as unknown as Verdict;

/** The tokens of a gateway, as a test changes them. */
class Tokens {
  readonly live = new Map<string, Verdict>();
  readonly known = new Set<string>();
  readonly clock: FakeClock;
  version = '0';
  #changes = 0;
  #listener: (hash: string) => void = () => undefined;

  constructor(clock: FakeClock) {
    this.clock = clock;
  }

  get positions() {
    return { tokens: `${this.#changes}`, keys: '0', locks: '0' };
  }

  find(hash: string): Verdict | undefined {
    return this.live.get(hash);
  }

  now(): number {
    return this.clock.now();
  }

  hashes(): IterableIterator<string> {
    return this.known.keys();
  }

  subscribe(listener: (hash: string) => void): () => void {
    this.#listener = listener;
    return () => {
      this.#listener = () => undefined;
    };
  }

  set(hash: string, user: string | undefined, scope?: object): void {
    this.#changes += 1;
    this.known.add(hash);
    const verdict = verdictOf(user ?? '', this.clock.now() + 3_600_000);
    if (user === undefined) this.live.delete(hash);
    else this.live.set(hash, { ...verdict, record: { ...record, ...(scope && { scope }) } } as Verdict);
    this.#listener(hash);
  }
}

/** A reader who keeps what the lines say, in their order, and reads on only while the test lets them. */
async function open({ rejected = [] as readonly string[], count = 0 } = {}) {
  const { response, reader } = await openResponse();
  const clock = new FakeClock();
  const tokens = new Tokens(clock);
  for (let each = 0; each < count; each += 1) tokens.set(`hash-${each}`, 'alice');
  const permissions = {
    maxStayMs: 45_000,
    isAllowed: async ({ user }: { user: string }) => !rejected.includes(user),
    mayStay: () => true,
    lastAnswer: ({ user }: { user: string }) => ({
      allowed: !rejected.includes(user),
      asked: Math.min(clock.monotonic(), seen.silentSince),
    }),
  };
  const targetRecords = new TargetRecords('p-');
  const seen = {
    ...{ turns: 0, lines: [] as LiveLine[], good: new Map<string, string>() },
    ...{ onTurn: () => {}, silentSince: Number.POSITIVE_INFINITY },
  };
  const turn = async () => {
    seen.turns += 1;
    seen.onTurn();
    await new Promise(setImmediate);
  };
  const services = { clock, tokens, permissions, followingPermissions: permissions, targetRecords };
  const request = { response, turn, sender: { verdict: { identity: { user: 'agent', groups: [] } } } };
  const cluster = { name: 'west', uid: 'uid-west' };
  const stream = new CredentialStream(
    request as unknown as EndpointRequest,
    services as unknown as StreamServices,
    cluster as never,
  );
  const over = stream.run();
  const take = (text: string) => {
    const line = JSON.parse(text) as LiveLine;
    seen.lines.push(line);
    if (line.type === 'ADD') seen.good.set(line.object.hash, line.object.user);
    if (line.type === 'DROP') seen.good.delete(line.object.hash);
  };
  let rest = '';
  const read = () =>
    reader.setEncoding('utf8').on('data', (text: string) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) take(line);
    });
  const has = (type: LiveLine['type']) => seen.lines.some((line) => line.type === type);
  /** The reader has a proof that was made after now. */
  const proof = async () => {
    const { length } = seen.lines;
    await waitFor('a beat', () => {
      clock.advance(beatMs / 4);
      return seen.lines.slice(length).filter(({ type }) => type === 'BEAT').length > 1;
    });
  };
  return { response, reader, clock, tokens, seen, read, has, proof, over, clusters: targetRecords.clusters };
}

const count = 100_000;
const areNumbered = (lines: readonly LiveLine[]): boolean =>
  lines.every(({ number }, index) => number === index + 1);

it('keeps little of 100,000 tokens for a reader who takes none yet, and says how they are when they are taken', async () => {
  const { response, seen, read, has, tokens, proof } = await open({ count });
  // The two ends of the connection hold some megabytes of the 17.
  await untilStill('the stream', () => response.socket?.bytesWritten ?? 0);
  expect(response.socket?.bytesWritten).toBeLessThan(12_000_000);
  expect(response.writableLength).toBeLessThan(2 ** 20);
  const last = `hash-${count - 1}`;
  tokens.set(last, undefined);
  tokens.set('hash-0', undefined);
  tokens.set('late', 'bob');
  read();
  // A tenth of a million lines: on a busy machine that takes half a minute.
  await waitFor('all of them', () => has('SYNCED'), 100_000);
  await proof();
  const of = (asked: string) =>
    seen.lines.flatMap(({ type, object }) => ('hash' in object && object.hash === asked ? [type] : []));
  // One was said already, the other was never said to be good.
  expect([of('hash-0'), of(last), of('late')]).toEqual([['ADD', 'DROP'], [], ['ADD']]);
  expect(seen.good.size).toBe(count - 1);
  expect(seen.lines.filter(({ type }) => type === 'SYNCED')).toHaveLength(1);
  expect(areNumbered(seen.lines)).toBe(true);
  expect(seen.turns).toBeGreaterThanOrEqual(count / 50);
});

it('beats while it checks thousands of tokens of which none is good here: without a word its reader would leave', async () => {
  const { seen, clock, read, has } = await open({ rejected: ['alice'], count: 20_000 });
  read();
  // Fifty tokens take so long here.
  seen.onTurn = () => clock.advance(beatMs / 10);
  await waitFor('all of them', () => has('SYNCED'), 30_000);
  const beforeAll = seen.lines.findIndex(({ type }) => type === 'SYNCED');
  const beats = seen.lines.slice(0, beforeAll).filter(({ type }) => type === 'BEAT');
  expect(beats.length).toBeGreaterThan(10);
});

it('says nothing of tokens whose users may not enter', async () => {
  const { seen, tokens, read, proof } = await open({ rejected: ['mallory'] });
  read();
  tokens.set('hers', 'mallory');
  tokens.set('his', 'bob');
  await proof();
  expect([...seen.good]).toEqual([['his', 'bob']]);
});

it('leaves nothing behind when its reader goes', async () => {
  const { reader, seen, tokens, read, has, over, clock } = await open({ count: 10 });
  read();
  await waitFor('all of them', () => has('SYNCED'));
  reader.destroy();
  await over;
  const { turns } = seen;
  tokens.set('late', 'bob');
  clock.advance(10 * beatMs);
  await clock.settle();
  expect(seen.turns).toBe(turns);
});

it('says that every token is bad before it ends with its Cluster: an end alone would be an outage', async () => {
  const { reader, seen, clusters, read, has, over } = await open({ count: 120 });
  const ended = once(reader, 'end');
  read();
  await waitFor('all of them', () => has('SYNCED'));
  expect(seen.good.size).toBe(120);
  clusters.upsert({ key: 'west', name: 'west', uid: 'uid-of-another' } as never);
  await Promise.all([over, ended]);
  expect(seen.good.size).toBe(0);
  expect(seen.lines.at(-1)?.type).toBe('BEAT');
  expect(areNumbered(seen.lines)).toBe(true);
});

it('ends and takes nothing away when the platform answers no question any more', async () => {
  const { reader, seen, clock, read, has, over } = await open({ count: 3 });
  read();
  await waitFor('all of them', () => has('SYNCED'));
  seen.silentSince = clock.monotonic();
  const gone = new Promise((resolve) => reader.once('close', resolve));
  await clock.advanceAsync(50_000, 500);
  await Promise.all([over, gone]);
  expect(seen.good.size).toBe(3);
});

it('names no token whose scopes are too large to be repeated, and drops one whose scopes become so', async () => {
  const { seen, tokens, read, proof } = await open();
  read();
  const large = { clusters: [{ cluster: 'x'.repeat(maxScopesBytes) }] };
  tokens.set('large', 'alice', large);
  tokens.set('grows', 'alice', { clusters: [{ cluster: 'west' }] });
  await proof();
  expect([...seen.good.keys()]).toEqual(['grows']);
  tokens.set('grows', 'alice', large);
  await proof();
  expect([...seen.good.keys()]).toEqual([]);
});

it('no proof claims a change that came while others were sent, and waits', async () => {
  const { seen, tokens, read, has, proof } = await open({ count: 2 });
  read();
  await waitFor('all of them', () => has('SYNCED'));
  seen.onTurn = () => {
    seen.onTurn = () => {};
    tokens.set('hash-0', undefined);
  };
  tokens.set('hash-1', undefined);
  await proof();
  const dropped = seen.lines.findIndex(({ type, object }) => type === 'DROP' && object.hash === 'hash-0');
  const claimed = seen.lines.findIndex(
    ({ type, object }) => type === 'BEAT' && object.positions.tokens === tokens.positions.tokens,
  );
  expect(dropped).toBeGreaterThan(0);
  expect(claimed).toBeGreaterThan(dropped);
});

it('whatever changes and whenever it is read, a proof leaves the reader with what is good', async () => {
  const change = fc.record({
    hash: fc.integer({ min: 0, max: 4 }),
    user: fc.option(fc.constantFrom('alice', 'bob', 'mallory'), { nil: undefined }),
    isRead: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(change, { maxLength: 30 }), async (changes) => {
      const { tokens, seen, read, proof, clock } = await open({ rejected: ['mallory'], count: 3 });
      read();
      for (const { hash, user, isRead } of changes) {
        tokens.set(`hash-${hash}`, user);
        if (isRead) await clock.settle();
      }
      await proof();
      const good = [...tokens.live].flatMap(([hash, { identity }]) =>
        identity.user === 'mallory' ? [] : [[hash, identity.user]],
      );
      expect([...seen.good].toSorted()).toEqual(good.toSorted());
      expect(areNumbered(seen.lines)).toBe(true);
    }),
    { numRuns: 50 },
  );
});
