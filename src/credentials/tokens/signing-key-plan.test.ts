import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { generateSigningKey, type SigningKey, type SigningKeyDates } from './signing-key.ts';
import { planSigningKeys } from './signing-key-plan.ts';

const hour = 3_600_000;
const day = 24 * hour;
const start = Date.UTC(2026, 10, 21);
const policy = { rotation: 30 * day, publishAhead: day, maxTokenLife: 86_400, leeway: hour };
let template: SigningKey;
beforeAll(async () => {
  template = await generateSigningKey({ createdAt: 0, activeFrom: 0, maxLife: 0 });
});

const keyOf = (kid: string, activeFrom: number, dates: Partial<SigningKeyDates> = {}): SigningKey => ({
  ...template,
  kid,
  createdAt: activeFrom,
  activeFrom,
  maxLife: 86_400,
  ...dates,
});
const plan = (keys: readonly SigningKey[], now: number, change = {}) =>
  planSigningKeys(keys, now, { ...policy, ...change });

describe('planSigningKeys', () => {
  it('makes a key that signs at once when there is none', () => {
    expect(plan([], start)).toEqual({
      create: { createdAt: start, activeFrom: start, maxLife: 86_400 },
      extend: [],
      remove: [],
      nextChange: start,
    });
  });

  it('lets one key sign until its successor is due to be published', () => {
    const a = keyOf('a', start);
    expect(plan([a], start + 29 * day - 1)).toEqual({
      active: a,
      extend: [],
      remove: [],
      nextChange: start + 29 * day,
    });
  });

  it('publishes the successor ahead of its first signature', () => {
    const a = keyOf('a', start);
    const now = start + 29 * day;
    expect(plan([a], now)).toMatchObject({
      active: a,
      create: { createdAt: now, activeFrom: start + 30 * day },
    });
  });

  it('publishes a late successor as long ahead as any', () => {
    const now = start + 40 * day;
    expect(plan([keyOf('a', start)], now).create?.activeFrom).toBe(now + day);
  });

  it('does not make a second successor', () => {
    const [a, b] = [keyOf('a', start), keyOf('b', start + 30 * day)];
    expect(plan([a, b], start + 29.5 * day)).toEqual({
      active: a,
      extend: [],
      remove: [],
      nextChange: start + 30 * day,
    });
  });

  it('changes to the successor, and keeps the former key until nothing that it signed can be valid', () => {
    const [a, b] = [keyOf('a', start), keyOf('b', start + 30 * day)];
    const gone = start + 31 * day + hour;
    expect(plan([a, b], start + 30 * day)).toEqual({ active: b, extend: [], remove: [], nextChange: gone });
    expect(plan([a, b], gone - 1).remove).toEqual([]);
    expect(plan([a, b], gone)).toMatchObject({ active: b, remove: ['a'] });
  });

  it('keeps a former key for the longest life that it ever signed for', () => {
    const [a, b] = [keyOf('a', start, { maxLife: 90 * 86_400 }), keyOf('b', start + 30 * day)];
    expect(plan([a, b], start + 119 * day).remove).toEqual([]);
    expect(plan([a, b], start + 120 * day + hour).remove).toEqual(['a']);
  });

  it('records a longer life for the key that is to sign for it', () => {
    const keys = [keyOf('old', start), keyOf('a', start + 30 * day)];
    expect(plan(keys, start + 30 * day, { maxTokenLife: 90_000 }).extend).toEqual([
      { kid: 'a', maxLife: 90_000 },
    ]);
    expect(plan(keys, start + 30 * day, { maxTokenLife: 60 }).extend).toEqual([]);
  });

  it('signs with the published successor when the active key was revoked', () => {
    const b = keyOf('b', start + 30 * day);
    expect(plan([b], start + 29.5 * day)).toMatchObject({ active: b, remove: [] });
  });

  it('orders two keys of one instant in the same way on every replica', () => {
    const [a, b] = [keyOf('a', start), keyOf('b', start)];
    expect(plan([a, b], start).active).toBe(b);
    expect(plan([b, a], start).active).toBe(b);
  });

  it('over years never lacks a published key, never signs with an unpublished one, and never removes one too early', () => {
    const steps = fc.array(fc.integer({ min: 1, max: 20 * day }), { minLength: 50, maxLength: 120 });
    const life = fc.integer({ min: 60, max: 7_776_000 });
    fc.assert(fc.property(steps, life, (gaps, maxTokenLife) => rehearse(gaps, { ...policy, maxTokenLife })));
  });
});

interface Signature {
  readonly kid: string;
  readonly until: number;
}

/** Runs an operator that looks only now and then, and checks what a verifier relies on. */
function rehearse(gaps: readonly number[], options: typeof policy): boolean {
  let keys: readonly SigningKey[] = [];
  const signed: Signature[] = [];
  let now = start;
  for (const gap of [0, 0, ...gaps]) {
    now += gap;
    const { active, create, remove } = planSigningKeys(keys, now, options);
    keys = keys.filter(({ kid }) => !remove.includes(kid));
    if (active !== undefined) signed.push({ kid: active.kid, until: now + options.maxTokenLife * 1000 });
    if (create !== undefined) keys = [...keys, keyOf(`key-${signed.length}`, create.activeFrom, create)];
    if (active !== undefined && !wasPublishedAhead(active, now) && signed[0]?.kid !== active.kid)
      return false;
    if (signed.some(({ kid, until }) => until > now && !keys.some((key) => key.kid === kid))) return false;
  }
  return keys.length > 0;
}

const wasPublishedAhead = ({ createdAt }: SigningKey, now: number): boolean =>
  createdAt <= now - policy.publishAhead;
