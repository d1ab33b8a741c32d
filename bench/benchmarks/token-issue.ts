import type { Benchmark, BenchmarkContext, Section } from '../benchmark.ts';
import { tableOf } from '../measure/table.ts';
import { workMeasures } from '../measure/worker.ts';
import { measureWorks } from '../measure/works.ts';
import { concurrency, type WorkName } from './token-issue-work.ts';

const module = new URL('./token-issue-work.ts', import.meta.url);

const contenders: Readonly<Record<WorkName, string>> = {
  issue: 'claims and signed token, as the operator makes them',
  sign: 'limit: the ES256 signature alone, node:crypto `sign`',
  subtle: 'beside: the ES256 signature alone, WebCrypto, which jose uses',
};

/** How fast tokens can be made where no API server is in the way. */
export const tokenIssue: Benchmark = { name: 'token-issue', run };

async function run(context: BenchmarkContext): Promise<Section> {
  const works = Object.entries(contenders).map(([work, name]) => ({ name, module, work, concurrency }));
  return section(tableOf(await measureWorks(context, works), workMeasures), context.options);
}

function section(table: string, { rounds, seconds, warmUp }: BenchmarkContext['options']): Section {
  return {
    title: 'token-issue',
    about: `Tokens in process, each contender in a process of its own; WebCrypto signs ${concurrency} at a time, the number of workers that the operator has for each kind. ${rounds} rounds of ${seconds} s after ${warmUp} s of warm-up.`,
    table,
    notes: [
      'To reach: at least 15,000 tokens a second.',
      'WebCrypto signs on threads beside the event loop, so its rate can exceed what one core gives; its CPU time says what it costs.',
    ],
  };
}
