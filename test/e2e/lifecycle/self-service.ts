import type { Stored } from '../../../lab/operator/api.ts';
import type { World } from '../../../lab/operator/world.ts';
import { apiVersion, groups } from '../../../src/api/names.ts';
import type { OwnerReference } from '../../../src/api/object-meta.ts';

export interface SelfServiceOptions {
  readonly ownerReferences?: readonly OwnerReference[];
  /** Of a namespaced kind. */
  readonly namespace?: string;
  /** Default: `alice`. */
  readonly user?: string;
}

/**
 * Makes an object as the gateway makes them for its users: by impersonation, with the group that the gateway alone
 * adds, and owned by the access key that it belongs to. The rights of that group come with the gateway.
 */
export async function createAsSelfService(
  { plane, admin, name }: World,
  kind: string,
  spec: object,
  options: SelfServiceOptions = {},
): Promise<Stored> {
  const { ownerReferences = [], namespace, user = 'alice' } = options;
  const place = namespace === undefined ? {} : { namespace };
  const metadata = { name: name('self-service'), ...place, ownerReferences };
  const input = JSON.stringify({ apiVersion, kind, metadata, spec });
  const identity = [`--as=${user}`, `--as-group=${groups.selfService}`, '--as-group=system:masters'];
  const args = ['create', ...identity, '-f', '-', '-o', 'json'];
  const { exitCode, stderr, stdout } = await plane.kubectl(args, { input });
  if (exitCode !== 0) throw new Error(`kubectl create --as=${user}: ${stderr}`);
  return admin.track(JSON.parse(stdout));
}

export function ownerReferenceTo({ kind = '', metadata: { name, uid } }: Stored): OwnerReference {
  return { apiVersion, kind, name, uid };
}
