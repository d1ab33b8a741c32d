import { labels } from '../../api/names.ts';
import { withoutUnusedVariables } from '../../api/policy-spec.ts';
import type { StoredRecord } from '../../kube/cache/store.ts';
import { type KubeObject, keyOf } from '../../kube/object.ts';
import { type PolicyKind, policyVersion, shippedPolicies } from './generated/shipped-policies.ts';
import { specDifference } from './spec-difference.ts';

/**
 * How a policy or binding on the API server relates to what is shipped: `newer` belongs to the successor of this
 * operator, `unknown` is one of ours that this release does not have.
 */
export type PolicyState = 'shipped' | 'newer' | 'older' | 'edited' | 'unknown';

export interface PolicyRecord extends StoredRecord {
  readonly kind: PolicyKind;
  readonly state: PolicyState;
  /** Grows with each change of the spec. */
  readonly generation: number;
  /** The field that is not as shipped; only where the state is `edited`. */
  readonly edited?: string;
  /** By the clock of the API server, epoch milliseconds. */
  readonly createdAt: number;
  /** The last write that was not to its status. */
  readonly writtenAt: number;
}

const shippedSpecs = new Map(shippedPolicies.map(({ kind, name, spec }) => [`${kind}/${name}`, spec]));
/** Latchkey makes policies of this name for a short time, where it revokes certificates. */
const temporaryName = /^latchkey-[0-9a-f]{8}-[0-9a-f]{4}-/;

/** It is labelled with a version, or named like ours. */
export function isOurs({
  metadata: { name, labels: { [labels.policyVersion]: label } = {} },
}: KubeObject): boolean {
  return (label !== undefined || name.startsWith('latchkey-')) && !temporaryName.test(name);
}

/** Undefined for what is not ours. */
export function toPolicyRecord(object: KubeObject, kind: PolicyKind): PolicyRecord | undefined {
  if (!isOurs(object)) return undefined;
  const { metadata } = object;
  const label = metadata.labels?.[labels.policyVersion];
  const { spec } = object as { readonly spec?: unknown };
  return {
    kind,
    key: keyOf(metadata),
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    createdAt: Date.parse(metadata.creationTimestamp),
    writtenAt: lastWrite(object),
    generation: metadata.generation ?? 0,
    ...stateOf(`${kind}/${metadata.name}`, label, spec),
  };
}

function stateOf(
  id: string,
  label: string | undefined,
  spec: unknown,
): Pick<PolicyRecord, 'state' | 'edited'> {
  const shipped = shippedSpecs.get(id);
  // A policy that no release has labelled may hold anything.
  if (label === undefined || !/^\d{1,9}$/.test(label))
    return shipped === undefined ? { state: 'unknown' } : { state: 'edited', edited: 'metadata.labels' };
  const version = Number(label);
  if (version > policyVersion) return { state: 'newer' };
  if (shipped === undefined) return { state: 'unknown' };
  if (version !== policyVersion) return { state: 'older' };
  const edited = specDifference(withoutUnusedVariables(shipped), withoutUnusedVariables(spec));
  return edited === undefined ? { state: 'shipped' } : { state: 'edited', edited };
}

/** The controller manager writes the status of a policy some time after each change of its spec. */
function lastWrite({ metadata }: KubeObject): number {
  const writes = (metadata.managedFields ?? []).filter(({ subresource }) => subresource === undefined);
  const times = writes.map(({ time }) => Date.parse(time ?? ''));
  return Math.max(Date.parse(metadata.creationTimestamp), ...times.filter((time) => !Number.isNaN(time)));
}
