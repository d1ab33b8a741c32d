import { describe, expect, it } from 'vitest';
import { interleave } from './rounds.ts';

describe('interleaved rounds', () => {
  const contender = (name: string, order: string[]) => ({
    name,
    measure: async (round: number) => {
      order.push(`${name}${round} begins`);
      await Promise.resolve();
      order.push(`${name}${round} ends`);
      return { seconds: round };
    },
  });

  it('measure one contender after the other, round by round', async () => {
    const order: string[] = [];
    await interleave([contender('A', order), contender('B', order)], 2, () => undefined);
    expect(order.filter((step) => step.endsWith('begins')).map((step) => step.slice(0, 2))).toEqual([
      'A1',
      'B1',
      'A2',
      'B2',
    ]);
    expect(order.every((step, index) => step.endsWith(index % 2 === 0 ? 'begins' : 'ends'))).toBe(true);
  });

  it('keep the samples of each contender', async () => {
    const samples = await interleave([contender('A', []), contender('B', [])], 3, () => undefined);
    expect([...samples]).toEqual([
      ['A', [{ seconds: 1 }, { seconds: 2 }, { seconds: 3 }]],
      ['B', [{ seconds: 1 }, { seconds: 2 }, { seconds: 3 }]],
    ]);
  });

  it('say what came out', async () => {
    const said: string[] = [];
    await interleave([contender('A', [])], 1, (text) => said.push(text));
    expect(said).toEqual(['round 1 of 1: A: seconds 1.000']);
  });
});
