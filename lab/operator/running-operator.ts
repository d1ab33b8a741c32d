import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { systemNamespace } from '../../src/api/names.ts';
import { serviceAccounts } from '../../src/api/resources.ts';
import { objectPath } from '../../src/kube/resource-path.ts';
import type { ControlPlaneAccess } from '../controlplane/access.ts';
import type { Guard, GuardedProcess } from '../controlplane/guard.ts';
import { asAdministrator } from './administrator.ts';
import { shippedNodeOptions } from './node-options.ts';
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
  #logStart = 0;

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
          NODE_OPTIONS: shippedNodeOptions('operator'),
          KUBECONFIG: kubeconfig,
          LATCHKEY_BASE_URL: baseURL,
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

  /** Reads the log so far; of an operator that goes from file to file, since this file began. */
  async log(): Promise<string> {
    return await text(createReadStream(this.process.logPath, { start: this.#logStart }));
  }

  /** The same since it was started. */
  async wholeLog(): Promise<string> {
    return await readFile(this.process.logPath, 'utf8');
  }

  /** Its name in the Lease and in events; undefined until it has led. */
  async identity(): Promise<string | undefined> {
    const lines = (await this.wholeLog()).split('\n').filter((line) => line.includes('"msg":"leading"'));
    return lines.map((line) => JSON.parse(line).identity as string).at(-1);
  }

  /** From now on `log` knows nothing of what it has logged before. */
  async beginLog(): Promise<void> {
    this.#logStart = (await stat(this.process.logPath)).size;
  }

  /** Sends the signal, unless the process has ended already, and waits for the exit code. */
  async end(signal: NodeJS.Signals = 'SIGTERM'): Promise<number> {
    try {
      if (!this.#exited) process.kill(this.process.pid, signal);
    } catch (error) {
      // It has just ended, and no event has said so yet.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
    return await this.process.exited;
  }
}

interface TokenRequest {
  readonly status: { readonly token: string };
}

/** A kubeconfig of a ServiceAccount in the system namespace, with a token by TokenRequest. */
export async function accountKubeconfig(plane: ControlPlaneAccess, name: string): Promise<string> {
  const path = objectPath(serviceAccounts, { namespace: systemNamespace, name }, 'token');
  const body = { spec: { expirationSeconds: 6 * 3_600 } };
  const { status } = await asAdministrator(plane, (client) =>
    client.request<TokenRequest>('POST', path, { body }),
  );
  return await plane.kubeconfigWithToken(`system:serviceaccount:${systemNamespace}:${name}`, status.token);
}
