import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { createClient } from './certificates.ts';
import type { ControlPlaneConnection } from './connection.ts';
import { writeKubeconfig } from './kubeconfig.ts';
import { type KubectlOptions, type KubectlResult, runKubectl } from './kubectl.ts';

/** A running control plane as tests use it, no matter what started it. */
export interface ControlPlaneAccess extends ControlPlaneConnection {
  /** The plain data alone, to give to another process. */
  readonly connection: ControlPlaneConnection;
  /** Writes a kubeconfig with a new client certificate for this user. Returns its path. */
  kubeconfigFor(user: string, groups?: readonly string[]): Promise<string>;
  /** Writes a kubeconfig with a bearer token. Returns its path. */
  kubeconfigWithToken(user: string, token: string): Promise<string>;
  /** Runs kubectl, as the administrator unless another kubeconfig is given. A failing command is a result, not an error. */
  kubectl(args: readonly string[], options?: KubectlOptions): Promise<KubectlResult>;
}

export function accessTo(connection: ControlPlaneConnection): ControlPlaneAccess {
  return {
    ...connection,
    connection,
    kubeconfigFor: async (user, groups = []) => {
      const identity = createClient(await readAuthority(connection.folder), { user, groups });
      return await writeKubeconfig(connection, user, { identity });
    },
    kubeconfigWithToken: async (user, token) => await writeKubeconfig(connection, user, { token }),
    kubectl: async (args, options = {}) =>
      await runKubectl(connection.binaries.kubectl, args, {
        kubeconfig: connection.adminKubeconfig,
        cacheFolder: path.join(connection.folder, 'kubectl-cache'),
        ...options,
      }),
  };
}

async function readAuthority(folder: string): Promise<{ certificate: string; key: string }> {
  const read = async (name: string): Promise<string> =>
    await readFile(path.join(folder, 'pki', name), 'utf8');
  return { certificate: await read('ca.crt'), key: await read('ca.key') };
}
