import path from 'node:path';
import { freePort } from '../../../lab/controlplane/ports.ts';
import type { RunningGateway } from '../../../lab/gateway/running-gateway.ts';
import { type WebhookFiles, writeWebhookFiles } from '../../../lab/gateway/webhook-files.ts';
import { virtualCluster } from '../../../lab/operator/virtual-cluster.ts';
import { type DirectWorld, directWorld } from './direct-world.ts';
import { type ServedDirectly, servedDirectly } from './served-directly.ts';

/** A cluster whose API server takes tokens of the platform by itself, and asks the webhook of its direct endpoint. */
export interface WebhookWorld {
  readonly direct: DirectWorld;
  readonly served: ServedDirectly;
  readonly endpoint: RunningGateway;
  readonly files: WebhookFiles;
  /** Starts another process of the direct endpoint with the webhook; only one can be there at a time. */
  startEndpoint(): Promise<RunningGateway>;
  /** `https://127.0.0.1:<port>` of the webhook. */
  readonly url: string;
}

/** Call it at the top of a file. */
export async function webhookWorld(): Promise<WebhookWorld> {
  // The API server follows the addresses in the discovery document, so the issuer must be where the gateway is.
  const [ofGateway, port] = [await freePort(), await freePort()];
  const baseURL = `https://127.0.0.1:${ofGateway}`;
  const issuer = { LATCHKEY_BASE_URL: baseURL };
  let files: WebhookFiles | undefined;
  const direct = await directWorld({
    gateway: { ...issuer, LATCHKEY_LISTEN_ADDRESS: `127.0.0.1:${ofGateway}` },
    operator: issuer,
    spec: { directEndpoint: { host: 'localhost', enforcement: 'Webhook' } },
    start: async ({ guard, gateway }, cluster) => {
      const folder = path.join(guard.folder, 'webhook');
      const platform = { url: baseURL, ca: gateway.ca };
      files = await writeWebhookFiles({ folder, cluster, platform, port });
      return await virtualCluster({ name: 'asking', extraApiServerArgs: files.apiServerArgs });
    },
  });
  if (files === undefined) throw new Error('no cluster was started');
  const { env, certificate } = files;
  const served = await servedDirectly(direct);
  const startEndpoint = async () => await served.start({ env, certificate });
  const endpoint = await startEndpoint();
  return { direct, served, endpoint, files, startEndpoint, url: `https://127.0.0.1:${port}` };
}
