import { asObject, asText, type JsonObject } from '../../api/json.ts';
import { annotations } from '../../api/names.ts';
import { keyIDOf } from '../../credentials/keys/credential-hash.ts';
import type { LiveRecord } from '../../credentials/record.ts';

export type CredentialAction = 'create' | 'change' | 'rotate' | 'disable' | 'enable' | 'delete' | 'fetch';

/** A credential that a request was about. */
export interface TouchedCredential {
  readonly kind: string;
  /** `name`, or `namespace/name`. */
  readonly key: string;
  readonly uid: string;
  readonly keyID?: string | undefined;
}

/** Told what happens to a request on its way, for the audit log. */
export interface Trail {
  /** The target has answered what was asked for the request, and calls it so. */
  upstream(auditID: string | undefined): void;
  /** The head of the answer is on its way to the client. */
  began(): void;
  /** The same, and the connection is a tunnel from now on. */
  switched(): void;
  /** The request is to do this to a credential. */
  acts(action: CredentialAction): void;
  /** A credential that it did that to. */
  touched(credential: TouchedCredential): void;
}

/** It does nothing to a credential, so nothing of the kind is told. */
export const trailOfDryRun = (trail: Trail | undefined): Trail | undefined =>
  trail && {
    upstream: (auditID) => trail.upstream(auditID),
    began: () => trail.began(),
    switched: () => trail.switched(),
    acts: () => undefined,
    touched: () => undefined,
  };

/** Tells what a change of an object means for its credential. */
export function actionOf(stored: JsonObject, result: JsonObject): CredentialAction {
  if (isDisabled(stored) !== isDisabled(result)) return isDisabled(result) ? 'disable' : 'enable';
  return rotationOf(stored) === rotationOf(result) ? 'change' : 'rotate';
}

const isDisabled = ({ spec }: JsonObject): boolean => asObject(spec)['disabled'] === true;

/** Another value asks for another credential, and so does another key. */
const rotationOf = ({ spec, metadata }: JsonObject): string =>
  JSON.stringify([asObject(asObject(metadata)['annotations'])[annotations.rotate], asObject(spec)['key']]);

/** Of an object of ours, as it was answered. */
export function touchedObject(kind: string, object: JsonObject): TouchedCredential {
  const { name, namespace, uid } = asObject(object['metadata']);
  const key = [namespace, name].filter((part) => typeof part === 'string' && part !== '').join('/');
  return { kind, key, uid: asText(uid) ?? '', keyID: asText(asObject(object['status'])['keyID']) };
}

export const touchedRecord = ({ kind, key, uid, status }: LiveRecord): TouchedCredential => ({
  ...{ kind, key, uid },
  keyID: status.credentialHash && keyIDOf(status.credentialHash),
});
