import type { Benchmark, BenchmarkContext, Section } from '../benchmark.ts';
import { usedKeys } from '../gateway/stored-keys.ts';
import { figure, tableOf } from '../measure/table.ts';
import { workMeasures } from '../measure/worker.ts';
import { measureWorks } from '../measure/works.ts';
import { keys, lockCount, type WorkName } from './authorize-work.ts';

const module = new URL('./authorize-work.ts', import.meta.url);

const contenders: Readonly<Record<WorkName, string>> = {
  authorize: 'credential, meaning and scope, as the gateway judges them',
  underLocks: `the same under ${figure(3 * lockCount)} locks that stop others`,
  afterLock: 'beside: a key looks for its locks, at its first use after one has come',
  lookUp: 'limit: SHA-256 and a look-up alone',
  nothing: 'beside: the loop of the measurement, empty',
};

/** The gateway's cost to know who asks for what, and whether that is in scope. */
export const authorize: Benchmark = { name: 'authorize', run };

async function run(context: BenchmarkContext): Promise<Section> {
  const { rounds, seconds, warmUp } = context.options;
  const works = Object.entries(contenders).map(([work, name]) => ({ name, module, work, concurrency: 1 }));
  const samples = await measureWorks(context, works);
  return {
    title: 'authorize',
    about: `In process: from the headers and the path of a GET to the decision that it may pass. ${figure(keys)} access keys, of which ${figure(usedKeys)} are used in turn; scopes of ten entries. ${rounds} rounds of ${seconds} s after ${warmUp} s of warm-up.`,
    table: tableOf(samples, workMeasures),
    notes: [
      'To reach: at most 3 µs, with and without locks.',
      'The first use of a key after a change, when its scope is read, is part of the warm-up.',
    ],
  };
}
