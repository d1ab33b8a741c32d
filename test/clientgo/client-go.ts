import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { buildGoProgram } from '../../lab/go/build-program.ts';

const run = promisify(execFile);

const runTimeoutMs = 30_000;

export interface ClientGoResult {
  /** Names of namespaces. */
  readonly namespaces: readonly string[];
  readonly stderr: string;
  readonly exitCode: number;
}

/** A program that uses kubeconfigs with client-go alone. */
export interface ClientGo {
  /** `kubeconfig` as in the variable KUBECONFIG. A failing program is a result, not an error. */
  listNamespaces(kubeconfig: string, context?: string): Promise<ClientGoResult>;
}

/**
 * Builds main.go into `folder`. Where there is no `go`, `kubectl` takes its place: another program that reads kubeconfigs with
 * client-go. @throws Error when the build fails.
 */
export async function buildClientGo(folder: string, kubectl: string): Promise<ClientGo> {
  const program = path.join(folder, 'clientgo');
  const hasGo = await buildGoProgram(import.meta.dirname, program);
  return {
    listNamespaces: async (kubeconfig, context = '') => {
      const [command, args] = hasGo
        ? [program, [kubeconfig, context]]
        : [kubectl, ['get', 'namespaces', '--output=name', `--context=${context}`]];
      const env = { ...process.env, KUBECONFIG: kubeconfig, KUBECACHEDIR: folder };
      return await outcome(run(command, args, { env, timeout: runTimeoutMs }));
    },
  };
}

async function outcome(ended: Promise<{ stdout: string; stderr: string }>): Promise<ClientGoResult> {
  try {
    const { stdout, stderr } = await ended;
    const names = stdout.split('\n').filter((line) => line !== '');
    return { namespaces: names.map((name) => name.replace(/^namespace\//, '')), stderr, exitCode: 0 };
  } catch (error) {
    const { code, stderr } = error as { code?: unknown; stderr?: string };
    if (typeof code !== 'number') throw error;
    return { namespaces: [], stderr: stderr ?? '', exitCode: code };
  }
}
