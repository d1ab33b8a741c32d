import { formatInstant, parseInstant } from '../../api/instant.ts';
import { asObject } from '../../api/json.ts';
import { annotations, labels, purposes, targetsNamespace } from '../../api/names.ts';
import { decodeEntry } from '../../credentials/credential-secret.ts';
import type { ObjectKey } from '../../kube/object.ts';
import { isBearerToken } from './admin-kubeconfig/admin-kube-config.ts';

/** The object that something in a target, or the Secret about it, was made for. */
export interface TargetOwner {
  readonly kind: 'VirtualClusterInstance' | 'Cluster';
  readonly uid: string;
}

/** A token of the account that impersonates users in a target. Instants are epoch milliseconds of our clock. */
export interface ImpersonatorToken {
  readonly token: string;
  readonly issued: number;
  readonly expires: number;
}

/** How the gateway reaches a target: its address, its certificate authority, and the impersonator's token. */
export interface TargetAccess extends ImpersonatorToken {
  readonly server: string;
  /** PEM. */
  readonly ca: string;
  /** Whether the target is the platform's own API server, which guards more. */
  readonly isPlatform: boolean;
}

/** Names of the data entries. */
const entries = { server: 'server', ca: 'ca.crt', token: 'token' } as const;

export const targetSecretKey = ({ uid }: Pick<TargetOwner, 'uid'>): Required<ObjectKey> => ({
  namespace: targetsNamespace,
  name: `latchkey-target-${uid}`,
});

/**
 * The Secret of a target before there is access to be kept in it. That it exists says that something may have been made in
 * the target.
 */
export function renderTargetMark(owner: TargetOwner) {
  const marks = {
    [labels.ownerKind]: owner.kind,
    [labels.ownerUID]: owner.uid,
    [labels.purpose]: purposes.target,
  };
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'Opaque',
    metadata: { ...targetSecretKey(owner), labels: marks },
  };
}

/** The Secret that the access to a target is kept in. */
export function renderTargetSecret(owner: TargetOwner, access: TargetAccess) {
  const encode = (text: string): string => Buffer.from(text).toString('base64');
  const mark = renderTargetMark(owner);
  const times = {
    [annotations.tokenIssued]: formatInstant(access.issued),
    [annotations.tokenExpires]: formatInstant(access.expires),
    [annotations.isPlatform]: access.isPlatform.toString(),
  };
  return {
    ...mark,
    metadata: { ...mark.metadata, annotations: times },
    data: {
      [entries.server]: encode(access.server),
      [entries.ca]: encode(access.ca),
      [entries.token]: encode(access.token),
    },
  };
}

/** Whether a Secret of that name was made for this owner. */
export function isTargetSecretOf(secret: unknown, { kind, uid }: TargetOwner): boolean {
  const { type, metadata } = asObject(secret);
  const marks = asObject(asObject(metadata)['labels']);
  return (
    type === 'Opaque' &&
    marks[labels.ownerUID] === uid &&
    marks[labels.ownerKind] === kind &&
    marks[labels.purpose] === purposes.target
  );
}

/** The access in a Secret of ours; undefined when the Secret was altered and cannot be used. */
export function parseTargetAccess(secret: unknown): TargetAccess | undefined {
  const { metadata, data: stored } = asObject(secret);
  const data = asObject(stored);
  const marks = asObject(asObject(metadata)['annotations']);
  const server = decodeEntry(data, entries.server);
  const ca = decodeEntry(data, entries.ca);
  const token = decodeEntry(data, entries.token);
  const issued = parseInstant(marks[annotations.tokenIssued]);
  const expires = parseInstant(marks[annotations.tokenExpires]);
  if (server === undefined || ca === undefined) return undefined;
  if (token === undefined || !isBearerToken(token)) return undefined;
  if (issued === undefined || expires === undefined || Object.keys(data).length > 3) return undefined;
  // A Secret of the release before says nothing about it.
  const isPlatform = marks[annotations.isPlatform] !== 'false';
  return { server, ca, token, issued, expires, isPlatform };
}
