import { describe, expect, it, vi } from 'vitest';
import { generateSigningKey } from '../../credentials/tokens/signing-key.ts';
import { KeyRing } from './key-ring.ts';

const dates = { createdAt: 0, activeFrom: 0, maxLife: 60 };
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

  it('takes no key for revoked before it knows which are there', () => {
    const ring = new KeyRing(() => undefined);
    ring.retain(new Set([one.kid]));
    expect(ring.isRevoked(one.kid)).toBe(false);
    ring.publish([two], two);
    expect(ring.isRevoked(one.kid)).toBe(true);
  });

  it('drops a revoked key at once', () => {
    const onChange = vi.fn();
    const ring = new KeyRing(onChange);
    ring.publish([one, two], one);
    ring.retain(new Set([one.kid]));
    expect([one, two].map(({ kid }) => ring.isRevoked(kid))).toEqual([false, true]);
    expect(onChange).toHaveBeenCalledTimes(2);
  });

  it('signs no more with a revoked key, and reports when there is another', () => {
    const onChange = vi.fn();
    const ring = new KeyRing(onChange);
    ring.publish([one, two], two);
    ring.retain(new Set([one.kid]));
    expect(ring.signer).toBeUndefined();
    expect(onChange).toHaveBeenCalledTimes(2);
    ring.publish([one], one);
    expect([one, two].map(({ kid }) => ring.isRevoked(kid))).toEqual([false, true]);
    expect(onChange).toHaveBeenCalledTimes(3);
  });

  it('does not publish a key that it only retains', () => {
    const ring = new KeyRing(() => undefined);
    ring.publish([two], two);
    ring.retain(new Set([one.kid, two.kid]));
    expect(ring.isRevoked(one.kid)).toBe(true);
  });
});
