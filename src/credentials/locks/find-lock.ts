import type { Identity } from '../identity.ts';
import type { ExchangedFrom, LiveRecord } from '../record.ts';
import { resolveIdentity } from '../resolve-identity.ts';
import { isInForce, type LockRecord, type SelectorName } from './lock-record.ts';

/** All locks with this selector and value, in force or not. Those of one subject are asked for with it. */
export type LockLookup = (selector: SelectorName, value: string, subject?: string) => readonly LockRecord[];

export interface LockQuestion {
  /** Epoch milliseconds. */
  readonly now: number;
  /** SHA-256 of what was presented. Absent: the present credential is meant. */
  readonly hash?: string;
}

/**
 * The locks that stop a credential, itself or one above it: nothing that a stopped credential made may outlive it. What selects a
 * key selects what is below it too, so a time (`issuedBefore`) is compared with each credential of the chain.
 */
export function findLocks(
  record: LiveRecord,
  ancestors: readonly LiveRecord[],
  lookup: LockLookup,
  { now, hash }: LockQuestion,
): readonly LockRecord[] {
  const chain = [record, ...ancestors];
  const selected = lookup('all', '').filter((lock) => isInForce(lock, now));
  const found = new Set<LockRecord>();
  for (let level = chain.length - 1; level >= 0; level -= 1) {
    const member = chain[level] as LiveRecord;
    const presented = presentedOf(member, level === 0 ? hash : undefined);
    const selecting = selectorsOf(member, identityOf(member, chain.slice(level + 1)), presented).flatMap(
      (selection) => select(selection, lookup),
    );
    selected.push(...selecting.filter((lock) => isInForce(lock, now)));
    for (const lock of selected)
      if (presented.begun < (lock.issuedBefore ?? Number.POSITIVE_INFINITY)) found.add(lock);
  }
  return [...found];
}

/** Whether another credential for the same object would be stopped too. Only another key that signs, or hash, escapes a lock of these. */
export const concernsObject = ({ selector, issuedBefore }: LockRecord, now: number): boolean =>
  selector !== 'credentialHash' &&
  selector !== 'signingKeyID' &&
  (issuedBefore === undefined || now < issuedBefore);

interface Presented {
  readonly hashes: readonly (string | undefined)[];
  readonly signingKeyID: string | undefined;
  /** When its life began, epoch milliseconds. */
  readonly begun: number;
}

/** A predecessor that an earlier release wrote about has no beginning, so it counts as old. */
function presentedOf({ created, status, specKey }: LiveRecord, hash: string | undefined): Presented {
  const { previous, credentialHash, signingKeyID, issuedAt } = status;
  if (hash !== undefined && hash !== credentialHash && hash === previous?.credentialHash)
    return {
      hashes: [hash],
      signingKeyID: previous.signingKeyID,
      begun: previous.issuedAt ?? Number.NEGATIVE_INFINITY,
    };
  return {
    hashes: hash === undefined ? [credentialHash, specKey?.hash] : [hash],
    signingKeyID,
    begun: issuedAt ?? created,
  };
}

interface Selection {
  readonly by: SelectorName;
  readonly value: string | undefined;
  readonly subject?: string | undefined;
  readonly isMeant?: (lock: LockRecord) => boolean;
}

const always = () => true;

const select = (
  { by, value, subject, isMeant = always }: Selection,
  lookup: LockLookup,
): readonly LockRecord[] => (value === undefined ? [] : lookup(by, value, subject).filter(isMeant));

type Named = Pick<LiveRecord, 'kind' | 'name' | 'uid' | 'requester' | 'createdWith' | 'exchange'>;

/** Everything that a lock can call this credential by. What an unlimited key made is not below it, and stops with it all the same. */
function selectorsOf(
  { kind, name, uid, requester, createdWith, exchange }: Named,
  identity: Identity | undefined,
  { hashes, signingKeyID }: Pick<Presented, 'hashes' | 'signingKeyID'>,
): readonly Selection[] {
  const { issuer, subject } = exchange?.token ?? {};
  const [maker, makerUID] = createdWith?.split('/') ?? [];
  return [
    { by: 'user', value: identity?.user },
    ...(identity?.groups ?? []).map((value): Selection => ({ by: 'group', value })),
    { by: 'requester', value: requester?.user },
    ...hashes.map((value): Selection => ({ by: 'credentialHash', value })),
    { by: 'signingKeyID', value: signingKeyID },
    { by: 'issuer', value: issuer, isMeant: isOf(undefined) },
    { by: 'issuer', value: subject && issuer, subject, isMeant: isOf(subject) },
    { by: 'accessKey', value: kind === 'OwnedAccessKey' ? name : undefined, isMeant: isKey(uid) },
    { by: 'accessKey', value: maker, isMeant: isKey(makerUID) },
  ];
}

const isOf =
  (wanted: string | undefined) =>
  ({ subject }: LockRecord): boolean =>
    subject === wanted;

const isKey =
  (uid: string | undefined) =>
  ({ keyUID }: LockRecord): boolean =>
    keyUID === undefined || keyUID === uid;

/** The maker of a key to be, and the token that it would come of. */
export interface KeyToBe {
  readonly identity: Identity;
  readonly exchanged: ExchangedFrom | undefined;
}

/** A lock that would stop a key as soon as it is made. */
export function findLockAhead(
  { identity, exchanged }: KeyToBe,
  lookup: LockLookup,
  now: number,
): LockRecord | undefined {
  const { user, groups } = identity;
  const named: Named = {
    kind: 'OwnedAccessKey',
    name: '',
    uid: '',
    requester: { user, groups },
    ...(exchanged && { exchange: { token: exchanged } }),
  };
  const selecting = selectorsOf(named, identity, { hashes: [], signingKeyID: undefined }).flatMap(
    (selection) => select(selection, lookup),
  );
  return [...lookup('all', ''), ...selecting].find(
    (lock) => isInForce(lock, now) && now < (lock.issuedBefore ?? Number.POSITIVE_INFINITY),
  );
}

function identityOf(member: LiveRecord, ancestors: readonly LiveRecord[]): Identity | undefined {
  const resolved = resolveIdentity(member, ancestors);
  return 'identity' in resolved ? resolved.identity : undefined;
}
