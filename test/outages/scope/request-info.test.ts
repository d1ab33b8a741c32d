import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Guard } from '../../../lab/controlplane/guard.ts';
import { ApiServerOriginal } from '../../apiserver/apiserver.ts';
import { compareRequests } from '../../apiserver/compare-requests.ts';

const count = 250_000;
let guard: Guard;
let original: ApiServerOriginal;

beforeAll(async () => {
  guard = await Guard.start('many-requests');
  original = await ApiServerOriginal.build(guard.folder);
});

afterAll(() => guard?.stop());

describe('a quarter of a million resolved requests', () => {
  it('mean to the API server what they mean here', { timeout: 600_000 }, async () => {
    const { compared, refused, differences } = await compareRequests(original, {
      seed: 1_000_003,
      count,
    });
    expect(differences).toEqual([]);
    const sum = Object.values(refused).reduce((total, times) => total + times, 0);
    expect(compared + sum).toBe(count);
    expect(compared).toBeGreaterThan(0.8 * count);
  });
});
