import { spawn } from 'node:child_process';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { buildGoProgram } from '../../lab/go/build-program.ts';

/** One run of a command. */
export interface SessionOutcome {
  readonly way: 'websocket' | 'SPDY' | 'either';
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number;
  /** Empty when the command ran. */
  readonly error: string;
}

export interface ClientGoSessions {
  /** Runs the command in a pod of `default` in each way. @throws Error with what the program said when it fails. */
  exec(
    kubeconfig: string,
    pod: string,
    command: readonly string[],
    input?: string,
  ): Promise<readonly SessionOutcome[]>;
}

/** Builds sessions/main.go into `folder`. @throws Error when the build fails, also where there is no `go`. */
export async function buildClientGoSessions(folder: string): Promise<ClientGoSessions> {
  const program = path.join(folder, 'sessions');
  if (!(await buildGoProgram(path.join(import.meta.dirname, 'sessions'), program)))
    throw new Error('this test needs go');
  return {
    exec: async (kubeconfig, pod, command, input = '') => {
      const child = spawn(program, [kubeconfig, 'default', pod, ...command], { timeout: 200_000 });
      child.stdin.on('error', () => undefined);
      child.stdin.end(input);
      const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
      const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
      if (code !== 0) throw new Error(`sessions ended with ${code}: ${stderr}`);
      return stdout
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line));
    },
  };
}
