import { readFile } from 'node:fs/promises';
import type { ControlPlaneAccess } from '../controlplane/access.ts';
import type { Guard, GuardedProcess } from '../controlplane/guard.ts';
import { currentProgram } from './program.ts';

export interface OperatorOptions {
  /** Unique within the guard. */
  readonly name?: string;
  /** Settings, added to those that make it run here. */
  readonly env?: Readonly<Record<string, string>>;
}

/** The base URL of every operator that tests and the demo start. */
export const baseURL = 'https://latchkey.example.com';

/** The real operator as a process of its own, under its own ServiceAccount and with its own roles only. */
export class RunningOperator {
  readonly process: GuardedProcess;
  #exited = false;

  static async start(
    plane: ControlPlaneAccess,
    guard: Guard,
    options: OperatorOptions = {},
  ): Promise<RunningOperator> {
    const name = options.name ?? 'operator';
    const kubeconfig = await accountKubeconfig(plane, 'latchkey-operator');
    const { file, env } = currentProgram();
    return new RunningOperator(
      await guard.run({
        name,
        command: process.execPath,
        args: [file, 'operator'],
        env: {
          ...env,
          KUBECONFIG: kubeconfig,
          LATCHKEY_BASE_URL: baseURL,
          LATCHKEY_IDENTITY: name,
          LATCHKEY_HEALTH_ADDRESS: '127.0.0.1:0',
          LATCHKEY_METRICS_ADDRESS: '127.0.0.1:0',
          ...options.env,
        },
      }),
    );
  }

  private constructor(process: GuardedProcess) {
    this.process = process;
    void process.exited.then(() => {
      this.#exited = true;
    });
  }

  /** Whether it has ended. */
  get exited(): boolean {
    return this.#exited;
  }

  /** What it has logged so far. */
  async log(): Promise<string> {
    return await readFile(this.process.logPath, 'utf8');
  }

  /** Sends the signal, unless the process has ended already, and waits for the exit code. */
  async end(signal: NodeJS.Signals = 'SIGTERM'): Promise<number> {
    if (!this.#exited) process.kill(this.process.pid, signal);
    return await this.process.exited;
  }
}

/** A kubeconfig of a ServiceAccount in the system namespace, with a token by TokenRequest. */
export async function accountKubeconfig(plane: ControlPlaneAccess, name: string): Promise<string> {
  const namespace = 'latchkey-system';
  const { stdout, stderr, exitCode } = await plane.kubectl([
    'create',
    'token',
    name,
    '--namespace',
    namespace,
    '--duration=6h',
  ]);
  if (exitCode !== 0) throw new Error(`no token for ${name}: ${stderr}`);
  return await plane.kubeconfigWithToken(`system:serviceaccount:${namespace}:${name}`, stdout.trim());
}
