import { accessTo, type ControlPlaneAccess } from './access.ts';
import { controlPlaneBinaries } from './binaries/binaries.ts';
import { Components, type TwinApiServer } from './components.ts';
import { Guard } from './guard.ts';
import type { ControlPlaneOptions } from './options.ts';
import { PortTakenError } from './probe.ts';
import type { Binaries } from './versions.ts';

export type { ControlPlaneOptions } from './options.ts';

export interface ControlPlane extends ControlPlaneAccess {
  /** Bearer token of a user of `options.users`. @throws Error when the user is not one of them. */
  tokenOf(user: string): string;
  /** Kills the API server; etcd keeps the data. */
  stopApiServer(): Promise<void>;
  /** Starts it again on the same port and waits until it is ready. */
  startApiServer(): Promise<void>;
  /** Kills etcd. The API server runs on, and has nothing to read and write. */
  stopEtcd(): Promise<void>;
  /** Starts it again with its data, and waits until the API server is ready. */
  startEtcd(): Promise<void>;
  /** Starts a second API server on the same etcd, which can be cut off from it. At most once. */
  startTwin(): Promise<TwinApiServer>;
  /** Kills API server and etcd for good, and copies the data into a new folder; see the option `etcdData`. */
  saveEtcdData(folder: string): Promise<void>;
  /** Ends all processes and removes all files. Safe to call more than once. */
  stop(): Promise<void>;
}

/** How often another set of ports is tried when somebody else took one of ours. */
const attempts = 5;
const defaultReadyTimeoutMs = 120_000;

/**
 * Starts etcd, an API server and a controller manager on free loopback ports. Resolves when the API server is ready
 * and the controllers fill namespaces.
 * @throws Error with the end of the log of the component that failed.
 */
export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const binaries = options.binaries ?? (await controlPlaneBinaries());
  for (let attempt = 1; ; attempt += 1) {
    const guard = await Guard.start(`controlplane-${options.name ?? 'local'}`);
    try {
      return await startUnder(guard, binaries, options);
    } catch (error) {
      await guard.stop();
      if (!(error instanceof PortTakenError) || attempt === attempts) throw error;
    }
  }
}

async function startUnder(
  guard: Guard,
  binaries: Binaries,
  options: ControlPlaneOptions,
): Promise<ControlPlane> {
  const timeoutMs = options.readyTimeoutMs ?? defaultReadyTimeoutMs;
  const components = await Components.prepare(guard, binaries, options);
  await components.startAll(AbortSignal.timeout(timeoutMs));
  return {
    ...accessTo(await components.connection()),
    tokenOf: (user) => components.tokenOf(user),
    stopApiServer: async () => await components.stopApiServer(),
    startApiServer: async () => await components.startApiServer(AbortSignal.timeout(timeoutMs)),
    stopEtcd: async () => await components.stopEtcd(),
    startEtcd: async () => await components.startEtcd(AbortSignal.timeout(timeoutMs)),
    saveEtcdData: async (folder) => await components.saveEtcdData(folder),
    startTwin: async () => await components.startTwin(AbortSignal.timeout(timeoutMs)),
    stop: async () => await components.stop(),
  };
}
