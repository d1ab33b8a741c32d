import type { Reason } from '../../../api/reasons.ts';
import type { Identity } from '../../../credentials/identity.ts';
import type { Confirmation, CredentialRecord } from '../../../credentials/record.ts';
import type { CommonStep, DecisionInput } from '../decision.ts';

/** All that a decision about one token or kubeconfig depends on. Durations are milliseconds unless said otherwise. */
export interface IssuedInput extends DecisionInput {
  /** True for the ID of a signing key that verifiers still find in the published set; of a certificate, which has none, always. */
  readonly isPublished: (signingKeyID: string | undefined) => boolean;
  /** The `aud` of a token that is issued below these keys. Of a certificate nothing. */
  readonly audiences: (ancestors: readonly CredentialRecord[]) => readonly string[] | undefined;
  /** The same as releases issued it that knew no API servers which enforce scopes. */
  readonly unenforcedAudiences: (ancestors: readonly CredentialRecord[]) => readonly string[] | undefined;
  /** The `iss` of a token. */
  readonly issuer: string;
  /** Why the present credential must be replaced, besides what holds for all kinds. */
  readonly replaceReason?: Reason;
  readonly limits: IssuedLimits;
}

export interface IssuedLimits {
  readonly activityInterval: number;
  readonly expiredRetention: number;
  /** How long the predecessor of a planned renewal stays valid. */
  readonly rotationOverlap: number;
  /** The longest life that may be asked for, seconds. */
  readonly maxTTL: number;
}

export type IssuedStep = CommonStep | IssueCredential;

/** Make a credential, write it where the spec says, and confirm it. */
export interface IssueCredential {
  readonly step: 'issue';
  readonly identity: Identity;
  /** The access keys above, the parent first. */
  readonly ancestors: readonly CredentialRecord[];
  readonly serial: number;
  /** Epoch milliseconds. */
  readonly issuedAt: number;
  /** Epoch milliseconds, whole seconds. */
  readonly end: number;
  /** Seconds. */
  readonly ttl: number;
  /** Why there is a new one. */
  readonly cause: Reason;
  /** True when the predecessor stays valid for the overlap. */
  readonly keepPrevious: boolean;
}

/** The credential of an `IssueCredential` step. */
export interface IssuedCredential {
  /** The document for the holder: the token, or the whole kubeconfig. */
  readonly document: string;
  /** SHA-256, hexadecimal, of what is presented to a server. */
  readonly credentialHash: string;
  readonly signingKeyID?: string;
  /** Fields that only some kinds confirm. */
  readonly extra?: Partial<Confirmation>;
}

/** A credential that exists and that no status confirms yet. */
export interface MadeCredential {
  /** As the last write left it. */
  readonly record: CredentialRecord;
  /** With the serial and the end that it really has. */
  readonly issue: IssueCredential;
  readonly issued: IssuedCredential;
}
