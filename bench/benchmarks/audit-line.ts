import type { Benchmark, BenchmarkContext, Section } from '../benchmark.ts';
import { tableOf } from '../measure/table.ts';
import { workMeasures } from '../measure/worker.ts';
import { measureWorks } from '../measure/works.ts';
import type { WorkName } from './audit-line-work.ts';

const module = new URL('./audit-line-work.ts', import.meta.url);

const contenders: Readonly<Record<WorkName, string>> = {
  toFile: 'a line for each request, to a file',
  nothing: 'beside: the same requests without a line',
};

/** The gateway's cost to tell the audit log of a request. */
export const auditLine: Benchmark = { name: 'audit-line', run };

async function run(context: BenchmarkContext): Promise<Section> {
  const { rounds, seconds, warmUp } = context.options;
  const works = Object.entries(contenders).map(([work, name]) => ({ name, module, work, concurrency: 1 }));
  const samples = await measureWorks(context, works);
  return {
    title: 'audit-line',
    about: `In process: from the head of a GET to its line in a file, the threads that write it included. ${rounds} rounds of ${seconds} s after ${warmUp} s of warm-up.`,
    table: tableOf(samples, workMeasures),
    notes: [
      'To reach: 6 µs more with a line than without.',
      '`proxy-get` has the same as the difference between two processes, which no machine shows to some microseconds.',
    ],
  };
}
