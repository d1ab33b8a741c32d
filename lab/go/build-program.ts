import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { link, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { withLock } from '../controlplane/binaries/lock.ts';
import { Guard } from '../controlplane/guard.ts';
import { buildFlags, buildSettings } from './build-settings.ts';

const run = promisify(execFile);

/** Below the limit of a hook, so that the error says what took so long. */
const standardTimeoutMs = 280_000;

export interface GoBuild {
  /** Default: below the limit of a hook. */
  readonly timeoutMs?: number;
  /** A program of another module that `source` names as a tool. Default: the program in `source` itself. */
  readonly package?: string;
}

const argumentsFor = (program: string, name = '.'): readonly string[] => [
  ...['build', ...buildFlags, '-ldflags=-s -w', '-o', program, name],
];

/** The environment variable that names the folder in which the tests of a run share what they have built. */
export const sharedProgramsVariable = 'GO_PROGRAMS_OF_RUN';

/**
 * Builds the Go program in `source` with the machine's `go`; Go's own cache makes that a matter of a second after the first time. Of tests
 * the first that asks builds it, for the linker takes seconds, and the others get the same file.
 * @returns false when there is no command `go`. @throws Error when the build fails, or takes longer than `timeoutMs`.
 */
export async function buildGoProgram(source: string, program: string, build: GoBuild = {}): Promise<boolean> {
  const folder = process.env[sharedProgramsVariable];
  if (folder === undefined) return await compile(source, program, build);
  const key = createHash('sha256').update(JSON.stringify([source, build.package]));
  const shared = path.join(folder, `go-${key.digest('hex')}`);
  if (!existsSync(shared) && !(await compileOnce(source, shared, build))) return false;
  await rm(program, { force: true });
  await link(shared, program);
  return true;
}

async function compileOnce(source: string, shared: string, build: GoBuild): Promise<boolean> {
  const guard = await Guard.start('go-program');
  const isDone = async () => existsSync(shared);
  try {
    const lock = { file: `${shared}.lock`, guard, report: () => undefined };
    await withLock(lock, isDone, async () => {
      const unfinished = path.join(guard.folder, 'program');
      // Shows the whole program or nothing.
      if (await compile(source, unfinished, build)) await rename(unfinished, shared);
    });
    return await isDone();
  } finally {
    await guard.stop();
  }
}

async function compile(
  source: string,
  program: string,
  { timeoutMs = standardTimeoutMs, package: name = '.' }: GoBuild,
): Promise<boolean> {
  try {
    const env = { ...process.env, ...buildSettings };
    await run('go', argumentsFor(program, name), { cwd: source, env, timeout: timeoutMs });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

/** As a shell says that a command is not found. */
const notFound = 127;

/**
 * The same for someone who can do without it: beside other work, behind it in turn, and ended by the guard. Resolves with the reason why
 * there is no program, if there is none.
 */
export async function buildInBackground(
  guard: Pick<Guard, 'run'>,
  source: string,
  program: string,
): Promise<string | undefined> {
  const { exited } = await guard.run({
    name: 'build',
    command: 'nice',
    args: ['-n', '10', 'go', ...argumentsFor(program)],
    // An older Go would fetch a newer one.
    env: { ...buildSettings, GOTOOLCHAIN: 'local' },
    cwd: source,
    graceSeconds: 0,
  });
  const code = await exited;
  if (code === 0) return undefined;
  return code === notFound ? 'there is no Go on this machine' : 'Go could not build it';
}
