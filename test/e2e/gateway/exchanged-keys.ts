import type { ControlPlaneAccess } from '../../../lab/controlplane/access.ts';

/** Deletes them for good. Their names are held until their tokens are of no use, and the control plane is that of others too. */
export async function removeExchangedKeys(plane: ControlPlaneAccess): Promise<void> {
  const { stdout } = await plane.kubectl(['get', 'oak', '-o', 'name']);
  const left = stdout.split('\n').filter((each) => each.includes('/exchanged-'));
  const free = ['--type=merge', '-p', '{"metadata":{"finalizers":null}}'];
  await plane.kubectl(['delete', '--wait=false', '--ignore-not-found', ...left]);
  for (const each of left) await plane.kubectl(['patch', each, ...free]);
}
