import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';

let npm: ChildProcess | undefined;

afterEach(() => npm?.kill('SIGKILL'));

/** Starts a run of vitest that shares a control plane and never ends, and waits until its test runs. */
async function startEndlessRun(mark: string): Promise<{ folder: string; worker: number }> {
  const child = spawn('npm', ['run', '--silent', 'vitest', '--', `--sequence.seed=${mark}`], {
    cwd: path.join(import.meta.dirname, 'fixtures', 'npm'),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  npm = child;
  let output = '';
  for await (const chunk of child.stdout) {
    output += String(chunk);
    const line = /^\{"folder".*\}$/m.exec(output);
    if (line !== null) return JSON.parse(line[0]);
  }
  throw new Error(`the run ended:\n${output}`);
}

function processesWith(...words: readonly string[]): string[] {
  const all = execFileSync('ps', ['-A', '-o', 'pid=,args='], { encoding: 'utf8' });
  return all.split('\n').filter((line) => words.some((word) => line.includes(word)));
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe('a test run under npm', () => {
  it.each(['SIGINT', 'SIGTERM', 'SIGKILL'] as const)(
    'leaves no process and no file after %s to npm',
    async (signal) => {
      const mark = String(process.hrtime.bigint() % 1_000_000_007n);
      const { folder, worker } = await startEndlessRun(mark);
      const before = processesWith(mark, folder);
      for (const program of ['npm', 'vitest.mjs', 'etcd', 'kube-apiserver', 'kube-controller-manager']) {
        expect(
          before.filter((line) => line.includes(program)),
          program,
        ).not.toEqual([]);
      }
      npm?.kill(signal);
      await vi.waitFor(
        () =>
          expect([processesWith(mark, folder), isAlive(worker), existsSync(folder)]).toEqual([
            [],
            false,
            false,
          ]),
        { timeout: 30_000, interval: 50 },
      );
    },
  );
});
