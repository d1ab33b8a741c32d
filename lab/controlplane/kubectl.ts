import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';

export interface KubectlResult {
  readonly stdout: string;
  readonly stderr: string;
  /** 128 + signal number when it was ended by a signal. */
  readonly exitCode: number;
}

export interface KubectlOptions {
  /** Path of another kubectl than that of the control plane. */
  readonly program?: string;
  /** Standard input, for `-f -`. */
  readonly input?: string;
  /** Path; default: the administrator's. */
  readonly kubeconfig?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Default: 60 000; kubectl is killed then and the call rejects. */
  readonly timeoutMs?: number;
  /** Kills it, and the call rejects. */
  readonly signal?: AbortSignal;
}

/** Runs kubectl. A failing command is a result, not an error. @throws Error when it cannot start, takes too long or is aborted. */
export async function runKubectl(
  binary: string,
  args: readonly string[],
  options: KubectlOptions & { readonly kubeconfig: string; readonly cacheFolder: string },
): Promise<KubectlResult> {
  const { timeoutMs = 60_000 } = options;
  const child = spawn(options.program ?? binary, args, {
    stdio: ['pipe', 'pipe', 'pipe'],
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
    ...(options.signal !== undefined && { signal: options.signal }),
    // The discovery cache of kubectl would otherwise stay behind in the home folder.
    env: {
      ...process.env,
      KUBECACHEDIR: options.cacheFolder,
      KUBECONFIG: options.kubeconfig,
      ...options.env,
    },
  });
  child.stdin.on('error', () => undefined);
  child.stdin.end(options.input ?? '');
  const ended = new Promise<number>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) =>
      signal === null
        ? resolve(code ?? 1)
        : reject(new Error(`kubectl ${args.join(' ')}: ended by ${signal}`)),
    );
  });
  const [stdout, stderr, exitCode] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  return { stdout, stderr, exitCode };
}
