import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { json } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { startControlPlane } from '../../lab/controlplane/control-plane.ts';
import { Guard } from '../../lab/controlplane/guard.ts';

const token = 'example-token-to-be-revoked';
/** How much later than its cache says the API server may forget, seconds. */
const graceSeconds = 30;

/**
 * How long an API server goes on taking a token that its webhook for tokens no longer knows, in seconds. It was used right before:
 * the answer of the webhook is kept for `cacheSeconds`.
 */
export async function webhookCacheDelay(cacheSeconds: number): Promise<number> {
  const guard = await Guard.start('bench-webhook');
  const webhook = new Webhook();
  try {
    const config = path.join(guard.folder, 'webhook.yaml');
    await writeFile(config, webhookConfig(await webhook.listen()));
    return await delayWith(webhook, config, cacheSeconds);
  } finally {
    await webhook.close();
    await guard.stop();
  }
}

async function delayWith(webhook: Webhook, config: string, cacheSeconds: number): Promise<number> {
  const plane = await startControlPlane({
    name: 'webhook',
    extraApiServerArgs: [
      `--authentication-token-webhook-config-file=${config}`,
      '--authentication-token-webhook-version=v1',
      `--authentication-token-webhook-cache-ttl=${cacheSeconds}s`,
    ],
  });
  const dispatcher = new Agent({ connect: { ca: Buffer.from(plane.caData, 'base64').toString() } });
  const isAccepted = async (): Promise<boolean> => {
    const headers = { authorization: `Bearer ${token}` };
    const { statusCode, body } = await request(`${plane.server}/api/v1/namespaces`, { dispatcher, headers });
    await body.dump();
    return statusCode !== 401;
  };
  try {
    return await delayOf(isAccepted, webhook, cacheSeconds);
  } finally {
    await dispatcher.close();
    await plane.stop();
  }
}

async function delayOf(
  isAccepted: () => Promise<boolean>,
  webhook: Webhook,
  cacheSeconds: number,
): Promise<number> {
  if (!(await isAccepted())) throw new Error('the API server does not ask the webhook');
  const revoked = performance.now();
  webhook.revoke();
  const seconds = (): number => (performance.now() - revoked) / 1_000;
  while (await isAccepted()) {
    if (seconds() > cacheSeconds + graceSeconds) throw new Error('the API server does not forget the token');
    await delay(50);
  }
  return seconds();
}

/** Says to the API server whose token it is. */
class Webhook {
  readonly #server: Server;
  #isRevoked = false;

  constructor() {
    this.#server = createServer((incoming, response) => {
      this.#answer(incoming, response).catch(() => response.destroy());
    });
  }

  async listen(): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  revoke(): void {
    this.#isRevoked = true;
  }

  async close(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
  }

  async #answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const review = (await json(incoming)) as { readonly spec: { readonly token: string } };
    const authenticated = !this.#isRevoked && review.spec.token === token;
    const status = authenticated ? { authenticated, user: { username: 'holder' } } : { authenticated };
    const answer = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', status };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  }
}

/** In the form of a kubeconfig. */
const webhookConfig = (server: string): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'webhook', cluster: { server } }],
    users: [{ name: 'api-server', user: {} }],
    contexts: [{ name: 'webhook', context: { cluster: 'webhook', user: 'api-server' } }],
    'current-context': 'webhook',
  });
