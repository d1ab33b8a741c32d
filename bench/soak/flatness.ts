import { percentileOf } from '../measure/statistics.ts';

/** The figures of a process at one moment. */
export const figures = {
  resident: { title: 'memory, MiB', slack: 8 },
  heap: { title: 'heap in use, MiB', slack: 4 },
  handles: { title: 'handles', slack: 8 },
  sockets: { title: 'sockets', slack: 8 },
} as const satisfies Record<string, { readonly title: string; readonly slack: number }>;

export type Figure = keyof typeof figures;
export const allFigures = Object.keys(figures) as readonly Figure[];

export interface Sample extends Readonly<Record<Figure, number>> {
  /** Since the churn began. */
  readonly seconds: number;
}

export interface Limits {
  /** Caches fill and the heap finds its size; what is measured before it does not count. */
  readonly settledAfterSeconds: number;
  /** A share of what the figure was. */
  readonly maxGrowth: number;
  /** Times the slack of each figure: a short run has noise that a long one does not have. */
  readonly slackFactor: number;
}

export interface Flatness {
  readonly figure: Figure;
  readonly first: number;
  readonly last: number;
  readonly isFlat: boolean;
}

/**
 * Compares the first and the last third of what was measured after everything had settled. Of each third the lower quarter
 * counts: the garbage collector comes and goes, and what is never given back stays below it. Throws a RangeError where there
 * are fewer than three samples in each.
 */
export function judgeFlatness(samples: readonly Sample[], limits: Limits): readonly Flatness[] {
  const settled = samples.filter(({ seconds }) => seconds >= limits.settledAfterSeconds);
  const third = Math.floor(settled.length / 3);
  if (third < 3) throw new RangeError('too few samples: let it run for longer');
  return allFigures.map((figure) => {
    const low = (part: readonly Sample[]) => percentileOf(part, figure, 25);
    const [first, last] = [low(settled.slice(0, third)), low(settled.slice(-third))];
    const allowed = Math.max(first * limits.maxGrowth, figures[figure].slack * limits.slackFactor);
    return { figure, first, last, isFlat: last - first <= allowed };
  });
}
