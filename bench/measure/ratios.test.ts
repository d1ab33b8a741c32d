import { describe, expect, it } from 'vitest';
import { ratioOf } from './ratios.ts';

describe('the ratio of two contenders', () => {
  const samples = new Map([
    ['ours', [{ cpu: 10 }, { cpu: 40 }, { cpu: 30 }]],
    ['limit', [{ cpu: 5 }, { cpu: 10 }, { cpu: 10, rate: 1 }]],
  ]);

  it('is the median of the ratios within each round', () => {
    expect(ratioOf(samples, { key: 'cpu', of: 'ours', to: 'limit' })).toBe(3);
  });

  it.each([
    { key: 'cpu', of: 'ours', to: 'nginx' },
    { key: 'rate', of: 'limit', to: 'ours' },
  ])('is unknown where one of them was not measured: %j', (ratio) => {
    expect(ratioOf(samples, ratio)).toBeUndefined();
  });
});
