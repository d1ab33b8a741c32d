import { apiVersion, groups } from '../../../src/api/names.ts';
import type { OwnerReference } from '../../../src/api/object-meta.ts';
import type { Stored } from '../../operator/api.ts';
import type { World } from '../../operator/world.ts';

/**
 * Makes an object as the gateway makes them for its users: by impersonation, with the group that the gateway alone
 * adds, and owned by the access key that it belongs to. The rights of that group come with the gateway.
 */
export async function createAsSelfService(
  { plane, admin, name }: World,
  kind: string,
  spec: object,
  ownerReferences: readonly OwnerReference[] = [],
): Promise<Stored> {
  const metadata = { name: name('self-service'), ownerReferences };
  const input = JSON.stringify({ apiVersion, kind, metadata, spec });
  const identity = ['--as=alice', `--as-group=${groups.selfService}`, '--as-group=system:masters'];
  const args = ['create', ...identity, '-f', '-', '-o', 'json'];
  const { exitCode, stderr, stdout } = await plane.kubectl(args, { input });
  if (exitCode !== 0) throw new Error(`kubectl create --as=alice: ${stderr}`);
  return admin.track(JSON.parse(stdout));
}

export function ownerReferenceTo({ kind = '', metadata: { name, uid } }: Stored): OwnerReference {
  return { apiVersion, kind, name, uid };
}
