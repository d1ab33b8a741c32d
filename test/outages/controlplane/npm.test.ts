import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, it, vi } from 'vitest';

const started: ChildProcess[] = [];

afterAll(() => {
  for (const npm of started) npm.kill('SIGKILL');
});

interface EndlessRun {
  readonly npm: ChildProcess;
  readonly folder: string;
  readonly worker: number;
}

/** Starts a run of vitest that shares a control plane and never ends, and waits until its test runs. */
async function startEndlessRun(mark: string): Promise<EndlessRun> {
  const npm = spawn('npm', ['run', '--silent', 'vitest', '--', `--sequence.seed=${mark}`], {
    cwd: path.resolve(import.meta.dirname, '../../../lab/controlplane/fixtures/npm'),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  started.push(npm);
  let output = '';
  for await (const chunk of npm.stdout) {
    output += String(chunk);
    const line = /^\{"folder".*\}$/m.exec(output);
    if (line !== null) return { npm, ...JSON.parse(line[0]) };
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

describe.concurrent('a test run under npm', () => {
  it.each(['SIGINT', 'SIGTERM', 'SIGKILL'] as const)(
    'leaves no process and no file after %s to npm',
    async (signal) => {
      const mark = String(randomInt(1_000_000_007));
      const { npm, folder, worker } = await startEndlessRun(mark);
      const before = processesWith(mark, folder);
      for (const program of ['npm', 'vitest.mjs', 'etcd', 'kube-apiserver', 'kube-controller-manager']) {
        expect(
          before.filter((line) => line.includes(program)),
          program,
        ).not.toEqual([]);
      }
      npm.kill(signal);
      await vi.waitFor(
        () =>
          expect([processesWith(mark, folder), isAlive(worker), existsSync(folder)]).toEqual([
            [],
            false,
            false,
          ]),
        { timeout: 90_000, interval: 50 },
      );
    },
  );
});
