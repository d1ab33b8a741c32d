import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { directEndpoint } from '../../src/api/names.ts';
import type { ControlPlaneAccess } from '../controlplane/access.ts';
import { createAuthority, createServer } from '../controlplane/certificates.ts';
import type { Guard } from '../controlplane/guard.ts';
import { RunningGateway, type ServedCertificate } from './running-gateway.ts';

const { namespace, account } = directEndpoint;
const configFolder = path.resolve(import.meta.dirname, '../../config/direct-endpoint');

export interface EndpointOptions {
  /** Unique within the guard. */
  readonly name: string;
  /** The name of the Cluster on the platform. */
  readonly cluster: string;
  /** Of the agent. */
  readonly key: string;
  /** The gateway of the platform. */
  readonly platform: Pick<RunningGateway, 'url' | 'ca'>;
  readonly env?: Readonly<Record<string, string>>;
  /** Default: one of an authority that all processes of the endpoint share. */
  readonly certificate?: ServedCertificate;
  /** As for a gateway. */
  readonly readyTimeoutMs?: number;
}

/** The direct endpoint as its manifests install it in a cluster. */
export interface InstalledEndpoint {
  /** Starts another process of it, which the guard owns. Resolves when it is ready. */
  start(guard: Guard, options: EndpointOptions): Promise<RunningGateway>;
}

/** Applies the manifests in this cluster. */
export async function installDirectEndpoint(plane: ControlPlaneAccess): Promise<InstalledEndpoint> {
  await kubectl(plane, ['apply', '-k', configFolder]);
  const token = await kubectl(plane, ['create', 'token', account, '-n', namespace, '--duration=6h']);
  const user = `system:serviceaccount:${namespace}:${account}`;
  const kubeconfig = await plane.kubeconfigWithToken(user, token.trim());
  const authority = createAuthority('endpoint-ca');
  const own = { ...createServer(authority, ['localhost']), ca: authority.certificate };
  return {
    start: async (guard, options) => {
      const { name, cluster, key, platform, env = {}, certificate = own, readyTimeoutMs } = options;
      const folder = path.join(guard.folder, `agent-${name}`);
      await mkdir(folder, { recursive: true });
      await writeFile(path.join(folder, 'key'), key, { mode: 0o600 });
      await writeFile(path.join(folder, 'ca.crt'), platform.ca);
      const settings = {
        LATCHKEY_BASE_URL: platform.url,
        LATCHKEY_ENDPOINT_CLUSTER: cluster,
        LATCHKEY_ENDPOINT_AGENT_FOLDER: folder,
        ...env,
      };
      const command = 'direct-endpoint';
      return await RunningGateway.start(plane, guard, {
        ...{ name, command, env: settings, kubeconfig, certificate },
        ...(readyTimeoutMs !== undefined && { readyTimeoutMs }),
      });
    },
  };
}

async function kubectl(plane: ControlPlaneAccess, args: readonly string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await plane.kubectl(args);
  if (exitCode !== 0) throw new Error(stderr);
  return stdout;
}
