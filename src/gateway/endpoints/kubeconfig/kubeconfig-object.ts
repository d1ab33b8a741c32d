import { type Condition, conditionTypes, findCondition } from '../../../api/conditions.ts';
import { asObject, asText, defined, isSet, type JsonObject } from '../../../api/json.ts';
import { apiVersion } from '../../../api/names.ts';
import { reasons } from '../../../api/reasons.ts';
import { virtualClusterInstances } from '../../../api/resources.ts';
import { parseConditions } from '../../../credentials/confirmation.ts';
import type { KubeObject } from '../../../kube/object.ts';
import type { VirtualClusterInstanceRecord } from '../../../platform/targets/target-record.ts';
import type { Verdict } from '../../index/verdict.ts';
import { type ErrorAnswer, errorAnswer } from '../../server/error-answer.ts';
import { codeByReason, refusalIn, refusalOf } from '../own/await-issued.ts';

/** The instance of the path. */
export interface InstanceKey {
  readonly namespace: string;
  readonly name: string;
}

interface Refused {
  readonly refusal: ErrorAnswer;
}

export const kubeConfigKind = 'VirtualClusterInstanceKubeConfig';

/** Why what was sent is for another instance than that of the path, or asks for what only an object of one's own can have. */
export function placeProblem(
  { metadata, spec }: JsonObject,
  { namespace, name }: InstanceKey,
): string | undefined {
  const { namespace: sentNamespace, name: sentName } = asObject(metadata);
  const { virtualClusterInstance, secretRef, renewBefore } = asObject(spec);
  if (differs(sentNamespace, namespace)) return `metadata.namespace must be ${namespace}, as in the path`;
  if (differs(sentName, name)) return `metadata.name must be ${name}, as in the path, or left out`;
  if (differs(virtualClusterInstance, name))
    return `spec.virtualClusterInstance must be ${name}, as in the path, or left out`;
  if (isSet(secretRef) || isSet(renewBefore))
    return `spec.secretRef and spec.renewBefore need an object that you keep: make a ${kubeConfigKind} yourself`;
  return undefined;
}

const differs = (sent: unknown, expected: string): boolean => isSet(sent) && sent !== expected;

/**
 * The `spec.accessKey` of the object. What a limited credential makes must be below it, and only an access key can have something
 * below it.
 */
export function parentOf(
  { spec }: JsonObject,
  { record: { kind, name }, isLimited }: Pick<Verdict, 'record' | 'isLimited'>,
): { readonly accessKey: unknown } | Refused {
  const { accessKey } = asObject(spec);
  if (!isLimited) return { accessKey };
  if (kind !== 'OwnedAccessKey') return { refusal: notAParent };
  return differs(accessKey, name) ? { refusal: otherParent } : { accessKey: name };
}

const notAParent = errorAnswer('ERR_KUBECONFIG_FORBIDDEN', {
  reason: reasons.accessKeyRequired,
  problem: 'a limited credential makes children of its own only, and a kubeconfig or a token has none',
});
const otherParent = errorAnswer('ERR_KUBECONFIG_FORBIDDEN', {
  reason: reasons.accessKeyRequired,
  problem: 'a limited access key makes children of its own only: leave spec.accessKey out',
});

interface StoredParts extends InstanceKey {
  /** Of the object itself. */
  readonly objectName: string;
  readonly instanceUID: string;
  readonly accessKey: unknown;
}

export interface StoredObject extends JsonObject {
  readonly metadata: {
    readonly namespace: string;
    readonly name: string;
    readonly ownerReferences: readonly object[];
  };
}

/** The object that stands for the request. It goes with its instance. Annotations of the client could make it one that stays. */
export function toStoredObject(
  { spec }: JsonObject,
  { namespace, name, objectName, instanceUID, accessKey }: StoredParts,
): StoredObject {
  const owner = { apiVersion, kind: virtualClusterInstances.kind, name, uid: instanceUID };
  return {
    apiVersion,
    kind: kubeConfigKind,
    metadata: { namespace, name: objectName, ownerReferences: [owner] },
    spec: defined({ ...asObject(spec), virtualClusterInstance: name, accessKey }),
  };
}

/** Of letters that make no words, and room for them in a name of 253. */
export function objectNameFor({ name }: InstanceKey, random: string): string {
  return `${name.slice(0, 253 - 1 - random.length).replace(/[-.]+$/, '')}-${random}`;
}

/** Builds the client's answer: its own object, with the kubeconfig; none for a dry run. */
export function toAnswer(
  { metadata, spec }: JsonObject,
  { namespace, name }: InstanceKey,
  { kubeConfig, created }: { readonly kubeConfig?: string | undefined; readonly created: unknown },
): JsonObject {
  const { labels, annotations } = asObject(metadata);
  return {
    kind: kubeConfigKind,
    apiVersion,
    metadata: defined({ name, namespace, creationTimestamp: created, labels, annotations }),
    spec: asObject(spec),
    status: defined({ kubeConfig }),
  };
}

/** Why nothing will be issued for an instance before a person corrects it. */
export function stalledAnswer({
  conditions,
  generation,
}: Pick<VirtualClusterInstanceRecord, 'conditions' | 'generation'>): ErrorAnswer | undefined {
  const stalled = findCondition(conditions, conditionTypes.stalled);
  if (stalled?.status !== 'True' || stalled.observedGeneration !== generation) return undefined;
  const message =
    'The virtual cluster instance cannot be used before someone corrects it: its conditions say what.';
  return refusalOf('ERR_KUBECONFIG_INVALID', { reason: stalled.reason, message });
}

export type Progress =
  | { readonly state: 'issued'; readonly kubeConfig: string }
  | { readonly state: 'refused'; readonly refusal: ErrorAnswer }
  /** With what is in the way, where the operator has said so. */
  | { readonly state: 'waiting'; readonly ready?: Condition };

/** How far the operator is with an object. */
export function progressOf(object: KubeObject): Progress {
  const status = asObject((object as { readonly status?: unknown }).status);
  const ready = findCondition(parseConditions(status['conditions']), conditionTypes.ready);
  if (ready === undefined || ready.observedGeneration !== object.metadata.generation)
    return { state: 'waiting' };
  const kubeConfig = asText(status['kubeConfig']);
  if (ready.status === 'True' && kubeConfig !== undefined) return { state: 'issued', kubeConfig };
  if (refusalIn(object) === undefined) return { state: 'waiting', ready };
  return {
    state: 'refused',
    refusal: refusalOf(codeByReason.get(ready.reason) ?? 'ERR_KUBECONFIG_INVALID', ready),
  };
}
