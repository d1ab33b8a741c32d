import { type ChildProcess, spawn } from 'node:child_process';
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const launcher = path.join(import.meta.dirname, 'node24.mjs');
/** The Node that npm runs with, which may be an old one; else the one of this test. */
const machineNode = process.env.npm_node_execpath ?? process.execPath;

/**
 * Ends a while after the first signal. Every signal comes to it several times, and the others come while it still deals with
 * the first, so the handler must stay: without one for a moment, the second would end the process.
 */
const program = `
  let received = 0;
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => {
    received += 1;
    if (received > 1) return;
    console.log('got ' + signal);
    const busyUntil = Date.now() + 200;
    while (Date.now() < busyUntil);
    setTimeout(() => process.exit(7), 50);
  });
  setTimeout(() => process.exit(99), 20_000);
  console.log('ready ' + process.versions.node);
`;

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'latchkey-node24-'));
  await writeFile(path.join(folder, 'program.mjs'), program);
  const scripts = { program: `exec node ${launcher} node program.mjs` };
  await writeFile(path.join(folder, 'package.json'), JSON.stringify({ name: 'x', scripts }));
});

afterAll(() => rm(folder, { recursive: true }));

function start(command: string, args: readonly string[], detached = false) {
  const child = spawn(command, args, { cwd: folder, detached, stdio: ['ignore', 'pipe', 'pipe'] });
  return { child, output: text(child.stdout), errors: text(child.stderr), exit: exitOf(child) };
}

function exitOf(child: ChildProcess) {
  const { promise, resolve } = Promise.withResolvers<{ code: number | null; signal: string | null }>();
  child.on('exit', (code, signal) => resolve({ code, signal }));
  return promise;
}

function said(child: ChildProcess, word: string) {
  const { promise, resolve } = Promise.withResolvers<void>();
  let seen = '';
  child.stdout?.on('data', (bytes) => {
    seen += bytes;
    if (seen.includes(word)) resolve();
  });
  return promise;
}

describe('node24.mjs', () => {
  it('runs the program with Node 24.9 or newer', async () => {
    const { output, exit } = start(machineNode, [launcher, 'node', '-p', 'process.versions.node']);
    expect(await exit).toEqual({ code: 0, signal: null });
    const [major = 0, minor = 0] = (await output).split('.').map(Number);
    expect(major * 100 + minor).toBeGreaterThanOrEqual(2409);
  });

  it('puts that Node first in PATH, so that what the program starts runs on it too', async () => {
    const script =
      "console.log(require('node:child_process').execFileSync('node', ['-p', 'process.version']) + process.version)";
    const { output } = start(machineNode, [launcher, 'node', '-e', script]);
    const [inner, outer] = (await output).trim().split('\n');
    expect(inner).toBe(outer);
  });

  it.each(['tsc', 'biome', 'vitest', 'knip'])('finds the tool %s', async (tool) => {
    const { output, exit } = start(machineNode, [launcher, tool, '--version']);
    expect(await exit).toEqual({ code: 0, signal: null });
    expect(await output).toMatch(/\d+\.\d+\.\d+/);
  });

  it.each(['node', 'vitest'])(
    'says npm ci where nothing was installed, whatever it is to run: %s',
    async (tool) => {
      const checkout = path.join(folder, 'checkout', 'tools', 'node24.mjs');
      await cp(launcher, checkout);
      const { errors, exit } = start(machineNode, [checkout, tool, 'program.mjs']);
      expect(await exit).toEqual({ code: 1, signal: null });
      expect(await errors).toBe('there is no node_modules: run npm ci first\n');
    },
  );

  it.each([
    [['node', '-e', 'process.exit(3)'], 3, ''],
    [['node', '-e', 'process.kill(process.pid, "SIGKILL")'], 137, ''],
    [['no-such-tool'], 1, 'no tool no-such-tool in node_modules: run npm ci first\n'],
    [[], 2, 'usage: node tools/node24.mjs <node | tool of node_modules> [arguments]\n'],
  ])('passes on the exit code of %j', async (args, code, message) => {
    const { errors, exit } = start(machineNode, [launcher, ...args]);
    expect(await exit).toEqual({ code, signal: null });
    expect(await errors).toBe(message);
  });

  it.each(['SIGINT', 'SIGTERM'] as const)(
    'passes %s to npm on to the program, and its exit code back',
    async (signal) => {
      const { child, output, exit } = start('npm', ['run', 'program']);
      await said(child, 'ready');
      child.kill(signal);
      expect(await exit).toEqual({ code: 7, signal: null });
      expect(await output).toContain(`got ${signal}`);
    },
  );

  it('bears a Ctrl-C, which the terminal delivers to npm, the launcher and the program alike', async () => {
    const { child, output, exit } = start('npm', ['run', 'program'], true);
    await said(child, 'ready');
    process.kill(-(child.pid ?? Number.NaN), 'SIGINT');
    expect(await exit).toEqual({ code: 7, signal: null });
    expect((await output).match(/got SIGINT/g)).toHaveLength(1);
  });
});
