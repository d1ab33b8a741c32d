import type { CredentialRecord } from '../../credentials/record.ts';
import type { IssueCredential } from '../credentials/issued/step.ts';

/** The least that an API server takes. */
const leastSeconds = 600;
/** What `certificateTTL: 0` counts as in status when nothing shortens it. */
const oneYear = 31_536_000;

/**
 * `expirationSeconds` of the signing request for a certificate whose life ends at `issue.end`, decided at `now` (epoch
 * milliseconds). Undefined: the signer decides, because `certificateTTL` is 0 and neither policy, parent nor predecessor
 * ends it earlier. A certificate that thus outlives its object's end is unbound at that end.
 */
export function expirationSeconds(
  { certificateTTL }: CredentialRecord,
  { end }: IssueCredential,
  now: number,
): number | undefined {
  const rest = Math.ceil((end - now) / 1000);
  return certificateTTL === 0 && rest >= oneYear ? undefined : Math.max(rest, leastSeconds);
}
