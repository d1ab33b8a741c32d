import { labels } from '../../api/names.ts';
import type { Resource } from '../../api/resources.ts';
import { certificateSubject, certificateSubjectPrefix } from '../../credentials/certificates/subject.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { isAlreadyExists, isForbidden, isNotFound } from '../../kube/kube-error.ts';
import { everyOwned } from './paged-list.ts';
import type { DeadCertificates } from './stray-bindings.ts';

const admission = (kind: string, plural: string): Resource => ({
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  plural,
  kind,
  namespaced: false,
});
const policies = admission('ValidatingAdmissionPolicy', 'validatingadmissionpolicies');
const policyBindings = admission('ValidatingAdmissionPolicyBinding', 'validatingadmissionpolicybindings');

/**
 * Makes the API server of a virtual cluster refuse every binding that names a dead certificate of this object, for every
 * user. It stops a holder who binds the certificate faster than bindings can be removed, and goes when they are removed.
 * It acts after a second or so. API servers before 1.30 know no such policies, and not every administrator may make
 * them: then nothing is denied. Rejects with the client's errors.
 */
export async function denyRebinding(client: KubeClient, dead: DeadCertificates): Promise<void> {
  const { uid } = dead;
  const name = policyName(uid);
  const metadata = { name, labels: { [labels.ownerUID]: uid } };
  const policy = { ...typeOf(policies), metadata, spec: policySpec(dead) };
  const binding = {
    ...typeOf(policyBindings),
    metadata,
    spec: { policyName: name, validationActions: ['Deny'] },
  };
  await create(client, policies, policy);
  await create(client, policyBindings, binding);
}

/**
 * Without the right to touch policies there, none was made either. Resolves with true when there was one: the API server may
 * refuse by it for a second or so more.
 */
export async function allowRebinding(client: KubeClient, { uid }: DeadCertificates): Promise<boolean> {
  let wasDenied = false;
  for (const resource of [policyBindings, policies]) {
    try {
      await client.delete(resource, { name: policyName(uid) });
      wasDenied = true;
    } catch (error) {
      if (!isRefused(error)) throw error;
    }
  }
  return wasDenied;
}

/** The UIDs among these for whose objects something is denied. Rejects with the client's errors. */
export async function ownersOfDenials(
  client: KubeClient,
  search: { readonly assertTime: () => void; readonly uids: ReadonlySet<string> },
): Promise<ReadonlySet<string>> {
  const owners = new Set<string>();
  for (const resource of [policyBindings, policies]) {
    try {
      for await (const { uid } of everyOwned(client, resource, search))
        if (owners.add(uid).size === search.uids.size) return owners;
    } catch (error) {
      if (!isRefused(error)) throw error;
    }
  }
  return owners;
}

const policyName = (uid: string): string => `latchkey-${uid}`;

const typeOf = ({ group, version, kind }: Resource) => ({ apiVersion: `${group}/${version}`, kind });

/** Names of this form hold nothing that would have to be quoted. */
function policySpec({ uid, live, only }: DeadCertificates) {
  const isOneOf = (serials: readonly number[]): string =>
    `subject.name in [${serials.map((serial) => `'${certificateSubject(uid, serial)}'`).join(', ')}]`;
  const isOurs = `subject.name.startsWith('${certificateSubjectPrefix(uid)}')`;
  const isDead = `${only === undefined ? isOurs : isOneOf(only)} && !(${isOneOf(live)})`;
  return {
    failurePolicy: 'Fail',
    matchConstraints: {
      resourceRules: [
        {
          apiGroups: ['rbac.authorization.k8s.io'],
          apiVersions: ['*'],
          operations: ['CREATE', 'UPDATE'],
          resources: ['clusterrolebindings', 'rolebindings'],
        },
      ],
    },
    validations: [
      {
        expression: `!has(object.subjects) || !object.subjects.exists(subject, ${isDead})`,
        message: 'The certificates of this kubeconfig are being revoked.',
      },
    ],
  };
}

async function create(client: KubeClient, resource: Resource, object: object): Promise<void> {
  await client.create(resource, object).catch((error: unknown) => {
    if (!isAlreadyExists(error) && !isRefused(error)) throw error;
  });
}

/** A virtual cluster without policies, or whose administrator may not write them. */
const isRefused = (error: unknown): boolean => isNotFound(error) || isForbidden(error);
