import type { RunningGateway } from '../../../lab/gateway/running-gateway.ts';
import { Kubectl } from '../../../lab/operator/kubectl.ts';
import { until } from '../../../lab/operator/until.ts';
import type { GatewayWorld } from './gateway-world.ts';

type Holder = Awaited<ReturnType<GatewayWorld['holder']>>;

/** The holder of a new key that the gateway accepts. */
export async function knownHolder(world: GatewayWorld, spec: object): Promise<Holder> {
  const holder = await world.holder(spec);
  await untilKnown(world.gateway, holder.key);
  return holder;
}

export async function untilKnown(gateway: RunningGateway, key: string): Promise<void> {
  await until('the gateway knows the credential', async () => (await statusOf(gateway, key)) === 200);
}

/** The operator may know the end of a credential before the gateway does. */
export async function untilUnknown(gateway: RunningGateway, key: string): Promise<void> {
  await until('the gateway refuses the credential', async () => (await statusOf(gateway, key)) === 401);
}

/**
 * The operator may know of a target, and of the right to enter it, before the gateway does. Nor does the gateway hear of targets in
 * the order in which it hears of credentials. `target`: behind `/kubernetes/`.
 */
export async function untilReached(gateway: RunningGateway, key: string, target: string): Promise<void> {
  await until(
    `the gateway lets it into ${target}`,
    async () => (await statusOf(gateway, key, target)) === 200,
  );
}

/** Of a request that every credential may send. */
async function statusOf(gateway: RunningGateway, key: string, target = 'management'): Promise<number> {
  const { statusCode, body } = await gateway.send(`/kubernetes/${target}/version`, { key });
  await body.dump();
  return statusCode;
}

/** kubectl that goes through the gateway with a new key. Call it at the top of a file. */
export async function kubectlWith(world: GatewayWorld, spec: object): Promise<Kubectl & Holder> {
  const holder = await knownHolder(world, spec);
  const kubectl = new Kubectl(world, await world.gateway.kubeconfig(holder.key));
  return Object.assign(kubectl, holder);
}
