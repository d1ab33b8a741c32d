import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { allCredentialKinds, type CredentialKind } from '../../src/api/credential-kinds.ts';
import type { Benchmark, BenchmarkContext, Section } from '../benchmark.ts';
import type { Sample } from '../measure/rounds.ts';
import { tableOf } from '../measure/table.ts';
import type { Form } from './record-memory-forms.ts';

const program = fileURLToPath(new URL('./record-memory-process.ts', import.meta.url));
const run = promisify(execFile);
const records = 100_000;

const forms: Readonly<Record<Form, string>> = {
  live: 'what a verifier keeps',
  full: 'what the operator keeps',
  parsed: 'beside: the object as `JSON.parse` makes it',
};

const measures = allCredentialKinds.map((kind) => ({ key: kind, title: `${kind}, bytes a record` }));

/** How much memory a credential takes in the process that keeps it. */
export const recordMemory: Benchmark = { name: 'record-memory', run: measureAll };

async function measureAll({ progress }: BenchmarkContext): Promise<Section> {
  const samples = new Map<string, readonly Sample[]>();
  for (const [form, name] of Object.entries(forms) as [Form, string][]) {
    const sample: Record<string, number> = {};
    for (const kind of allCredentialKinds) sample[kind] = await bytesOfRecord(form, kind, records);
    samples.set(name, [sample]);
    progress(`${name}: ${JSON.stringify(sample)}`);
  }
  return {
    title: 'record-memory',
    about: `Heap after a full garbage collection, divided by ${records} records; each figure in a process of its own.`,
    table: tableOf(samples, measures),
    notes: [
      'To reach: at most 1,024 bytes for what a verifier keeps.',
      'The objects are those of one platform: 2,000 users, 50 groups, 40 scopes, 1,000 virtual clusters, four children a key.',
    ],
  };
}

/** Bytes of heap that one record takes, out of a process that keeps `count` of them and nothing else. */
export async function bytesOfRecord(form: Form, kind: CredentialKind, count: number): Promise<number> {
  const { stdout } = await run(process.execPath, ['--expose-gc', program, form, kind, String(count)]);
  return Number(stdout);
}
