import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
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
    const args = ['build', ...buildFlags, '-ldflags=-s -w', '-o', program, name];
    await run('go', args, { cwd: source, env: { ...process.env, ...buildSettings }, timeout: timeoutMs });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}
