import { asObject, asText, defined } from '../../api/json.ts';
import { fieldManager } from '../../api/names.ts';
import { reasons } from '../../api/reasons.ts';
import type { DeleteOptions } from '../../kube/client/client.ts';
import { ignoreNotFound } from '../../kube/kube-error.ts';
import type { KubeObject } from '../../kube/object.ts';
import type { TargetOwner } from '../../platform/targets/target-access.ts';
import { TargetFailure } from './target-failure.ts';
import {
  compareToWanted,
  isOwnedBy,
  ownerUIDOf,
  type RemovedObject,
  removalOrder,
  type TargetObject,
} from './target-objects.ts';
import type { TargetSession } from './target-session.ts';

type TargetObjectKey = Pick<TargetObject, 'resource' | 'key'>;

/** One object of a target that is not as it has to be. */
interface Repair {
  readonly wanted: TargetObject;
  /** As the target shows it; undefined where it is missing. */
  readonly present: unknown;
  /** Whether only another object can be as it should. */
  readonly isReplaced: boolean;
}

/** The findings of a look into a target. */
export interface Inspection {
  /** Kinds of what is missing. */
  readonly missing: ReadonlySet<string>;
  readonly repairs: readonly Repair[];
  /** Whether something in the target is this owner's, or will be once it is repaired. */
  readonly isEntered: boolean;
}

/**
 * Reads what is there, writes nothing, and says what has to be made or brought back. Several objects of this platform
 * may share a target as long as they want the same in it: `isOther` knows their UIDs, and what is labelled for one of
 * them is left to it.
 * @throws TargetFailure when they do not want the same; what requests to the target throw.
 */
export async function inspect(
  session: TargetSession,
  owner: TargetOwner,
  wanted: readonly TargetObject[],
  isOther: (uid: string) => boolean,
): Promise<Inspection> {
  const missing = new Set<string>();
  const repairs: Repair[] = [];
  let isEntered = false;
  for (const object of wanted) {
    const present = await find(session, object);
    if (present === undefined) missing.add(object.resource.kind);
    isEntered ||= isOwnedBy(present, owner);
    const isShared = isOthers(present, owner, isOther);
    const repair = repairOf(object, present, isShared || isOwnedBy(present, owner));
    if (repair?.isReplaced && isShared) throw new TargetFailure(inUse);
    if (repair !== undefined) repairs.push(repair);
  }
  return { missing, repairs, isEntered: isEntered || repairs.length > 0 };
}

/** Makes in a target what is missing and brings back what was altered. @throws what requests to the target throw. */
export async function repair(session: TargetSession, repairs: readonly Repair[]): Promise<void> {
  for (const { wanted, present, isReplaced } of repairs) {
    if (isReplaced) await remove(session, wanted, present);
    await apply(session, wanted);
  }
}

/** Nothing for an object that is as it has to be and belongs to somebody. */
function repairOf(wanted: TargetObject, present: unknown, isOwned: boolean): Repair | undefined {
  const state = present === undefined ? 'altered' : compareToWanted(present, wanted);
  if (state === 'intact' && isOwned) return undefined;
  return { wanted, present, isReplaced: state === 'unrepairable' };
}

function isOthers(present: unknown, owner: TargetOwner, isOther: (uid: string) => boolean): boolean {
  const uid = ownerUIDOf(present);
  return uid !== undefined && uid !== owner.uid && isOther(uid);
}

/**
 * Takes away what was made for this owner, and nothing else. Resolves with whether something of it is kept because others
 * work with it. @throws what requests to the target throw.
 */
export async function removeAll(
  session: TargetSession,
  owner: TargetOwner,
  isUsed: (object: RemovedObject) => boolean,
): Promise<'clean' | 'kept'> {
  let isKept = false;
  for (const object of removalOrder) {
    const present = await find(session, object);
    if (!isOwnedBy(present, owner)) continue;
    if (isUsed(object)) isKept = true;
    else await remove(session, object, present);
  }
  return isKept ? 'kept' : 'clean';
}

function find({ client, limits }: TargetSession, { resource, key }: TargetObjectKey): Promise<unknown> {
  return client.get<KubeObject>(resource, key, limits()).catch(ignoreNotFound);
}

async function apply({ client, limits }: TargetSession, { resource, key, manifest }: TargetObject) {
  await client.apply(resource, key, manifest, { fieldManager, force: true, ...limits() });
}

/** Not what somebody has changed since: another one may have taken it over. */
async function remove(
  { client, limits }: TargetSession,
  { resource, key }: TargetObjectKey,
  present: unknown,
) {
  const options: DeleteOptions = { ...limits(), preconditions: versionOf(present) };
  await client.delete(resource, key, options).catch(ignoreNotFound);
}

/** As the target shows it, so of any shape. */
function versionOf(present: unknown) {
  const { uid, resourceVersion } = asObject(asObject(present)['metadata']);
  return defined({ uid: asText(uid), resourceVersion: asText(resourceVersion) });
}

const inUse = {
  reason: reasons.targetInUse,
  message:
    'Another VirtualClusterInstance points at the same target and gives its users another role: set the same spec.access.clusterRole, or keep one of them.',
};
