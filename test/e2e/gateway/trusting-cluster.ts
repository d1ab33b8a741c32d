import { renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { stringify } from 'yaml';
import { freePort } from '../../../lab/controlplane/ports.ts';
import { trustingConfiguration } from '../../../lab/gateway/trusting-configuration.ts';
import { type VirtualCluster, virtualCluster } from '../../../lab/operator/virtual-cluster.ts';
import { type GatewayWorld, gatewayWorld } from './gateway-world.ts';

/** A cluster whose API server takes tokens of the platform by itself, with the configuration that the documents show. */
export interface TrustingCluster {
  readonly cluster: VirtualCluster;
  /** Who the API server takes the token for; undefined where it refuses it. */
  whoAmI(
    token: string,
  ): Promise<{ readonly username: string; readonly groups: readonly string[] } | undefined>;
  /** Writes the configuration with one more audience. The API server notices by itself. */
  addAudience(audience: string): void;
}

export interface TrustingWorld extends TrustingCluster {
  readonly world: GatewayWorld;
  readonly baseURL: string;
  /** Starts one more such cluster. Call it at the top of a file too. */
  another(): Promise<TrustingCluster>;
}

/** Call it at the top of a file. */
export async function trustingCluster(): Promise<TrustingWorld> {
  // The API server follows the addresses in the discovery document, so the issuer must be where the gateway is.
  const port = await freePort();
  const baseURL = `https://127.0.0.1:${port}`;
  const issuer = { LATCHKEY_BASE_URL: baseURL };
  const world = await gatewayWorld({ ...issuer, LATCHKEY_LISTEN_ADDRESS: `127.0.0.1:${port}` }, issuer);
  const start = async () => await startTrusting(world, baseURL);
  return { world, baseURL, ...(await start()), another: start };
}

async function startTrusting(
  { guard, gateway, name }: GatewayWorld,
  baseURL: string,
): Promise<TrustingCluster> {
  const file = path.join(guard.folder, `${name('authentication')}.yaml`);
  const shown = trustingConfiguration(baseURL, gateway.ca);
  writeFileSync(file, stringify(shown));
  const cluster = await virtualCluster({
    name: 'trusting',
    extraApiServerArgs: [`--authentication-config=${file}`],
  });
  return {
    cluster,
    whoAmI: async (token) => await whoAmI(cluster, token),
    addAudience: (audience) => {
      const { issuer: former, ...rest } = shown.jwt[0];
      const changed = { ...rest, issuer: { ...former, audiences: [...former.audiences, audience] } };
      // Half a file would be refused, and the former one stay in use.
      writeFileSync(`${file}.new`, stringify({ ...shown, jwt: [changed] }));
      renameSync(`${file}.new`, file);
    },
  };
}

async function whoAmI({ plane }: VirtualCluster, token: string): ReturnType<TrustingCluster['whoAmI']> {
  const kubeconfig = await plane.kubeconfigWithToken('bearer', token);
  const { stdout, stderr, exitCode } = await plane.kubectl(['auth', 'whoami', '-o', 'json'], { kubeconfig });
  if (exitCode === 0) return JSON.parse(stdout).status.userInfo;
  if (/Unauthorized|must be logged in/.test(stderr)) return undefined;
  throw new Error(`kubectl auth whoami: ${stderr}`);
}
