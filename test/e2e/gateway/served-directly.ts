import { afterAll } from 'vitest';
import { installDirectEndpoint } from '../../../lab/gateway/direct-endpoint.ts';
import type { RunningGateway, ServedCertificate } from '../../../lab/gateway/running-gateway.ts';
import type { DirectWorld } from './direct-world.ts';

export interface ServedDirectly {
  /** Starts another process of the endpoint, with the key of this agent. */
  start(options?: {
    readonly key?: string;
    readonly env?: Readonly<Record<string, string>>;
    readonly certificate?: ServedCertificate;
  }): Promise<RunningGateway>;
}

/** Installs the direct endpoint in the cluster of this world, as its manifests say. Call it at the top of a file. */
export async function servedDirectly({
  world,
  inside,
  cluster,
  agent,
}: DirectWorld): Promise<ServedDirectly> {
  const installed = await installDirectEndpoint(inside.plane);
  return {
    start: async ({ key = agent.key, ...options } = {}) => {
      const name = world.name('endpoint');
      const { guard, gateway: platform } = world;
      const endpoint = await installed.start(guard, { ...options, name, cluster, key, platform });
      afterAll(async () => void (await endpoint.end()));
      return endpoint;
    },
  };
}
