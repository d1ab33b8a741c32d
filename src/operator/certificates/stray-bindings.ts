import { clusterRoleBindings, type Resource, roleBindings } from '../../api/resources.ts';
import { parseCertificateSubject } from '../../credentials/certificates/subject.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { isConflict, isNotFound } from '../../kube/kube-error.ts';
import type { KubeObject, ObjectKey } from '../../kube/object.ts';
import { everyObject } from './paged-list.ts';

/** Certificates of one object that may do nothing any more. */
export interface DeadCertificates {
  /** Of the VirtualClusterInstanceKubeConfig. */
  readonly uid: string;
  /** Serials of those that live on. */
  readonly live: readonly number[];
  /** The only ones that are dead. Absent: all but the live ones, those that never were included. */
  readonly only?: readonly number[];
}

/** As it came: a person who writes a binding may be able to write anything. */
interface Subject {
  readonly kind?: unknown;
  readonly name?: unknown;
}

interface Binding extends KubeObject {
  readonly subjects?: readonly Subject[] | null;
}

/** At the same time; as many as there are connections to a target. */
const concurrency = 4;

/** A binding with a dead certificate among its subjects. */
export interface StrayBinding {
  readonly resource: Resource;
  readonly binding: Binding;
  /** The subjects that may stay. */
  readonly others: readonly Subject[];
}

/** Each may weigh a megabyte; the next pass finds the rest. */
const maxFound = 200;

/**
 * Searches every binding of a cluster for dead certificates, users and groups alike, by whatever way they came there.
 * Resolves early with so many that they should go before more are searched. `assertTime` is called before each request
 * and throws when there is no time left. Rejects with the client's errors.
 */
export async function findStrayBindings(
  client: KubeClient,
  dead: DeadCertificates,
  assertTime: () => void,
): Promise<readonly StrayBinding[]> {
  const found: StrayBinding[] = [];
  for (const resource of [clusterRoleBindings, roleBindings]) {
    for await (const binding of everyObject<Binding>(client, resource, { assertTime })) {
      const subjects = subjectsOf(binding);
      const others = subjects.filter((subject) => !namesDead(subject, dead));
      if (others.length < subjects.length) found.push({ resource, binding, others });
      if (found.length === maxFound) return found;
    }
  }
  return found;
}

/** Takes the dead certificates out of these bindings, and deletes those without other subjects. */
export async function removeStrayBindings(
  client: KubeClient,
  found: readonly StrayBinding[],
  assertTime: () => void,
): Promise<void> {
  const rest = found.values();
  const clear = async () => {
    for (const stray of rest) {
      assertTime();
      await takeOut(client, stray);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, clear));
}

/** Kubernetes knows the name of a certificate as a user and as a group; a service account never has it. */
function namesDead(subject: Subject | null, dead: DeadCertificates): boolean {
  const { kind, name } = subject ?? {};
  if ((kind !== 'User' && kind !== 'Group') || typeof name !== 'string') return false;
  const certificate = parseCertificateSubject(name);
  return certificate?.uid === dead.uid && isDead(certificate.serial, dead);
}

export function isDead(serial: number, { live, only }: DeadCertificates): boolean {
  return !live.includes(serial) && (only === undefined || only.includes(serial));
}

const subjectsOf = ({ subjects }: Binding): readonly Subject[] => (Array.isArray(subjects) ? subjects : []);

/**
 * A binding with a finalizer stays in force while it is deleted, so its subjects are taken out first. What changed or
 * went meanwhile is seen again in the next pass.
 */
async function takeOut(client: KubeClient, { resource, binding, others }: StrayBinding): Promise<void> {
  const { name, namespace, uid, resourceVersion, finalizers = [], deletionTimestamp } = binding.metadata;
  const key: ObjectKey = namespace === undefined ? { name } : { name, namespace };
  const lingers = finalizers.length > 0 || deletionTimestamp !== undefined;
  try {
    if (others.length > 0 || lingers)
      await client.mergePatch(resource, key, { metadata: { uid, resourceVersion }, subjects: others });
    if (others.length === 0) await client.delete(resource, key, { preconditions: { uid } });
  } catch (error) {
    if (!isConflict(error) && !isNotFound(error)) throw error;
  }
}
