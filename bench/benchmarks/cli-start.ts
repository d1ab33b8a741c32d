import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Guard } from '../../lab/controlplane/guard.ts';
import { cachePlace, sourceVersion, writeCache } from '../../src/cli/credential/cache.ts';
import { buildCommandLine } from '../../tools/bundle/build-command-line.ts';
import type { Benchmark, BenchmarkContext, Section } from '../benchmark.ts';
import { type Contender, interleave } from '../measure/rounds.ts';
import { percentile } from '../measure/statistics.ts';
import { tableOf } from '../measure/table.ts';

const measures = [
  { key: 'median', title: 'start to end, p50 ms' },
  { key: 'late', title: 'p99 ms' },
  { key: 'times', title: 'times the start of Node' },
];

const baseURL = 'https://latchkey.example.com';

/** How long kubectl waits for a credential that is in the cache. */
export const cliStart: Benchmark = { name: 'cli-start', run };

async function run({ options, progress }: BenchmarkContext): Promise<Section> {
  const { rounds, runs } = options;
  const guard = await Guard.start('bench-cli');
  try {
    const program = path.join(guard.folder, 'latchkey.cjs');
    await buildCommandLine(program);
    const contenders = contendersOf(program, { home: guard.folder, runs: Math.ceil(runs / rounds) });
    for (const { measure } of contenders) await measure(0);
    return {
      title: 'cli-start',
      about: `From the start of the process to its end, one after the other: \`latchkey credential\` with the credential in the cache, and a Node that does nothing. ${runs} of each in ${rounds} rounds.`,
      table: tableOf(await interleave(contenders, rounds, progress), measures),
      notes: [
        'To reach: a cached credential in at most 1.5 times the start of Node.',
        'The third column is p50 of the row over that of Node in the same round.',
      ],
    };
  } finally {
    await guard.stop();
  }
}

/** As `latchkey login` leaves it. */
async function fillCache(home: string): Promise<void> {
  const sessions = path.join(home, '.config/latchkey/sessions.json');
  await mkdir(path.dirname(sessions), { recursive: true });
  await writeFile(sessions, '{"version":1,"sessions":[]}', { mode: 0o600 });
  const place = cachePlace({ baseURL, from: 'session' }, { env: { HOME: home }, platform: process.platform });
  const version = sourceVersion(sessions);
  writeCache(place, { source: place.source, version, key: 'lk_bench', checked: Date.now() });
}

function contendersOf(
  program: string,
  { home, runs }: { readonly home: string; readonly runs: number },
): readonly Contender[] {
  let ofNode = Number.NaN;
  const measured = (args: readonly string[]) => async () => {
    const times: number[] = [];
    for (let run = 0; run < runs; run++) times.push(await timeOf(args, home));
    return { median: percentile(times, 50), late: percentile(times, 99) };
  };
  const node = measured(['-e', '0']);
  const cached = measured([program, 'credential', '--base-url', baseURL]);
  const credential = async () => {
    // The gateway would be asked after five minutes.
    await fillCache(home);
    return await cached();
  };
  const help = measured([program, '--help']);
  const compared = (measure: typeof node) => async () => {
    const sample = await measure();
    return { ...sample, times: sample.median / ofNode };
  };
  return [
    {
      name: 'limit: `node -e 0`',
      measure: async () => {
        const sample = await node();
        ofNode = sample.median;
        return sample;
      },
    },
    { name: '`latchkey credential`, cached', measure: compared(credential) },
    { name: 'beside: `latchkey --help`, which loads all', measure: compared(help) },
  ];
}

/** Milliseconds. @throws Error when it fails. */
async function timeOf(args: readonly string[], home: string): Promise<number> {
  const started = performance.now();
  const child = spawn(process.execPath, args, {
    env: { HOME: home },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`node ${args.join(' ')} ended with ${code}`);
  return performance.now() - started;
}
