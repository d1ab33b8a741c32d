import type { Stored } from '../../../lab/operator/api.ts';
import { bindRole } from '../../../lab/operator/rights.ts';
import { until } from '../../../lab/operator/until.ts';
import { credentialLocks } from '../../../src/api/resources.ts';
import type { FourTargets } from './four-targets.ts';
import { knownHolder, untilReached } from './known-holder.ts';

/** A credential with which a session can be opened, and what ends that. */
export interface EndingSession {
  readonly key: string;
  /** Behind `/kubernetes/`. */
  readonly path: string;
  /** Resolves when the API server has taken the change; of a right that is lost, when the gateway knows of it. */
  readonly end: () => Promise<unknown>;
}

type Change = (object: Stored) => Promise<unknown>;

/** All that ends a session before its client does, as sentences begin with it. `bob`: may open sessions, and has no right to enter a target. */
export function sessionEnds({ world, user, paths, make }: FourTargets, bob: string) {
  const { admin, gateway } = world;
  const disable: Change = async (object) => await admin.patch(object, { spec: { disabled: true } });
  const remove: Change = async (object) => await admin.delete(object);

  const ofKey = (change: Change) => async (): Promise<EndingSession> => {
    const { key, object } = await knownHolder(world, { user });
    return { key, path: paths.platform, end: async () => await change(object) };
  };
  const ofParent = (change: Change) => async (): Promise<EndingSession> => {
    const { object } = await world.holder({ user });
    const { key } = await knownHolder(world, { accessKey: object.metadata.name });
    return { key, path: paths.platform, end: async () => await change(object) };
  };
  const ofTarget = (kind: keyof FourTargets['make']) => async (): Promise<EndingSession> => {
    const [{ object, path }, { key }] = await Promise.all([make[kind](), knownHolder(world, { user })]);
    await admin.untilReady(object);
    await untilReached(gateway, key, path);
    return { key, path, end: async () => await remove(object) };
  };
  const ofRight = async (): Promise<EndingSession> => {
    const binding = await bindRole(admin, bob, 'latchkey-use-cluster');
    const { key } = await knownHolder(world, { user: bob });
    const path = paths.cluster;
    await untilReached(gateway, key, path);
    const isRefused = async () => {
      const { statusCode, body } = await gateway.send(`/kubernetes/${path}/version`, { key });
      await body.dump();
      return statusCode === 403;
    };
    const end = async () => {
      await remove(binding);
      await until('another request is refused', isRefused);
    };
    return { key, path, end };
  };
  return {
    'its key is disabled': ofKey(disable),
    'its key is deleted': ofKey(remove),
    'its key gets an end that is over': ofKey(
      async (object) => await admin.patch(object, { spec: { ttl: 1 } }),
    ),
    'its key gets another scope': ofKey(async (object) => await admin.patch(object, { spec: { scope: {} } })),
    'its key is locked': ofKey(
      async ({ metadata: { name } }) => await admin.create(credentialLocks, { accessKey: { name } }),
    ),
    'the key above its key is disabled': ofParent(disable),
    'the key above its key is deleted': ofParent(remove),
    'its virtual cluster is deleted': ofTarget('virtual cluster'),
    'its space is deleted': ofTarget('space'),
    'its cluster is deleted': ofTarget('cluster'),
    'its user may no longer use the target': ofRight,
  };
}
