import type { CredentialKind } from '../api/credential-kinds.ts';
import { defined } from '../api/json.ts';
import { keyIDOf } from '../credentials/keys/credential-hash.ts';
import { annotationText } from './annotations.ts';
import { type Annotations, type AuditUser, type ConstantText, userText } from './line.ts';
import { inOnePiece } from './text.ts';

/** A credential as lines name it; the records of operator and gateway fit. */
export interface AuditedCredential {
  readonly kind: CredentialKind;
  /** `name`, or `namespace/name`. */
  readonly key: string;
  readonly uid: string;
  readonly status: { readonly credentialHash?: string | undefined };
}

const keyID = ({ status: { credentialHash } }: AuditedCredential): string | undefined =>
  credentialHash && keyIDOf(credentialHash);

const namesOf = ({ kind, key, uid }: AuditedCredential) => ({
  credentialKind: kind,
  credential: key,
  credentialUID: uid,
});

/** `ancestors`: nearest first. */
function credentialAnnotations(
  credential: AuditedCredential,
  ancestors: readonly AuditedCredential[],
): Annotations {
  const root = ancestors.at(-1) ?? credential;
  return defined({
    ...namesOf(credential),
    keyID: keyID(credential),
    rootKey: root.key,
    rootKeyUID: root.uid,
    rootKeyID: keyID(root),
    chain: [credential, ...ancestors].map(({ uid }) => uid).join(' '),
  });
}

/** `hash`: of the bearer that was sent, which may be the one before the present one. */
export function constantText(
  user: AuditUser,
  credential: AuditedCredential,
  ancestors: readonly AuditedCredential[],
  hash?: string,
): ConstantText {
  const annotations = credentialAnnotations(credential, ancestors);
  const sent = hash === undefined ? annotations : { ...annotations, keyID: keyIDOf(hash) };
  return { user: inOnePiece(userText(user)), credential: inOnePiece(annotationText(sent, false)) };
}

/** Who sends no credential that works, under the names that Kubernetes has for them. */
const strangerUser = { username: 'system:anonymous', groups: ['system:unauthenticated'] };

export const stranger: ConstantText = { user: userText(strangerUser), credential: '' };

/** Of a request with a credential that is known and does not work, or of one that is not known: then with what it would be called. */
export const strangerWith = (hash: string, credential: AuditedCredential | undefined): ConstantText =>
  credential === undefined
    ? { ...stranger, credential: annotationText({ keyID: keyIDOf(hash) }, false) }
    : { ...stranger, credential: annotationText({ ...namesOf(credential), keyID: keyIDOf(hash) }, false) };
