import { defined } from '../../api/json.ts';
import { clusterRoleBindings, type Resource, roleBindings } from '../../api/resources.ts';
import { parseCertificateSubject } from '../../credentials/certificates/subject.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { forEachConcurrently } from '../../kube/for-each-concurrently.ts';
import { isGone, KubeError } from '../../kube/kube-error.ts';
import type { KubeObject, ObjectKey } from '../../kube/object.ts';
import { TargetFailure } from '../targets/target-failure.ts';
import { deleteByPlace } from './delete-by-place.ts';
import { everyObject, holdsUnknownBytes } from './paged-list.ts';

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
export const targetConcurrency = 4;

type BindingKey = Pick<KubeObject['metadata'], 'name' | 'namespace' | 'uid' | 'resourceVersion'> &
  Partial<Pick<KubeObject['metadata'], 'finalizers' | 'deletionTimestamp'>>;

/** A binding with a dead certificate among its subjects. */
export interface StrayBinding {
  readonly resource: Resource;
  /** The fields that its removal needs: labels, annotations and managed fields may be large. */
  readonly binding: { readonly metadata: BindingKey };
  /** The subjects that may stay. */
  readonly others: readonly Subject[];
  /** The name of the binding before it, in its namespace or among those without. */
  readonly before: string | undefined;
}

/** The next pass finds the rest. */
const maxFound = 200;
/** Characters. One may weigh more than a megabyte, and a dozen searches may run at a time. */
const maxWeight = 4 * 2 ** 20;

/** The findings of a search so far. */
class Found {
  readonly bindings: StrayBinding[] = [];
  #weight = 0;

  get isFull(): boolean {
    return this.bindings.length >= maxFound || this.#weight >= maxWeight;
  }

  add(stray: StrayBinding): void {
    this.bindings.push(stray);
    this.#weight += JSON.stringify(stray).length;
  }
}

/**
 * Searches every binding of a cluster for dead certificates, users and groups alike, by whatever way they came there.
 * Resolves early with so many that they should go before more are searched, and with what was found when the search
 * cannot go on. `assertTime` is called before each request and throws when there is no time left. Rejects with the
 * client's errors, and with a TargetFailure when nothing was found in a search that could not see everything.
 */
export async function findStrayBindings(
  client: KubeClient,
  dead: DeadCertificates,
  assertTime: () => void,
): Promise<readonly StrayBinding[]> {
  const found = new Found();
  let failure: TargetFailure | undefined;
  for (const resource of [clusterRoleBindings, roleBindings]) {
    if (found.isFull) break;
    try {
      await findIn(resource, everyObject<Binding>(client, resource, { assertTime }), { dead, found });
    } catch (error) {
      if (!(error instanceof TargetFailure)) throw error;
      failure ??= error;
    }
  }
  if (failure !== undefined && found.bindings.length === 0) throw failure;
  return found.bindings;
}

/**
 * Searches every binding of a cluster once, for the dead certificates of many objects. Resolves with the UIDs of those that have
 * one in force. Rejects where the search cannot see everything, and as `findStrayBindings` does.
 */
export async function findBoundOwners(
  client: KubeClient,
  dead: readonly DeadCertificates[],
  assertTime: () => void,
): Promise<ReadonlySet<string>> {
  const byUID = Map.groupBy(dead, ({ uid }) => uid);
  const bound = new Set<string>();
  const add = (subject: Subject | null) => {
    const { uid = '' } = certificateIn(subject) ?? {};
    if (byUID.get(uid)?.some((certificates) => namesDead(subject, certificates)) === true) bound.add(uid);
  };
  for (const resource of [clusterRoleBindings, roleBindings])
    for await (const binding of everyObject<Binding>(client, resource, { assertTime }))
      subjectsOf(binding).forEach(add);
  return bound;
}

async function findIn(
  resource: Resource,
  bindings: AsyncIterable<Binding>,
  { dead, found }: { readonly dead: DeadCertificates; readonly found: Found },
): Promise<void> {
  let last: Binding | undefined;
  for await (const binding of bindings) {
    if (found.isFull) return;
    const subjects = subjectsOf(binding);
    const others = subjects.filter((subject) => !namesDead(subject, dead));
    const before = last?.metadata.namespace === binding.metadata.namespace ? last?.metadata.name : undefined;
    if (others.length < subjects.length)
      found.add({ resource, binding: { metadata: bindingKeyOf(binding) }, others, before });
    last = binding;
  }
}

const bindingKeyOf = ({ metadata }: Binding): BindingKey => {
  const { name, namespace, uid, resourceVersion, finalizers, deletionTimestamp } = metadata;
  return { name, uid, resourceVersion, ...defined({ namespace, finalizers, deletionTimestamp }) };
};

/**
 * Takes the dead certificates out of these bindings, and deletes those without other subjects. One that the target does
 * not let go stands in the way of no other. Resolves with how many no request can remove; rejects with the first refusal.
 */
export async function removeStrayBindings(
  client: KubeClient,
  found: readonly StrayBinding[],
  assertTime: () => void,
): Promise<number> {
  const refusals: KubeError[] = [];
  let irremovable = 0;
  await forEachConcurrently(found, targetConcurrency, async (stray) => {
    assertTime();
    try {
      if (!(await takeOut(client, stray))) irremovable += 1;
    } catch (error) {
      if (!isAnswer(error)) throw error;
      refusals.push(error);
    }
  });
  if (refusals[0] !== undefined) throw refusals[0];
  return irremovable;
}

export const isAnswer = (error: unknown): error is KubeError =>
  error instanceof KubeError && (error.code === 'ERR_KUBE_STATUS' || error.code === 'ERR_KUBE_RESPONSE');

/** Kubernetes knows the name of a certificate as a user and as a group; a service account never has it. */
function certificateIn(subject: Subject | null): ReturnType<typeof parseCertificateSubject> {
  const { kind, name } = subject ?? {};
  if ((kind !== 'User' && kind !== 'Group') || typeof name !== 'string') return undefined;
  return parseCertificateSubject(name);
}

function namesDead(subject: Subject | null, dead: DeadCertificates): boolean {
  const certificate = certificateIn(subject);
  return certificate?.uid === dead.uid && isDead(certificate.serial, dead);
}

export function isDead(serial: number, { live, only }: DeadCertificates): boolean {
  return !live.includes(serial) && (only === undefined || only.includes(serial));
}

const subjectsOf = ({ subjects }: Binding): readonly Subject[] => (Array.isArray(subjects) ? subjects : []);

/**
 * Resolves with false when no request can do it: neither by name nor by place, by which an object can be deleted and not
 * changed. What changed or went meanwhile is seen again in the next pass.
 */
async function takeOut(client: KubeClient, stray: StrayBinding): Promise<boolean> {
  const { resource, binding, others, before } = stray;
  try {
    await takeOutByName(client, stray);
    return true;
  } catch (error) {
    if (isAddressable(binding.metadata)) {
      if (isGone(error)) return true;
      throw error;
    }
    if (!(error instanceof KubeError)) throw error;
  }
  if (others.length > 0 || lingers(binding)) return false;
  return await deleteByPlace(client, resource, binding, before);
}

/** Of other names it is uncertain what they lead to, and whether a request with them arrives: proxies have limits too. */
const isAddressable = ({ name }: BindingKey): boolean =>
  !holdsUnknownBytes(name) && encodeURIComponent(name).length < 4_000;

/** A binding with a finalizer stays in force while it is deleted, so its subjects are taken out first. */
async function takeOutByName(client: KubeClient, { resource, binding, others }: StrayBinding): Promise<void> {
  const { name, namespace, uid, resourceVersion } = binding.metadata;
  const key: ObjectKey = namespace === undefined ? { name } : { name, namespace };
  if (others.length > 0 || lingers(binding))
    await client.mergePatch(resource, key, { metadata: { uid, resourceVersion }, subjects: others });
  if (others.length === 0) await client.delete(resource, key, { preconditions: { uid } });
}

const lingers = ({ metadata: { finalizers = [], deletionTimestamp } }: StrayBinding['binding']): boolean =>
  finalizers.length > 0 || deletionTimestamp !== undefined;
