import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Program } from './program.ts';

const run = promisify(execFile);
const peers = path.resolve(import.meta.dirname, '../peers');

/** The Go peer, built into `folder`; its modules come through the machine's own Go settings. */
export async function controllerRuntime(folder: string, eventForEach: boolean): Promise<Program> {
  const command = path.join(folder, 'controller-runtime');
  await run('go', ['build', '-trimpath', '-ldflags=-s -w', '-o', command, '.'], {
    cwd: path.join(peers, 'controller-runtime'),
  });
  return {
    name: `controller-runtime${eventForEach ? ', an event for each' : ''}`,
    command,
    args: eventForEach ? ['--event-for-each'] : [],
  };
}
