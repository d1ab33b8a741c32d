import type { BenchmarkContext } from '../benchmark.ts';
import { interleave, type Samples } from './rounds.ts';
import { Worker, type WorkerOptions } from './worker.ts';

/** Measures works in processes of their own, in turn. */
export async function measureWorks(
  { options, progress }: BenchmarkContext,
  works: readonly WorkerOptions[],
): Promise<Samples> {
  const { rounds, seconds, warmUp } = options;
  const workers: Worker[] = [];
  try {
    for (const work of works) {
      const worker = await Worker.start(work);
      workers.push(worker);
      if (warmUp > 0) await worker.work(warmUp);
    }
    const turns = workers.map((worker) => ({ name: worker.name, measure: () => worker.measure(seconds) }));
    return await interleave(turns, rounds, progress);
  } finally {
    for (const worker of workers) worker.end();
  }
}
