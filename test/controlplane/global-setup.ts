import type { TestProject } from 'vitest/node';
import type { ControlPlaneConnection } from './connection.ts';
import { startControlPlane } from './control-plane.ts';
import { endWithNpm } from './end-with-npm.ts';

declare module 'vitest' {
  interface ProvidedContext {
    controlPlane: ControlPlaneConnection;
  }
}

/** Starts one control plane for the whole run; the function that it returns stops it. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  endWithNpm();
  const plane = await startControlPlane({ name: 'shared' });
  project.provide('controlPlane', plane.connection);
  return async () => await plane.stop();
}
