/** One figure over all rounds. */
export interface Summary {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** Throws `RangeError` for an empty list. */
export function summarize(values: readonly number[]): Summary {
  return { median: median(values), min: percentile(values, 0), max: percentile(values, 100) };
}

/** The middle value, or the mean of the two in the middle. Throws `RangeError` for an empty list. */
export function median(values: readonly number[]): number {
  const sorted = ascending(values);
  const upper = sorted[Math.floor(sorted.length / 2)] ?? 0;
  const lower = sorted[Math.ceil(sorted.length / 2) - 1] ?? 0;
  return (lower + upper) / 2;
}

/**
 * The smallest value that is not exceeded by `percent` of all values (nearest rank, so it is a value that was measured).
 * Throws `RangeError` for an empty list or a percentage outside of 0 to 100.
 */
export function percentile(values: readonly number[], percent: number): number {
  if (!(percent >= 0 && percent <= 100)) throw new RangeError(`no percentage: ${percent}`);
  const sorted = ascending(values);
  const rank = Math.max(1, Math.ceil((percent / 100) * sorted.length));
  return sorted[rank - 1] ?? 0;
}

/** The same for one figure of all samples. */
export const percentileOf = <Figure extends PropertyKey>(
  samples: readonly Readonly<Record<Figure, number>>[],
  figure: Figure,
  percent: number,
): number =>
  percentile(
    samples.map((sample) => sample[figure]),
    percent,
  );

function ascending(values: readonly number[]): readonly number[] {
  if (values.length === 0) throw new RangeError('no values');
  if (values.some(Number.isNaN)) throw new RangeError('a value is not a number');
  return values.toSorted((left, right) => left - right);
}
