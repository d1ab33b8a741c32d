import { defined } from '../../api/json.ts';
import { reasons } from '../../api/reasons.ts';
import type { Requester } from '../../credentials/record.ts';
import type { AccessQuestion } from '../../platform/access-review.ts';
import type { TargetProblem } from '../../platform/targets/target-problem.ts';
import type { TargetRecord } from '../../platform/targets/target-record.ts';
import {
  isSameReference,
  type TargetReference,
  wasConnectedBefore,
} from '../../platform/targets/target-reference.ts';
import { isNoted, unguarded } from './unguarded-targets.ts';

/** The rights of one user that the operator asks about before it uses a reference of the spec. */
export interface ReferenceReview {
  readonly asker: Requester;
  readonly questions: readonly AccessQuestion[];
}

export interface ReviewInput {
  readonly record: TargetRecord;
  /** UIDs of what the spec names, where they are known. */
  readonly uids: ReferenceUIDs;
  /** Whether something of a connection is there. */
  readonly wasEntered: boolean;
  /** Since when the admission policies say who asks, epoch milliseconds; 0 while that is not known. */
  readonly trustedSince: number;
  /** Whether it was made or changed in a time without policies. */
  readonly isUnguarded: boolean;
}

export interface ReferenceUIDs {
  /** Of the namespace of the Secret. */
  readonly namespace?: string;
  /** Of the Cluster. */
  readonly cluster?: string;
}

export type ReferenceDecision =
  /** It may be used, and this is to stand in status. */
  | { readonly kind: 'confirmed'; readonly reference: TargetReference }
  | { readonly kind: 'ask'; readonly reviews: readonly ReferenceReview[] }
  | { readonly kind: 'refused'; readonly problem: TargetProblem };

/**
 * Whether the operator may use what the spec names. The policy latchkey-target-secrets has asked already, and may have been
 * away for a moment. What is confirmed is not asked about again: the one who asked may have left since.
 */
export function decideReference(input: ReviewInput): ReferenceDecision {
  const { record, uids } = input;
  const questions = questionsOf(record.reference);
  const known = { ...confirmedUIDs(record), ...uids };
  const isInUse = isConfirmed(record, uids) || wasUsedBefore(input);
  if (isInUse || questions.length === 0)
    return { kind: 'confirmed', reference: referenceWith(record.reference, known) };
  if (isUnrecorded(input)) return { kind: 'refused', problem: unguarded };
  const askers = [record.requester, record.changedBy].filter((asker) => asker !== undefined);
  if (askers.length === 0) return unknown;
  return { kind: 'ask', reviews: askers.map((asker) => ({ asker, questions })) };
}

/** The spec names what is confirmed, if not the same objects: a name can be made again by someone else. */
const isNamed = ({ reference, confirmed }: TargetRecord): boolean =>
  confirmed !== undefined && isSameReference(reference, confirmed);

/** A namespace or Cluster that is not there now says nothing. */
function isConfirmed(record: TargetRecord, { namespace, cluster }: ReferenceUIDs): boolean {
  const confirmed = confirmedUIDs(record);
  return (
    isNamed(record) &&
    (namespace === undefined || namespace === confirmed.namespace) &&
    (cluster === undefined || cluster === confirmed.cluster)
  );
}

const confirmedUIDs = ({ confirmed }: TargetRecord): ReferenceUIDs =>
  defined({ namespace: confirmed?.secretRef?.namespaceUID, cluster: confirmed?.clusterRef?.uid });

/** An earlier release asked no one. What it has connected goes on, also where the target is away at this moment. */
function wasUsedBefore({ record, wasEntered }: ReviewInput): boolean {
  const isPresentSpec = record.observedGeneration === record.generation;
  return wasConnectedBefore(record) || (record.confirmed === undefined && wasEntered && isPresentSpec);
}

/** No one knows who asked for what it names. */
function isUnrecorded({ record, trustedSince, isUnguarded }: ReviewInput): boolean {
  return isUnguarded || isNoted(record) || (record.created < trustedSince && !isNamed(record));
}

/** The reference for status. */
export function referenceWith(
  { secretRef, server, clusterRef }: TargetReference,
  { namespace, cluster }: ReferenceUIDs,
): TargetReference {
  return defined({
    secretRef: secretRef && defined({ ...secretRef, namespaceUID: namespace }),
    server,
    clusterRef: clusterRef && defined({ ...clusterRef, uid: cluster }),
  });
}

/** The same as the policy latchkey-target-secrets asks. */
function questionsOf({ secretRef, clusterRef }: TargetReference): readonly AccessQuestion[] {
  const cluster = clusterRef?.cluster;
  return [
    ...(secretRef === undefined ? [] : [mayGet(secretRef)]),
    ...(cluster === undefined ? [] : [{ verb: 'bind-namespace', resource: 'clusters', name: cluster }]),
  ];
}

const mayGet = ({ namespace, name }: NonNullable<TargetReference['secretRef']>): AccessQuestion => ({
  ...{ group: '', verb: 'get', resource: 'secrets' },
  ...{ namespace, name },
});

const unknown: ReferenceDecision = {
  kind: 'refused',
  problem: {
    reason: reasons.requesterUnknown,
    message:
      'No annotation says who asked for this object, so Latchkey uses nothing that it names: delete it and create it again.',
  },
};
