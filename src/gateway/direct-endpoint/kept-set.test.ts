import { randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { gunzipSync, gzip } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { parseKept, renderKept } from './kept-set.ts';
import { LiveSet } from './live-set.ts';

const compress = promisify(gzip);
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
    const jti = `${randomBytes(16).toString('hex')}.1`;
    set.apply({ type: 'ADD', number: 3, object: { hash, jti, end: now + index, ...names } });
  }
  set.apply({ type: 'SYNCED', number: 4, object: { positions } });
  return set;
}

const secretOf = (text: string | undefined) => ({ data: { set: text } });
const keep = async (set: LiveSet, proved = now) =>
  await renderKept('edge', { set, proved, rights: ['a right'] });
const altered = async (change: object) => {
  const rendered = await keep(setOf(1));
  const text = JSON.parse(gunzipSync(Buffer.from(rendered?.text ?? '', 'base64')).toString());
  const bytes = await compress(JSON.stringify({ ...text, ...change }));
  return secretOf(bytes.toString('base64'));
};

describe('the set for a restart', () => {
  it('reads back as it was, with its age', async () => {
    const set = setOf(3);
    const kept = await parseKept('edge', secretOf((await keep(set))?.text), now + 5_000);
    expect(kept?.ageMs).toBe(5_000);
    expect(kept?.rights).toEqual(['a right']);
    expect(new Map(kept?.set.credentials)).toEqual(set.credentials);
    expect(kept?.set.spaces).toEqual(set.spaces);
    expect(kept?.set.positions).toEqual(positions);
  });

  it('leaves out those that end first where not all have room, and says how many', async () => {
    const rendered = await keep(setOf(25_000));
    expect(rendered?.left).toBeGreaterThan(5_000);
    expect(Buffer.from(rendered?.text ?? '', 'base64').length).toBeLessThanOrEqual(900 * 1_024);
    const kept = await parseKept('edge', secretOf(rendered?.text), now);
    const ends = [...(kept?.set.credentials.values() ?? [])].map(({ credential }) => credential.end - now);
    expect(ends).toHaveLength(25_000 - (rendered?.left ?? 0));
    expect(Math.min(...ends)).toBe(rendered?.left);
  });

  it.each<[string, object]>([
    ['is of another cluster', { cluster: 'other' }],
    ['is of another form', { version: 2 }],
    ['comes from the future', { proved: now + 3_600_000 }],
    ['does not say when it was good', { proved: 'now' }],
    ['has no positions', { positions: {} }],
    [
      'has a token without scopes',
      { credentials: [{ hash: 'a'.repeat(64), jti: 'u.1', name: 'ci', user: 'ann', groups: [], end: 1 }] },
    ],
  ])('counts for nothing where it %s', async (_, change) => {
    expect(await parseKept('edge', await altered(change), now)).toBeUndefined();
    expect(await parseKept('edge', await altered({}), now)).toBeDefined();
  });

  it.each<[string, string | undefined]>([
    ['is empty', undefined],
    ['is no base64', '%%%'],
    ['is not compressed', Buffer.from('{}').toString('base64')],
  ])('counts for nothing where the Secret %s', async (_, text) => {
    expect(await parseKept('edge', secretOf(text), now)).toBeUndefined();
  });

  it('does not fill the memory with what a small Secret unfolds to', async () => {
    const bomb = await compress(Buffer.alloc(128 * 2 ** 20));
    expect(await parseKept('edge', secretOf(bomb.toString('base64')), now)).toBeUndefined();
  });
});
