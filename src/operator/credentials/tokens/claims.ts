import type { CredentialRecord } from '../../../credentials/record.ts';
import { type TokenClaims, tokenClaims } from '../../../credentials/tokens/claims.ts';
import { audiencesOf } from '../../../scope/audiences.ts';
import { effectiveScope } from '../../../scope/effective-scope.ts';
import type { IssueCredential } from '../issued/decision.ts';

/**
 * The claims of the token that is about to be issued. It carries its own scope and those of its ancestors. Where these
 * meet nowhere it gets an audience that no verifier has: some verifiers skip the check when the list is empty.
 */
export function claimsOf(record: CredentialRecord, issue: IssueCredential, issuer: string): TokenClaims {
  const scopes = [record, ...issue.ancestors].map(effectiveScope);
  const [own, ...ancestors] = scopes;
  const [parent] = issue.ancestors;
  const audience = audiencesOf({ issuer, own, ancestors, allowPlatformCli: record.allowPlatformCli });
  return tokenClaims({
    issuer,
    audience: audience.length === 0 ? [`${issuer}/nowhere`] : audience,
    identity: issue.identity,
    object: { kind: record.kind, name: record.name, uid: record.uid },
    ...(parent === undefined ? {} : { parent: { name: parent.name, uid: parent.uid } }),
    serial: issue.serial,
    scopes,
    issuedAt: issue.issuedAt,
    notAfter: issue.end,
  });
}
