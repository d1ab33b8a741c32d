import { defined } from '../../../api/json.ts';
import type { CredentialRecord } from '../../../credentials/record.ts';
import { type TokenClaims, tokenClaims } from '../../../credentials/tokens/claims.ts';
import { audiencesOf } from '../../../scope/audiences.ts';
import { effectiveScope } from '../../../scope/effective-scope.ts';
import type { IssueCredential } from '../issued/decision.ts';

/**
 * Where a token may be used. Where its scopes meet nowhere it gets an audience that no verifier has: some verifiers skip the check
 * when the list is empty.
 */
export function audiencesOfToken(
  record: CredentialRecord,
  above: readonly CredentialRecord[],
  issuer: string,
): readonly string[] {
  const { allowPlatformCli } = record;
  const ancestors = above.map(effectiveScope);
  const audiences = audiencesOf({ issuer, own: effectiveScope(record), ancestors, allowPlatformCli });
  return audiences.length === 0 ? [`${issuer}/nowhere`] : audiences;
}

/** The claims of the token that is about to be issued. It carries its own scope and those of its ancestors. */
export function claimsOf(record: CredentialRecord, issue: IssueCredential, issuer: string): TokenClaims {
  const scopes = [record, ...issue.ancestors].map(effectiveScope);
  const [parent] = issue.ancestors;
  return tokenClaims({
    issuer,
    audience: audiencesOfToken(record, issue.ancestors, issuer),
    identity: issue.identity,
    object: { kind: record.kind, name: record.name, uid: record.uid },
    ...defined({ parent: parent && { name: parent.name, uid: parent.uid } }),
    serial: issue.serial,
    scopes,
    issuedAt: issue.issuedAt,
    notAfter: issue.end,
  });
}
