import { execFile } from 'node:child_process';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Program } from './program.ts';

const run = promisify(execFile);
const goModule = fileURLToPath(new URL('../peers/controller-runtime', import.meta.url));
const k8sOperatorMain = fileURLToPath(new URL('../peers/k8s-operator/main.ts', import.meta.url));

/** The Go peer, built into `folder`; its modules come through the machine's own Go settings. */
export async function controllerRuntime(folder: string, eventForEach: boolean): Promise<Program> {
  const command = path.join(folder, 'controller-runtime');
  await run('go', ['build', '-trimpath', '-ldflags=-s -w', '-o', command, '.'], {
    cwd: goModule,
  });
  return {
    name: `controller-runtime${eventForEach ? ', an event for each' : ''}`,
    command,
    args: eventForEach ? ['--event-for-each'] : [],
  };
}

/** @dot-i/k8s-operator with the client that it was made for, as `npm install` put it into `installed`. */
export function k8sOperator(installed: string): Program {
  const args = [k8sOperatorMain, path.resolve(installed)];
  return { name: '@dot-i/k8s-operator', command: process.execPath, args };
}
