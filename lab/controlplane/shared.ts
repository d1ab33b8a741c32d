import { inject } from 'vitest';
import { accessTo, type ControlPlaneAccess } from './access.ts';

/**
 * The control plane that all tests share that run in the same place of vitest's pool. Tests before them used it and tests
 * after them will, so their objects must have names of their own.
 * @throws Error when the vitest project has no global set-up that starts it.
 */
export async function sharedControlPlane(): Promise<ControlPlaneAccess> {
  const connection = inject('controlPlanes')?.[poolPlace() - 1];
  if (connection === undefined) {
    throw new Error('no shared control plane: give this vitest project globalSetup "lab/global-setup.ts"');
  }
  return accessTo(connection);
}

/** From 1 to the number of workers; two files that run at once never have the same. */
function poolPlace(): number {
  return Number(process.env.VITEST_POOL_ID);
}
