import { randomBytes } from 'node:crypto';
import { afterAll } from 'vitest';
import type { ControlPlaneAccess } from '../../../lab/controlplane/access.ts';
import { Guard } from '../../../lab/controlplane/guard.ts';
import { RunningGateway } from '../../../lab/gateway/running-gateway.ts';
import type { Stored } from '../../../lab/operator/api.ts';
import { operatorWorld, targetSettings, type World } from '../../../lab/operator/world.ts';
import { generateAccessKey } from '../../../src/credentials/keys/access-key.ts';

export interface GatewayWorld extends World {
  readonly gateway: RunningGateway;
  /** A confirmed key, and the secret that its holder sends. */
  holder(spec: object): Promise<{ object: Stored; key: string }>;
}

type Env = Readonly<Record<string, string>>;

/** With these the gateway dials targets on this machine. */
export const gatewaySettings = { LATCHKEY_TARGET_ADDRESSES: '127.0.0.0/8' };

async function ownGateway(world: World, env: Env): Promise<RunningGateway> {
  const gateway = await RunningGateway.start(world.plane, world.guard, {
    name: world.name('gateway'),
    env: { ...gatewaySettings, ...env },
  });
  afterAll(async () => void (await gateway.end()));
  return gateway;
}

let kept: RunningGateway | undefined;
let guardOfKept: Promise<Guard> | undefined;

/** The gateway with these settings and no others works from file to file. It ends with the worker, or when a file ends it. */
async function keptGateway({ plane, name }: World): Promise<RunningGateway> {
  if (kept === undefined || kept.exited) {
    guardOfKept ??= Guard.start('kept-gateway');
    const options = { name: name('gateway'), env: gatewaySettings };
    kept = await RunningGateway.start(plane, await guardOfKept, options);
  }
  return kept;
}

/**
 * A control plane with the operator and the gateway at work. Call it at the top of a file. `env`: settings of the gateway beside
 * those that let it dial targets here; a file without any shares it with others. The settings of the operator are those of most
 * files, so that it works on from one to the next.
 */
export async function gatewayWorld(
  env: Env = {},
  operatorEnv: Env = targetSettings,
  plane?: ControlPlaneAccess,
): Promise<GatewayWorld> {
  const world = await operatorWorld({ env: operatorEnv, ...(plane && { plane }) });
  const isUsual = Object.keys(env).length === 0 && operatorEnv === targetSettings && plane === undefined;
  const gateway = await (isUsual ? keptGateway(world) : ownGateway(world, env));
  const holder = async (spec: object) => {
    const key = generateAccessKey(randomBytes(32));
    const object = await world.admin.untilReady(await world.admin.createKey({ ...spec, key }));
    return { object, key };
  };
  return Object.assign(Object.create(world) as World, { gateway, holder });
}
