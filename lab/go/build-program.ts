import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Guard } from '../controlplane/guard.ts';
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

/**
 * Builds the Go program in `source` with the machine's `go`; Go's own cache makes that a matter of a second after the first time.
 * @returns false when there is no command `go`. @throws Error when the build fails, or takes longer than `timeoutMs`.
 */
export async function buildGoProgram(
  source: string,
  program: string,
  { timeoutMs = standardTimeoutMs, package: name = '.' }: GoBuild = {},
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
