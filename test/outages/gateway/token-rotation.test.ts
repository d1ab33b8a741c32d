import { readFile, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, describe, expect, it } from 'vitest';
import { RunningGateway } from '../../../lab/gateway/running-gateway.ts';
import { giveRight } from '../../../lab/operator/rights.ts';
import { until } from '../../../lab/operator/until.ts';
import { systemNamespace } from '../../../src/api/names.ts';
import { secrets } from '../../../src/api/resources.ts';
import { clientWith } from '../../e2e/gateway/api-client.ts';
import { gatewayWorld } from '../../e2e/gateway/gateway-world.ts';
import { untilKnown } from '../../e2e/gateway/known-holder.ts';

const world = await gatewayWorld();
const { admin, plane } = world;
const alice = world.name('alice');
await giveRight(admin, alice, { apiGroups: [''], resources: ['configmaps'], verbs: ['*'] });
const maps = '/kubernetes/management/api/v1/namespaces/default/configmaps';

/** A token of the gateway that ends at once when its Secret is deleted. */
async function endableToken() {
  const name = world.name('token');
  const metadata = { name, namespace: systemNamespace };
  const secret = await admin.createObject(secrets, { apiVersion: 'v1', kind: 'Secret', metadata });
  const { stdout, stderr } = await plane.kubectl([
    ...['create', 'token', 'latchkey-gateway', '-n', systemNamespace, '--duration=1h'],
    ...['--bound-object-kind=Secret', `--bound-object-name=${name}`],
  ]);
  if (stdout === '') throw new Error(stderr);
  const kubeconfig = await plane.kubeconfigWithToken('latchkey-gateway', stdout.trim());
  const client = await clientWith(kubeconfig);
  const end = async () => {
    await admin.delete(secret);
    // The API server believes a token for ten seconds more.
    const refused = async () => (await client.status({ path: '/version' })) === 401;
    await until('the token is refused', refused, { timeoutMs: 120_000 });
  };
  return { kubeconfig, end };
}

/** Sends requests one after the other until it is told to stop; `failed` are the answers that no client should see. */
class Load {
  readonly failed: unknown[] = [];
  sent = 0;
  readonly #send: () => Promise<number>;
  readonly #running: Promise<void>[];
  #stopped = false;

  constructor(send: () => Promise<number>, senders = 4) {
    this.#send = send;
    this.#running = Array.from({ length: senders }, async () => await this.#run());
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#running);
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      this.sent += 1;
      const status = await this.#send().catch((error: unknown) => error);
      if (status !== 200 && status !== 201) this.failed.push(status);
    }
  }
}

/** A gateway with a credential file that can be replaced, and requests that go through it. */
async function gatewayUnderLoad() {
  const first = await endableToken();
  const file = path.join(world.guard.folder, `${world.name('own')}.yaml`);
  await writeFile(file, await readFile(first.kubeconfig), { mode: 0o600 });
  const name = world.name('rotating');
  const gateway = await RunningGateway.start(plane, world.guard, { name, kubeconfig: file });
  afterAll(async () => void (await gateway.end()));
  const { key } = await world.holder({ user: alice });
  await untilKnown(gateway, key);
  const replace = async () => {
    const next = await endableToken();
    await writeFile(`${file}.new`, await readFile(next.kubeconfig), { mode: 0o600 });
    await rename(`${file}.new`, file);
  };
  const status = async (...args: Parameters<RunningGateway['send']>): Promise<number> => {
    const { statusCode, body } = await gateway.send(args[0], { key, ...args[1] });
    await body.dump();
    return statusCode;
  };
  const body = JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { generateName: 'a' } });
  const headers = { 'content-type': 'application/json' };
  return {
    replace,
    endFirst: first.end,
    reads: () => new Load(async () => await status(`${maps}?limit=1`)),
    writes: () =>
      new Load(async () => await status(`${maps}?dryRun=All`, { method: 'POST', headers, body }), 2),
  };
}

/** How often the gateway reads its files again. Nothing that it says tells when it has. */
const rereadMs = 20_000;

const untilMore = async (loads: readonly Load[]): Promise<void> => {
  const before = loads.map(({ sent }) => sent);
  const more = async () => loads.every(({ sent }, index) => sent > (before[index] ?? 0) + 50);
  await until('more requests', more, { timeoutMs: 120_000 });
};

describe.concurrent('a token of the gateway that is replaced', () => {
  it('while the former one is good for some time yet, as in a Pod, fails no request', async () => {
    const { replace, endFirst, reads, writes } = await gatewayUnderLoad();
    const loads = [reads(), writes()];
    await replace();
    await delay(1.2 * rereadMs);
    await endFirst();
    await untilMore(loads);
    for (const load of loads) await load.stop();
    expect(loads.map(({ failed }) => failed)).toEqual([[], []]);
  });

  it('in the moment when the former one ends fails no read', async () => {
    const { replace, endFirst, reads } = await gatewayUnderLoad();
    const load = reads();
    await replace();
    await endFirst();
    await untilMore([load]);
    await load.stop();
    expect(load.failed).toEqual([]);
  });
});
