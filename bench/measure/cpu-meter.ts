import { usageOf } from './process-usage.ts';
import type { Sample } from './rounds.ts';

/** The CPU time of the processes under test, and of this one. */
export class CPUMeter {
  readonly #pids: Readonly<Record<string, readonly number[]>>;

  constructor(pids: Readonly<Record<string, readonly number[]>>) {
    this.#pids = pids;
  }

  /** Milliseconds of CPU for each of so many. */
  async each(count: number, work: () => Promise<void>): Promise<Sample> {
    const before = await this.#now();
    await work();
    const after = await this.#now();
    const used = Object.entries(after).map(
      ([name, seconds]) => [name, ((seconds - (before[name] ?? 0)) * 1_000) / count] as const,
    );
    return { ...Object.fromEntries(used), all: used.reduce((sum, [, ms]) => sum + ms, 0) };
  }

  /** Seconds. */
  async #now(): Promise<Sample> {
    const { user, system } = process.cpuUsage();
    const others = Object.entries(this.#pids).map(async ([name, pids]) => {
      const usages = await Promise.all(pids.map(usageOf));
      return [name, usages.reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0)] as const;
    });
    return { ...Object.fromEntries(await Promise.all(others)), client: (user + system) / 1e6 };
  }
}
