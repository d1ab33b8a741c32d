import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { confirmed, created, credentialObject } from '../../../test/builders/credential-object.ts';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { generateAccessKey } from '../../credentials/keys/access-key.ts';
import { credentialHash } from '../../credentials/keys/credential-hash.ts';
import { toLiveRecord } from '../../credentials/live-record.ts';
import { Locks } from '../../platform/locks.ts';
import { CredentialRecords } from '../index/credential-records.ts';
import { TargetRecords } from '../index/target-records.ts';
import { Verdicts } from '../index/verdicts.ts';
import { authenticate } from './authenticate.ts';

const known = Array.from({ length: 1_000 }, () => randomBytes(32));

/** The last of 32 bytes is another one, so about forty characters of the secret are right, and the checksum is, too. */
function closeTo(bytes: Buffer): string {
  const other = Buffer.from(bytes);
  other[31] = (other[31] ?? 0) ^ (1 + Math.floor(Math.random() * 255));
  return generateAccessKey(other);
}

function start() {
  const records = new CredentialRecords();
  for (const [index, bytes] of known.entries()) {
    const spec = { user: 'alice', key: `sha256:${credentialHash(generateAccessKey(bytes))}` };
    const object = confirmed(credentialObject({ name: `key-${index}`, spec }));
    records.ofKind.OwnedAccessKey.upsert(toLiveRecord(object, 'OwnedAccessKey'));
  }
  const verdicts = new Verdicts({
    records,
    targets: new TargetRecords('p-'),
    now: () => created,
    locks: new Locks(),
    activityInterval: 60_000,
    projectNamespacePrefix: 'p-',
    onDropped: () => undefined,
  });
  const asked: string[] = [];
  const find = (hash: string) => {
    asked.push(hash);
    return verdicts.find(hash);
  };
  const options = {
    index: { find, problem: () => undefined },
    clock: new FakeClock(created),
  };
  const ask = (bearer: string) =>
    authenticate({ rawHeaders: ['Authorization', `Bearer ${bearer}`], headers: {} }, options);
  return { ask, asked };
}

it('takes a guess that comes close for what it takes any other: nothing but its SHA-256 is looked up', () => {
  const { ask, asked } = start();
  const [bytes = Buffer.alloc(32)] = known;
  expect(ask(generateAccessKey(bytes))).toHaveProperty('verdict');
  const guesses = [closeTo(bytes), generateAccessKey(randomBytes(32))];
  const [close, far] = guesses.map(ask);
  expect(close).toHaveProperty('status', 401);
  expect(close).toBe(far);
  expect(asked.slice(1)).toEqual(guesses.map(credentialHash));
});

it('answers 20,000 guesses that come close in the time of as many that do not', () => {
  const { ask, asked } = start();
  const timed = (guesses: readonly string[]) => {
    const begin = process.hrtime.bigint();
    for (const guess of guesses) ask(guess);
    asked.length = 0;
    return Number(process.hrtime.bigint() - begin);
  };
  const ratios = Array.from({ length: 100 }, (_, round) => {
    const close = Array.from({ length: 200 }, (_, index) => closeTo(known[index] ?? Buffer.alloc(32)));
    const far = Array.from({ length: 200 }, () => generateAccessKey(randomBytes(32)));
    // Who is second finds a warmer processor.
    if (round % 2 === 0) return timed(close) / timed(far);
    const second = timed(far);
    return timed(close) / second;
  });
  const median = ratios.toSorted((a, b) => a - b)[50] ?? 0;
  // A scan, or a second hash, is half of it and more; a neighbour on the machine delays both.
  expect(median).toBeGreaterThan(0.7);
  expect(median).toBeLessThan(1.4);
});
