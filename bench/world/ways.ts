import type { CPUMeter } from '../measure/cpu-meter.ts';
import type { Contender, Sample } from '../measure/rounds.ts';
import { percentile } from '../measure/statistics.ts';
import { makeMany, nameOf } from './objects.ts';

/** One way to a credential. */
export interface Way {
  readonly name: string;
  /** Makes ready what only this way needs. */
  readonly begin: () => Promise<Going>;
}

export interface Going {
  readonly once: (name: string) => Promise<void>;
  readonly end: () => void;
}

/** A way that needs nothing. */
export const plainWay = (once: Going['once']) => async (): Promise<Going> => ({ once, end: () => undefined });

export const measures = [
  { key: 'median', title: 'one after the other, p50 ms' },
  { key: 'late', title: 'p99 ms' },
  { key: 'rate', title: 'sixteen at a time, a second' },
  { key: 'all', title: 'CPU of all processes, ms each' },
  { key: 'platform', title: 'of API server and etcd' },
  { key: 'operator', title: 'of the operator' },
  { key: 'gateway', title: 'of the gateway' },
  { key: 'client', title: 'of the client' },
];

/** So many at a time come before those that are measured: they open the connections. */
const opening = 32;

/** A way, gone again and again under names that no one else has. */
export class Subject {
  readonly #way: Way;
  readonly #meter: CPUMeter;
  readonly #prefix: string;
  #gone = 0;

  constructor(way: Way, meter: CPUMeter) {
    this.#way = way;
    this.#meter = meter;
    this.#prefix = way.name.replaceAll(/[^a-z]+/gi, '-').toLowerCase();
  }

  async warmUp(seconds: number): Promise<void> {
    const end = performance.now() + seconds * 1_000;
    await this.#going(async (once) => {
      while (performance.now() < end) await once();
    });
  }

  contender(runs: number): Contender {
    const measure = () =>
      this.#going(async (once) => ({
        ...(await oneByOne(runs, once)),
        ...(await this.#together(runs, once)),
      }));
    return { name: this.#way.name, measure };
  }

  async #together(runs: number, once: () => Promise<void>): Promise<Sample> {
    await makeMany('', opening, once);
    let rate = 0;
    const cpu = await this.#meter.each(runs, async () => {
      const start = performance.now();
      await makeMany('', runs, once);
      rate = (runs * 1_000) / (performance.now() - start);
    });
    return { rate, ...cpu };
  }

  async #going<Result>(work: (once: () => Promise<void>) => Promise<Result>): Promise<Result> {
    const { once, end } = await this.#way.begin();
    try {
      return await work(() => once(nameOf(this.#prefix, this.#gone++)));
    } finally {
      end();
    }
  }
}

async function oneByOne(runs: number, once: () => Promise<void>): Promise<Sample> {
  const times: number[] = [];
  for (let run = 0; run < runs; run++) {
    const start = performance.now();
    await once();
    times.push(performance.now() - start);
  }
  return { median: percentile(times, 50), late: percentile(times, 99) };
}
