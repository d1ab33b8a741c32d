import { describe, expect, it, vi } from 'vitest';
import { generateSigningKey } from '../../credentials/tokens/signing-key.ts';
import { KeyRing } from './key-ring.ts';

const dates = { createdAt: 0, activeFrom: 0, longestLife: 60 };
const [one, two] = await Promise.all([generateSigningKey(dates), generateSigningKey(dates)]);

describe('KeyRing', () => {
  it('signs with nothing before keys are published', () => {
    expect(new KeyRing(() => undefined).signer).toBeUndefined();
  });

  it('reports when there is a key to sign with', () => {
    const onChange = vi.fn();
    const ring = new KeyRing(onChange);
    ring.publish([one], one);
    expect(ring.signer?.kid).toBe(one.kid);
    expect(onChange).toHaveBeenCalledTimes(1);
    ring.publish([one, two], two);
    expect(onChange).toHaveBeenCalledTimes(1);
  });

  it('drops a revoked key at once, and signs no more with it', () => {
    const onChange = vi.fn();
    const ring = new KeyRing(onChange);
    ring.publish([one, two], two);
    ring.retain(new Set([one.kid]));
    expect([one, two].map(({ kid }) => ring.isPublished(kid))).toEqual([true, false]);
    expect(ring.signer).toBeUndefined();
    expect(onChange).toHaveBeenCalledTimes(2);
  });

  it('does not publish a key that it only retains', () => {
    const ring = new KeyRing(() => undefined);
    ring.retain(new Set([one.kid]));
    expect(ring.isPublished(one.kid)).toBe(false);
  });
});
