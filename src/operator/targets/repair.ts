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
  removalOrder,
  type TargetObject,
  uidOf,
} from './target-objects.ts';
import type { TargetSession } from './target-session.ts';

type Place = Pick<TargetObject, 'resource' | 'key'>;

/**
 * Makes in a target what is missing and brings back what was altered; reads first, so that an intact target sees no
 * write. Several objects of this platform may share a target as long as they want the same in it: `isOther` knows
 * their UIDs, and what is labelled for one of them is left to it. Resolves with the kinds of what was missing.
 * @throws TargetFailure when they do not want the same; what requests to the target throw.
 */
export async function repair(
  session: TargetSession,
  owner: TargetOwner,
  wanted: readonly TargetObject[],
  isOther: (uid: string) => boolean,
): Promise<ReadonlySet<string>> {
  const missing = new Set<string>();
  for (const object of wanted) {
    const present = await find(session, object);
    if (present === undefined) missing.add(object.resource.kind);
    const state = present === undefined ? 'altered' : compareToWanted(present, object);
    const isShared = isOthers(present, owner, isOther);
    if (state === 'intact' && (isShared || isOwnedBy(present, owner))) continue;
    if (state === 'unrepairable') await makeRoom(session, object, present, isShared);
    await apply(session, object);
  }
  return missing;
}

async function makeRoom(session: TargetSession, place: Place, present: unknown, isShared: boolean) {
  if (isShared) throw new TargetFailure(inUse);
  await remove(session, place, present);
}

function isOthers(present: unknown, owner: TargetOwner, isOther: (uid: string) => boolean): boolean {
  const uid = ownerUIDOf(present);
  return uid !== undefined && uid !== owner.uid && isOther(uid);
}

/** Takes away what was made for this owner, and nothing else. */
export async function removeAll(session: TargetSession, owner: TargetOwner): Promise<void> {
  for (const place of removalOrder) {
    const present = await find(session, place);
    if (isOwnedBy(present, owner)) await remove(session, place, present);
  }
}

function find({ client, limits }: TargetSession, { resource, key }: Place): Promise<unknown> {
  return client.get<KubeObject>(resource, key, limits()).catch(ignoreNotFound);
}

async function apply({ client, limits }: TargetSession, { resource, key, manifest }: TargetObject) {
  await client.apply(resource, key, manifest, { fieldManager, force: true, ...limits() });
}

async function remove({ client, limits }: TargetSession, { resource, key }: Place, present: unknown) {
  const uid = uidOf(present);
  const options: DeleteOptions = { ...limits(), ...(uid === undefined ? {} : { preconditions: { uid } }) };
  await client.delete(resource, key, options).catch(ignoreNotFound);
}

const inUse = {
  reason: reasons.targetInUse,
  message:
    'Another VirtualClusterInstance points at the same target and gives its users another role: set the same spec.access.clusterRole, or keep one of them.',
};
