import { formatInstant, parseInstant } from '../../api/instant.ts';
import { asObject } from '../../api/json.ts';
import { annotations, labels, purposes, systemNamespace } from '../../api/names.ts';
import { contentOf } from '../../credentials/credential-secret.ts';
import { isBearerToken } from '../../kube/admin-kubeconfig/admin-kube-config.ts';
import type { ObjectKey } from '../../kube/object.ts';
import type { ImpersonatorToken } from './impersonator-token.ts';
import type { TargetOwner } from './target-owner.ts';

/** How the gateway reaches a target: where it is, whom to trust, and the impersonator's token. */
export interface TargetAccess extends ImpersonatorToken {
  readonly server: string;
  /** PEM. */
  readonly ca: string;
}

/** Names of the data entries. */
const entries = { server: 'server', ca: 'ca.crt', token: 'token' } as const;

export const targetSecretKey = ({ uid }: Pick<TargetOwner, 'uid'>): Required<ObjectKey> => ({
  namespace: systemNamespace,
  name: `latchkey-target-${uid}`,
});

/** The Secret that the access to a target is kept in. */
export function renderTargetSecret(owner: TargetOwner, access: TargetAccess) {
  const encode = (text: string): string => Buffer.from(text).toString('base64');
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'Opaque',
    metadata: {
      ...targetSecretKey(owner),
      labels: {
        [labels.ownerKind]: owner.kind,
        [labels.ownerUID]: owner.uid,
        [labels.purpose]: purposes.target,
      },
      annotations: {
        [annotations.tokenIssued]: formatInstant(access.issued),
        [annotations.tokenExpires]: formatInstant(access.expires),
      },
    },
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

/** What stands in a Secret of ours; undefined when it was altered so that nothing can be made of it. */
export function accessIn(secret: unknown): TargetAccess | undefined {
  const { metadata, data: stored } = asObject(secret);
  const data = asObject(stored);
  const marks = asObject(asObject(metadata)['annotations']);
  const server = contentOf(data, entries.server);
  const ca = contentOf(data, entries.ca);
  const token = contentOf(data, entries.token);
  const issued = parseInstant(marks[annotations.tokenIssued]);
  const expires = parseInstant(marks[annotations.tokenExpires]);
  if (server === undefined || ca === undefined) return undefined;
  if (token === undefined || !isBearerToken(token)) return undefined;
  if (issued === undefined || expires === undefined || Object.keys(data).length > 3) return undefined;
  return { server, ca, token, issued, expires };
}

/**
 * Whether the access may be tried at a target: it is for this very server and authority, so that the token of one
 * target is never shown to another, and less than half of its life is gone.
 */
export function isCurrent(access: TargetAccess, server: URL, ca: string, now: number): boolean {
  const renewAt = access.issued + (access.expires - access.issued) / 2;
  return access.server === server.href && access.ca === ca && now < renewAt;
}
