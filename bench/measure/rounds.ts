/** The figures of one measurement, by the key of a `Measure`. */
export type Sample = Readonly<Record<string, number>>;

/** Something that is measured once in each round. */
export interface Contender {
  readonly name: string;
  readonly measure: (round: number) => Promise<Sample>;
}

export type Samples = ReadonlyMap<string, readonly Sample[]>;

/**
 * Measures all contenders in turn (A B C, A B C, …), never at the same time: whatever slows the machine down for a while
 * then meets all of them. Rounds count from 1.
 */
export async function interleave(
  contenders: readonly Contender[],
  rounds: number,
  progress: (text: string) => void,
): Promise<Samples> {
  const samples = new Map<string, Sample[]>(contenders.map(({ name }) => [name, []]));
  for (let round = 1; round <= rounds; round++) {
    for (const { name, measure } of contenders) {
      const sample = await measure(round);
      samples.get(name)?.push(sample);
      progress(`round ${round} of ${rounds}: ${name}: ${outline(sample)}`);
    }
  }
  return samples;
}

function outline(sample: Sample): string {
  return Object.entries(sample)
    .map(([key, value]) => `${key} ${value.toPrecision(4)}`)
    .join(', ');
}
