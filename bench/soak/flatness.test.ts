import { describe, expect, it } from 'vitest';
import { allFigures, judgeFlatness, type Sample } from './flatness.ts';

const limits = { settledAfterSeconds: 300, maxGrowth: 0.1, slackFactor: 1 };
/** One every ten seconds for an hour. */
const hour = (heapAt: (seconds: number) => number): readonly Sample[] =>
  Array.from({ length: 360 }, (_, index) => {
    const seconds = index * 10;
    return { seconds, resident: 150, heap: heapAt(seconds), handles: 40, sockets: 20 };
  });
const notFlat = (samples: readonly Sample[]) =>
  judgeFlatness(samples, limits)
    .filter(({ isFlat }) => !isFlat)
    .map(({ figure }) => figure);

describe('a soak', () => {
  it('is flat where nothing grows, however the garbage collector comes and goes', () => {
    const saw = (seconds: number) => 60 + ((seconds / 10) % 17);
    expect(judgeFlatness(hour(saw), limits).map(({ figure }) => figure)).toEqual(allFigures);
    expect(notFlat(hour(saw))).toEqual([]);
  });

  it('is not flat where a figure grows, also below the noise of the garbage collector', () => {
    expect(notFlat(hour((seconds) => 60 + ((seconds / 10) % 17) + seconds / 200))).toEqual(['heap']);
  });

  it('is flat where a figure grew before everything had settled', () => {
    expect(notFlat(hour((seconds) => Math.min(seconds, 300)))).toEqual([]);
  });

  it('is flat where a figure shrinks', () => {
    expect(notFlat(hour((seconds) => 500 - seconds / 10))).toEqual([]);
  });

  it('is not judged by a handful of samples', () => {
    const few = hour(() => 1).slice(0, 38);
    expect(() => judgeFlatness(few, limits)).toThrow('let it run for longer');
  });
});
