import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll } from 'vitest';
import { createAuthority, createServer } from '../../../lab/controlplane/certificates.ts';
import { RunningGateway } from '../../../lab/gateway/running-gateway.ts';
import { directEndpoint } from '../../../src/api/names.ts';
import type { DirectWorld } from './direct-world.ts';

const { namespace, account } = directEndpoint;
const configFolder = path.resolve(import.meta.dirname, '../../../config/direct-endpoint');

export interface ServedDirectly {
  /** Starts another process of the endpoint, with the key of this agent. */
  start(options?: {
    readonly key?: string;
    readonly env?: Readonly<Record<string, string>>;
  }): Promise<RunningGateway>;
}

/** Installs the direct endpoint in the cluster of this world, as its manifests say. Call it at the top of a file. */
export async function servedDirectly({
  world,
  inside,
  cluster,
  agent,
}: DirectWorld): Promise<ServedDirectly> {
  const { guard, gateway } = world;
  const applied = await inside.plane.kubectl(['apply', '-k', configFolder]);
  if (applied.exitCode !== 0) throw new Error(applied.stderr);
  const tokenPath = `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`;
  const request = { body: { spec: { expirationSeconds: 6 * 3_600 } } };
  const answer = await inside.admin.client.request<{ status: { token: string } }>('POST', tokenPath, request);
  const kubeconfig = await inside.plane.kubeconfigWithToken(
    `system:serviceaccount:${namespace}:${account}`,
    answer.status.token,
  );
  const folder = path.join(guard.folder, 'direct-endpoint');
  await mkdir(folder, { recursive: true });
  const caFile = path.join(folder, 'platform.crt');
  await writeFile(caFile, gateway.ca);
  const authority = createAuthority('endpoint-ca');
  const certificate = { ...createServer(authority, ['localhost']), ca: authority.certificate };
  return {
    start: async ({ key = agent.key, env = {} } = {}) => {
      const name = world.name('endpoint');
      const keyFile = path.join(folder, name);
      await writeFile(keyFile, key, { mode: 0o600 });
      const settings = {
        LATCHKEY_BASE_URL: gateway.url,
        LATCHKEY_ENDPOINT_CLUSTER: cluster,
        LATCHKEY_ENDPOINT_KEY_FILE: keyFile,
        LATCHKEY_ENDPOINT_PLATFORM_CA_FILE: caFile,
        ...env,
      };
      const command = 'direct-endpoint';
      const endpoint = await RunningGateway.start(inside.plane, guard, {
        ...{ name, command, env: settings, kubeconfig, certificate },
      });
      afterAll(async () => void (await endpoint.end()));
      return endpoint;
    },
  };
}
