import type { KubeClient } from '../../../src/kube/client/client.ts';
import type { KubeObject } from '../../../src/kube/object.ts';
import type { PolicyKind } from '../../../src/operator/admission/generated/shipped-policies.ts';
import { policyResource } from '../../../src/operator/admission/policy-digest.ts';

/** An admission policy or a binding. */
export type Piece = Readonly<{ kind: PolicyKind; name: string }>;

type Policy = KubeObject & { readonly kind: PolicyKind; readonly spec: object };

/** Deletes them, and gives what makes them again, as a re-sync does that deletes and creates. */
export async function takeAway(client: KubeClient, pieces: readonly Piece[]): Promise<() => Promise<void>> {
  const kept = await Promise.all(
    pieces.map(({ kind, name }) => client.get<Policy>(policyResource(kind), { name })),
  );
  for (const { kind, name } of pieces) await client.delete(policyResource(kind), { name });
  return async () => {
    for (const { apiVersion = '', kind, metadata, spec } of kept) {
      const { name, labels = {} } = metadata;
      await client.create(policyResource(kind), { apiVersion, kind, metadata: { name, labels }, spec });
    }
  };
}
