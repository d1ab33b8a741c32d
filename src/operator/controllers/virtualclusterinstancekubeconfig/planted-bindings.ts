import { clusterRoleBindings, type Resource, roleBindings } from '../../../api/resources.ts';
import { parseCertificateSubject } from '../../../credentials/certificate-subject.ts';
import type { KubeClient } from '../../../kube/client.ts';
import { isConflict, isNotFound, KubeError } from '../../../kube/kube-error.ts';
import type { KubeList, KubeObject, ObjectKey } from '../../../kube/object.ts';

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

/** Objects a page. Fewer where a page would be larger than we read: a binding may weigh more than a megabyte. */
const pageSizes = [500, 50, 4] as const;

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
    for await (const binding of everyBinding(client, resource, assertTime)) {
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

async function* everyBinding(
  client: KubeClient,
  resource: Resource,
  assertTime: () => void,
): AsyncGenerator<Binding> {
  let next: string | undefined;
  let size = 0;
  do {
    assertTime();
    const page = await readPage(client, resource, { size, next });
    size = page.size;
    yield* page.list.items;
    next = page.list.metadata.continue || undefined;
  } while (next !== undefined);
}

interface Page {
  /** Index into `pageSizes`. */
  readonly size: number;
  readonly next: string | undefined;
}

async function readPage(
  client: KubeClient,
  resource: Resource,
  { size, next }: Page,
): Promise<{ readonly list: KubeList<Binding>; readonly size: number }> {
  const limit = pageSizes[size] ?? 1;
  try {
    const list = await client.list<Binding>(resource, {
      limit,
      ...(next === undefined ? {} : { continue: next }),
    });
    return { list, size };
  } catch (error) {
    const isTooLarge = error instanceof KubeError && error.code === 'ERR_KUBE_RESPONSE';
    if (!isTooLarge || size === pageSizes.length - 1) throw error;
    return readPage(client, resource, { size: size + 1, next });
  }
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
