import type { Samples } from './rounds.ts';
import { median } from './statistics.ts';

/** A figure of one contender in relation to that of another, which was measured right before or after it. */
export interface Ratio {
  readonly key: string;
  readonly of: string;
  readonly to: string;
}

/** The median over the rounds of the ratio within a round; undefined when one of them was not measured. */
export function ratioOf(samples: Samples, { key, of, to }: Ratio): number | undefined {
  const [own, others] = [samples.get(of) ?? [], samples.get(to) ?? []];
  const ratios = own.map(
    (sample, round) => (sample[key] ?? Number.NaN) / (others[round]?.[key] ?? Number.NaN),
  );
  const known = ratios.filter((ratio) => !Number.isNaN(ratio));
  return known.length === 0 ? undefined : median(known);
}
