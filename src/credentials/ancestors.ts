import { hash } from 'node:crypto';
import { canonicalJson } from '../api/canonical-json.ts';
import { type Reason, reasons } from '../api/reasons.ts';
import type { CredentialRecord, LiveRecord } from './record.ts';

/** Finds the present OwnedAccessKey of a name. */
export type AccessKeyLookup<R extends LiveRecord = CredentialRecord> = (name: string) => R | undefined;

/** Levels of parents that a credential may have. */
export const maxAncestors = 8;

export type AncestorsResult<R extends LiveRecord = CredentialRecord> =
  | { readonly ancestors: readonly R[] }
  | { readonly reason: Reason; readonly accessKey: string };

/**
 * The parents of a credential, nearest first. Each is found by name and must still be the object whose UID its child pinned at its
 * first issue. With `firstIssue` the record itself may be without a pin; its ancestors never may.
 */
export function resolveAncestors<R extends LiveRecord>(
  record: NoInfer<R>,
  lookup: AccessKeyLookup<R>,
  options: { readonly firstIssue?: boolean } = {},
): AncestorsResult<R> {
  const found = findAncestors(record, lookup, options.firstIssue === true);
  // Of the keys of a loop none can ever be confirmed, and "not confirmed yet" would hide why.
  return 'reason' in found && found.reason === reasons.unconfirmed && hasTooManyAncestors(record, lookup)
    ? { ...found, reason: reasons.accessKeyChainInvalid }
    : found;
}

function findAncestors<R extends LiveRecord>(
  record: NoInfer<R>,
  lookup: AccessKeyLookup<R>,
  firstIssue: boolean,
): AncestorsResult<R> {
  const ancestors: R[] = [];
  let child = record;
  while (child.accessKey !== undefined) {
    const accessKey = child.accessKey;
    const parent = lookup(accessKey);
    const reason = linkProblem(child, parent, child === record && firstIssue);
    if (reason !== undefined || parent === undefined)
      return { reason: reason ?? reasons.accessKeyGone, accessKey };
    const known = parent.uid === record.uid || ancestors.some(({ uid }) => uid === parent.uid);
    if (known || ancestors.length === maxAncestors)
      return { reason: reasons.accessKeyChainInvalid, accessKey };
    ancestors.push(parent);
    child = parent;
  }
  return { ancestors };
}

/** By names alone, whatever was pinned. A loop has endlessly many. */
function hasTooManyAncestors<R extends LiveRecord>(record: NoInfer<R>, lookup: AccessKeyLookup<R>): boolean {
  let child: R | undefined = record;
  for (let level = 0; level < maxAncestors && child?.accessKey !== undefined; level += 1) {
    child = lookup(child.accessKey);
  }
  return child?.accessKey !== undefined;
}

function linkProblem(child: LiveRecord, parent: LiveRecord | undefined, mayPin: boolean): Reason | undefined {
  const pinned = child.status.accessKeyUID;
  if (pinned === undefined && !mayPin) return reasons.unconfirmed;
  if (parent === undefined) return pinned === undefined ? reasons.accessKeyNotFound : reasons.accessKeyGone;
  if (parent.kind !== 'OwnedAccessKey') return reasons.accessKeyChainInvalid;
  return pinned === undefined || pinned === parent.uid ? undefined : reasons.accessKeyGone;
}

/**
 * `status.chain` of a credential that carries the scopes of its day: a hash over the UIDs and fingerprints of all ancestors, by the
 * present algorithm first, then by the one before, so that an upgrade does not end every token. Empty without ancestors.
 */
export function chainsOf(ancestors: readonly LiveRecord[]): readonly string[] {
  const known = Math.min(...ancestors.map(({ fingerprints }) => fingerprints.length));
  if (!Number.isFinite(known)) return [];
  return Array.from({ length: known }, (_, algorithm) =>
    hash(
      'sha256',
      canonicalJson(ancestors.map(({ uid, fingerprints }) => [uid, fingerprints[algorithm]])),
      'hex',
    ),
  );
}

/** The chain to write into `status.chain`; `undefined` without ancestors. */
export function chainOf(ancestors: readonly LiveRecord[]): string | undefined {
  return chainsOf(ancestors)[0];
}
