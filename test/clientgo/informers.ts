import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { buildGoProgram } from '../../lab/go/build-program.ts';

const run = promisify(execFile);
const runTimeoutMs = 60_000;

export interface Informers {
  /** Returns what each informer was told, in turn: `objects added`. @throws Error with what the program said when it fails. */
  follow(kubeconfig: string, namespace: string, name: string): Promise<readonly string[]>;
}

/** Builds informers/main.go into `folder`. @throws Error when the build fails, also where there is no `go`. */
export async function buildInformers(folder: string): Promise<Informers> {
  const program = path.join(folder, 'informers');
  if (!(await buildGoProgram(path.join(import.meta.dirname, 'informers'), program)))
    throw new Error('this test needs go');
  return {
    follow: async (kubeconfig, namespace, name) => {
      const { stdout } = await run(program, [kubeconfig, namespace, name], { timeout: runTimeoutMs });
      return stdout.trimEnd().split('\n');
    },
  };
}
