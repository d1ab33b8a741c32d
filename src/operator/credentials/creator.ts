import { reasons } from '../../api/reasons.ts';
import { type AccessKeyLookup, resolveAncestors } from '../../credentials/ancestors.ts';
import type { CredentialRecord } from '../../credentials/record.ts';
import { isLimited } from '../../platform/limited-credential.ts';
import { isScoped } from '../../scope/effective-scope.ts';
import type { CredentialRefusal } from './desired-status.ts';

export interface CreatorInput {
  readonly record: CredentialRecord;
  /** Access keys by name. */
  readonly lookup: AccessKeyLookup;
  /** The credential of any kind with this UID. */
  readonly credentialByUID: (uid: string) => CredentialRecord | undefined;
}

/** The credential that the request which created an object came with. */
export type Creator =
  /** The request came without one. */
  | { readonly kind: 'none' }
  | { readonly kind: 'gone' }
  /** One of the keys above it is gone or was never confirmed, or has a problem, or it has one itself. */
  | { readonly kind: 'broken' }
  /** `limited`: it has an end, a scope or a parent. `scoped`: it has a scope, or one of the keys above it has. */
  | {
      readonly kind: 'known';
      readonly credential: CredentialRecord;
      readonly limited: boolean;
      readonly scoped: boolean;
    };

export function creatorOf({ record, lookup, credentialByUID }: CreatorInput): Creator {
  if (record.createdWith === undefined) return { kind: 'none' };
  const [name, uid = ''] = record.createdWith.split('/');
  const credential = credentialByUID(uid);
  if (credential === undefined || credential.name !== name) return { kind: 'gone' };
  const found = resolveAncestors(credential, lookup, { firstIssue: true });
  if ('reason' in found) return { kind: 'broken' };
  const chain = [credential, ...found.ancestors];
  // It may have taken off its own scope, or that of a key above it.
  if (chain.some(({ problem }) => problem !== undefined)) return { kind: 'broken' };
  return { kind: 'known', credential, limited: isLimited(credential), scoped: chain.some(isScoped) };
}

/**
 * A credential with an end, a scope or a parent must not make one without: what it makes belongs below it. That is judged before the
 * first issue, while the creator is there to be asked. A client certificate is judged more strictly.
 */
export function creatorProblem(input: CreatorInput): CredentialRefusal | undefined {
  const { record } = input;
  if (wasIssued(record) || record.kubeConfig?.clientCert === true) return undefined;
  const creator = creatorOf(input);
  if (creator.kind === 'none') return undefined;
  if (creator.kind !== 'known') return unknown;
  return isUnderCreator(creator, record) ? undefined : required;
}

/** Whether it ends with its creator, where that is limited. */
export const isUnderCreator = (
  { limited, credential }: Extract<Creator, { kind: 'known' }>,
  record: CredentialRecord,
): boolean => !limited || isParent(credential, record);

/** No serial of a key is ever used twice. */
export const wasIssued = ({ kind, status }: CredentialRecord): boolean =>
  kind === 'OwnedAccessKey' ? status.serial > 0 : status.fingerprint !== undefined;

const isParent = (creator: CredentialRecord, { accessKey }: CredentialRecord): boolean =>
  creator.kind === 'OwnedAccessKey' && creator.name === accessKey;

const unknown: CredentialRefusal = {
  reason: reasons.requesterUnknown,
  message:
    'The credential that created this object is gone or not valid, so its limits are not known: create this object again.',
  final: true,
};

export const required: CredentialRefusal = {
  reason: reasons.accessKeyRequired,
  message:
    'The credential that created this object has an end, a scope or a parent, so what it makes belongs below it: create this object again with spec.accessKey naming that access key. Or log in again, or ask an administrator of the platform.',
  final: true,
};
