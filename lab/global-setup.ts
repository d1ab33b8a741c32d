import path from 'node:path';
import type { TestProject } from 'vitest/node';
import { buildBundle } from '../tools/bundle/build-bundle.ts';
import type { ControlPlaneConnection } from './controlplane/connection.ts';
import { type ControlPlane, startControlPlane } from './controlplane/control-plane.ts';
import { endWithNpm } from './controlplane/end-with-npm.ts';
import { Guard } from './controlplane/guard.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** One for each worker of the project, in their order. */
    controlPlanes: readonly ControlPlaneConnection[];
    /** The program as the image holds it, for the operators that tests start. */
    bundle: string;
  }
}

/**
 * For etcd, the API servers and kubectl, which are written in Go and take most of the processor: with more room for garbage they
 * collect it less often. What a worker starts inherits it.
 */
const goMemory = { GOGC: '400', GOMEMLIMIT: '1GiB' };

/**
 * Builds the program, and starts a control plane for each worker of the project; the function that it returns takes all of
 * it away.
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  endWithNpm();
  Object.assign(process.env, { ...goMemory, ...process.env });
  const guard = await Guard.start('bundle');
  const bundle = path.join(guard.folder, 'latchkey.mjs');
  await buildBundle(bundle);
  project.provide('bundle', bundle);
  const planes = await startAll(project.config.maxWorkers);
  project.provide(
    'controlPlanes',
    planes.map(({ connection }) => connection),
  );
  return async () => await stopAll([guard, ...planes]);
}

/** All of them or none: the processes of one that is left behind would outlive the run. */
async function startAll(count: number): Promise<ControlPlane[]> {
  const starts = Array.from(
    { length: count },
    async (_, index) => await startControlPlane({ name: `shared-${index + 1}` }),
  );
  const results = await Promise.allSettled(starts);
  const planes = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  const failure = results.find((result) => result.status === 'rejected');
  if (failure === undefined) return planes;
  await stopAll(planes);
  throw failure.reason;
}

async function stopAll(started: readonly { stop(): Promise<void> }[]): Promise<void> {
  await Promise.all(started.map(async (one) => await one.stop()));
}
