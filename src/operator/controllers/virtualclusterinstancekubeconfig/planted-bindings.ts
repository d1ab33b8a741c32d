import { clusterRoleBindings, type Resource, roleBindings } from '../../../api/resources.ts';
import { parseCertificateSubject } from '../../../credentials/certificate-subject.ts';
import type { KubeClient } from '../../../kube/client.ts';
import { isConflict, isNotFound } from '../../../kube/kube-error.ts';
import type { KubeObject, ObjectKey } from '../../../kube/object.ts';
import { everyObject } from './paged-list.ts';

/** Certificates of one object that may do nothing any more. */
export interface DeadCertificates {
  /** Of the VirtualClusterInstanceKubeConfig. */
  readonly uid: string;
  readonly isLive: (serial: number) => boolean;
}

interface Subject {
  readonly kind?: unknown;
  readonly name?: unknown;
}

interface Binding extends KubeObject {
  readonly subjects?: readonly Subject[] | null;
}

/**
 * One pass over every binding of a cluster that takes dead certificates out of their subjects, users and groups alike,
 * whoever put them there. Resolves with how many bindings it found. `assertTime` is called before each request and
 * throws when there is no time left. Rejects with the client's errors.
 */
export async function removePlantedBindings(
  client: KubeClient,
  dead: DeadCertificates,
  assertTime: () => void,
): Promise<number> {
  let found = 0;
  for (const resource of [clusterRoleBindings, roleBindings]) {
    for await (const binding of everyObject<Binding>(client, resource, { assertTime })) {
      const subjects = subjectsOf(binding);
      const others = subjects.filter((subject) => !isDead(subject, dead));
      if (others.length === subjects.length) continue;
      found += 1;
      assertTime();
      await takeOut(client, resource, binding, others);
    }
  }
  return found;
}

/** Kubernetes knows the name of a certificate as a user and as a group; a service account never has it. */
function isDead({ kind, name }: Subject, { uid, isLive }: DeadCertificates): boolean {
  if ((kind !== 'User' && kind !== 'Group') || typeof name !== 'string') return false;
  const certificate = parseCertificateSubject(name);
  return certificate?.uid === uid && !isLive(certificate.serial);
}

const subjectsOf = ({ subjects }: Binding): readonly Subject[] => (Array.isArray(subjects) ? subjects : []);

/**
 * A binding with a finalizer stays in force while it is deleted, so its subjects are taken out first. What changed or
 * went meanwhile is seen again in the next pass.
 */
async function takeOut(
  client: KubeClient,
  resource: Resource,
  { metadata }: Binding,
  others: readonly Subject[],
): Promise<void> {
  const { name, namespace, uid, resourceVersion, finalizers = [] } = metadata;
  const key: ObjectKey = namespace === undefined ? { name } : { name, namespace };
  const lingers = finalizers.length > 0 || metadata.deletionTimestamp !== undefined;
  const narrow = async () => {
    if (others.length === 0 && !lingers) return;
    await client.mergePatch(resource, key, { metadata: { uid, resourceVersion }, subjects: others });
  };
  try {
    await narrow();
    if (others.length === 0) await client.delete(resource, key, { preconditions: { uid } });
  } catch (error) {
    if (!isConflict(error) && !isNotFound(error)) throw error;
  }
}
