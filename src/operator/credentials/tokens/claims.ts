import { defined } from '../../../api/json.ts';
import type { CredentialRecord } from '../../../credentials/record.ts';
import { type TokenClaims, tokenClaims } from '../../../credentials/tokens/claims.ts';
import { isNarrow } from '../../../credentials/tokens/sign-token.ts';
import { audiencesOf, type ScopedAudienceRequest, scopedAudiences } from '../../../scope/audiences.ts';
import { effectiveScope } from '../../../scope/effective-scope.ts';
import type { IssueCredential } from '../issued/issued-steps.ts';

/**
 * Where a token may be used. Where its scopes meet nowhere it gets an audience that no verifier has: some verifiers skip the check
 * when the list is empty.
 */
export function audiencesOfToken(
  record: CredentialRecord,
  above: readonly CredentialRecord[],
  platform: ScopedAudienceRequest,
): readonly string[] {
  const { allowPlatformCli } = record;
  const { issuer } = platform;
  const [own, ancestors] = [effectiveScope(record), above.map(effectiveScope)];
  const audiences = audiencesOf({ issuer, own, ancestors, allowPlatformCli });
  if (audiences.length === 0) return [`${issuer}/nowhere`];
  return isNarrow([own, ...ancestors]) ? scopedAudiences(audiences, platform) : audiences;
}

/** The claims of the token that is about to be issued. It carries its own scope and those of its ancestors. */
export function claimsOf(
  record: CredentialRecord,
  issue: IssueCredential,
  platform: ScopedAudienceRequest,
  random: Uint8Array,
): TokenClaims {
  const scopes = [record, ...issue.ancestors].map(effectiveScope);
  const [parent] = issue.ancestors;
  return tokenClaims({
    issuer: platform.issuer,
    audience: audiencesOfToken(record, issue.ancestors, platform),
    identity: issue.identity,
    object: { kind: record.kind, name: record.name, uid: record.uid },
    ...defined({ parent: parent && { name: parent.name, uid: parent.uid } }),
    serial: issue.serial,
    random,
    scopes,
    issuedAt: issue.issuedAt,
    notAfter: issue.end,
  });
}
