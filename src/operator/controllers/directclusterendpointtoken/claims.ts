import type { CredentialRecord } from '../../../credentials/record.ts';
import { type TokenClaims, tokenClaims } from '../../../credentials/token-claims.ts';
import { audiencesOf } from '../../../scope/audiences.ts';
import { effectiveScope } from '../../../scope/effective-scope.ts';
import type { IssueToken } from './step.ts';

/** The claims of the token that is about to be issued. It carries its own scope and those of its ancestors. */
export function claimsOf(record: CredentialRecord, issue: IssueToken, issuer: string): TokenClaims {
  const scopes = [record, ...issue.ancestors].map(effectiveScope);
  const [own, ...ancestors] = scopes;
  const [parent] = issue.ancestors;
  return tokenClaims({
    issuer,
    audience: audiencesOf({ issuer, own, ancestors, allowPlatformCli: record.allowPlatformCli }),
    identity: issue.identity,
    object: { kind: record.kind, name: record.name, uid: record.uid },
    ...(parent === undefined ? {} : { parent: { name: parent.name, uid: parent.uid } }),
    serial: issue.serial,
    scopes,
    issuedAt: issue.issuedAt,
    notAfter: issue.end,
  });
}
