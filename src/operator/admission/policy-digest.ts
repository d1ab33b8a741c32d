import { hash } from 'node:crypto';
import type { Resource } from '../../api/resources.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import type { KubeObject } from '../../kube/object.ts';
import type { PolicyKind } from './generated/shipped-policies.ts';
import { type PolicyRecord, toPolicyRecord } from './policy-record.ts';

const plurals: Readonly<Record<PolicyKind, string>> = {
  MutatingAdmissionPolicy: 'mutatingadmissionpolicies',
  MutatingAdmissionPolicyBinding: 'mutatingadmissionpolicybindings',
  ValidatingAdmissionPolicy: 'validatingadmissionpolicies',
  ValidatingAdmissionPolicyBinding: 'validatingadmissionpolicybindings',
};

export const policyKinds = Object.keys(plurals) as readonly PolicyKind[];

export const policyResource = (kind: PolicyKind): Resource => ({
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  plural: plurals[kind],
  kind,
  namespaced: false,
});

/**
 * One value for all policies and bindings of ours, of whatever release. One that is deleted and made again has another UID, and one that
 * is edited and put back another generation, so no such time goes by without another digest.
 */
export function policyDigest(records: Iterable<PolicyRecord>): string {
  const lines = [...records].map(({ kind, key, uid, generation }) => `${kind}/${key}=${uid}:${generation}`);
  return hash('sha256', lines.sort().join('\n'), 'hex');
}

/** The same of what the API server has at this moment, whatever a watch has brought of it. */
export async function readPolicyDigest(
  client: Pick<KubeClient, 'list'>,
  signal: AbortSignal,
): Promise<string> {
  const lists = await Promise.all(
    policyKinds.map(async (kind) => {
      const { items } = await client.list<KubeObject>(policyResource(kind), { signal });
      return items.map((object) => toPolicyRecord(object, kind)).filter((record) => record !== undefined);
    }),
  );
  return policyDigest(lists.flat());
}
