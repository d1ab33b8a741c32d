import type { ControlPlaneAccess } from './access.ts';
import { type ControlPlane, startControlPlane } from './control-plane.ts';

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

let own: Promise<ControlPlane> | undefined;

/**
 * The control plane that all files of a worker share; the first that asks starts it, and it ends with the worker. Tests before
 * them used it and tests after them will, so their objects must have names of their own. What another file has left at work
 * there ends, unless it has just these settings.
 */
export async function sharedControlPlane(settings?: string): Promise<ControlPlaneAccess> {
  if (present?.settings !== settings) {
    await present?.end();
    present = undefined;
  }
  own ??= startForWorker();
  return await own;
}

async function startForWorker(): Promise<ControlPlane> {
  // The guard of the control plane keeps this process alive, so it would go on without the run that it belongs to.
  process.once('disconnect', () => process.exit(1));
  // Some clusters serve candidates for leases, and they are to be hidden as leases are.
  const extraApiServerArgs = ['--runtime-config=coordination.k8s.io/v1beta1=true'];
  return await startControlPlane({ name: 'shared', extraApiServerArgs });
}
