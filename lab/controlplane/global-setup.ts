import type { TestProject } from 'vitest/node';
import type { ControlPlaneConnection } from './connection.ts';
import { type ControlPlane, startControlPlane } from './control-plane.ts';
import { endWithNpm } from './end-with-npm.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** One for each worker of the project, in their order. */
    controlPlanes: readonly ControlPlaneConnection[];
  }
}

/** Starts a control plane for each worker of the project; the function that it returns stops them. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  endWithNpm();
  const planes = await startAll(project.config.maxWorkers);
  project.provide(
    'controlPlanes',
    planes.map(({ connection }) => connection),
  );
  return async () => await stopAll(planes);
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

async function stopAll(planes: readonly ControlPlane[]): Promise<void> {
  await Promise.all(planes.map(async (plane) => await plane.stop()));
}
