import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { shippedNodeOptions } from './node-options.ts';

const countThreads = `
  const { readdirSync, readFileSync } = require('node:fs');
  const names = readdirSync('/proc/self/task').map((thread) => readFileSync('/proc/self/task/' + thread + '/comm', 'utf8').trim());
  console.log(names.filter((name) => name === 'V8Worker').length)`;

const helpersOfV8 = (options: string): string =>
  execFileSync(process.execPath, ['-e', countThreads], {
    encoding: 'utf8',
    env: { NODE_OPTIONS: options },
    timeout: 60_000,
  }).trim();

it.each(['gateway', 'direct-endpoint'] as const)(
  '%s has one thread of V8 beside its main thread: more would keep that from running on few cores',
  (command) => {
    expect(helpersOfV8(shippedNodeOptions(command))).toBe('1');
    expect(helpersOfV8('')).toBe('4');
  },
);
