import { inject } from 'vitest';
import { accessTo, type ControlPlaneAccess } from './access.ts';

/** A program that works on the shared control plane from file to file, as long as each of them wants the same one. */
export interface Tenant {
  readonly settings: string;
  end(): Promise<unknown>;
}

let present: Tenant | undefined;

/** Lets the program work on for the files that come. */
export function keepTenant(tenant: Tenant): void {
  present = tenant;
}

/**
 * The control plane that all tests share that run in the same place of vitest's pool. Tests before them used it and tests
 * after them will, so their objects must have names of their own. What another file has left at work there ends, unless
 * it has just these settings.
 * @throws Error when the vitest project has no global set-up that starts it.
 */
export async function sharedControlPlane(settings?: string): Promise<ControlPlaneAccess> {
  if (present?.settings !== settings) {
    await present?.end();
    present = undefined;
  }
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
