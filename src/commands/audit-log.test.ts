import { spawn } from 'node:child_process';
import { expect, it } from 'vitest';
import { waitFor } from '../../test/fakes/wait-for.ts';

const url = (file: string): string => new URL(file, import.meta.url).href;

/** Fills its standard output with lines of the audit log until that takes no more, and then logs some. */
const program = `
  import { writeSync } from 'node:fs';
  const { openOutput } = await import('${url('../audit/output.ts')}');
  const { createLogger } = await import('${url('../telemetry/log.ts')}');
  const output = openOutput('-');
  const log = createLogger({ level: 'info' });
  const line = Buffer.from(JSON.stringify({ kind: 'Event', text: 'x'.repeat(3_000) }) + '\\n');
  let isTaken = true;
  while (isTaken) {
    const late = new Promise((resolve) => setTimeout(resolve, 200, false));
    isTaken = await Promise.race([output.write(line).then(() => true), late]);
  }
  for (let number = 1; number <= 1_000; number += 1) log.warn({ number }, 'a request got no answer');
  setTimeout(() => writeSync(2, 'alive'), 1);
  setInterval(() => undefined, 1_000);
`;

it('standard output that no one reads keeps the process from nothing, and has whole lines later', async () => {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const read = { out: '', errors: '' };
  try {
    child.stderr.on('data', (chunk) => {
      read.errors += chunk;
    });
    await waitFor('the process to go on', () => read.errors.includes('alive'));
    child.stdout.on('data', (chunk) => {
      read.out += chunk;
    });
    await waitFor('the last line', () => /"number":1000,.*\n/.test(read.out));
    const numbers = read.out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).number)
      .filter((number) => number !== undefined);
    expect(numbers).toEqual(Array.from({ length: 1_000 }, (_, index) => index + 1));
  } finally {
    child.kill('SIGKILL');
  }
});
