import type { CredentialRecord } from '../../../credentials/record.ts';
import type { IssuedCredential } from '../issued/status.ts';
import type { IssueCredential } from '../issued/step.ts';

/** A kubeconfig that exists and is not confirmed yet. */
export interface MadeKubeConfig {
  /** As the last write left it. */
  readonly record: CredentialRecord;
  /** With the serial and the end that it really has. */
  readonly issue: IssueCredential;
  readonly issued: IssuedCredential;
}
