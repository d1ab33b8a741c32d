import { inject } from 'vitest';
import { accessTo, type ControlPlaneAccess } from './access.ts';

/**
 * The control plane that all tests of a run share. Objects of a test must have names of their own.
 * @throws Error when the vitest project has no global set-up that starts it.
 */
export async function sharedControlPlane(): Promise<ControlPlaneAccess> {
  const connection = inject('controlPlane');
  if (connection === undefined) {
    throw new Error(
      'no shared control plane: give this vitest project globalSetup "test/controlplane/global-setup.ts"',
    );
  }
  return accessTo(connection);
}
