import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { until } from '../operator/until.ts';
import { runToEnd } from './bounded.ts';
import { Guard } from './guard.ts';

const guard = await Guard.start('bounded');
afterAll(async () => await guard.stop());
const shell = (name: string, script: string, seconds = 60) =>
  runToEnd(guard, { name, command: 'sh', args: ['-c', script], seconds });

describe('a program that runs to its end', () => {
  it('gives all that it printed', async () => {
    expect(await shell('good', 'echo out; echo problem >&2')).toBe('out\nproblem\n');
  });

  it('is an error with its output when it fails, or is not there', async () => {
    await expect(shell('bad', 'echo out; exit 3')).rejects.toThrow(/ended with 3:\nout\n/);
    const missing = runToEnd(guard, { name: 'missing', command: '/no/such/program', args: [], seconds: 60 });
    await expect(missing).rejects.toThrow(/ended with 127:\n.*No such file/);
  });

  it('ends with all that it started when its time is up, and its output is told', async () => {
    const file = path.join(guard.folder, 'child.pid');
    const script = `sleep 600 & echo $! >'${file}'; echo waiting; wait`;
    await expect(shell('slow', script, 1)).rejects.toThrow(/has not ended within 1 s:\nwaiting\n/);
    const child = (await readFile(file, 'utf8')).trim();
    await until('its child is gone', async () => !existsSync(`/proc/${child}`));
  });
});
