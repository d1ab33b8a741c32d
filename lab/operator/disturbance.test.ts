import { expect, it } from 'vitest';
import { byShare } from './disturbance.ts';

it('a share of the requests is met evenly', () => {
  const disturb = byShare(0.25, { status: 503 });
  const met = Array.from({ length: 12 }, () => disturb('GET /api')?.status === 503);
  expect(met.flatMap((is, index) => (is ? [index] : []))).toEqual([3, 7, 11]);
});

it('several disturbances come in turn', () => {
  const disturb = byShare(0.5, { status: 429 }, { isLost: true });
  const met = Array.from({ length: 8 }, () => disturb('GET /api'));
  expect(met.filter((each) => each !== undefined)).toEqual([
    { status: 429 },
    { isLost: true },
    { status: 429 },
    { isLost: true },
  ]);
});
