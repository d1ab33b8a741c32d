import { compactVerify, errors } from 'jose';
import type { TrustedIssuer } from '../../api/trusted-issuer.ts';
import { type AcceptedClaims, checkClaims, maxTokenAgeMs } from '../../credentials/exchange/check-claims.ts';
import { type IssuerKeys, KeysUnavailable } from './key-sets.ts';
import { headerProblem, type ReadToken } from './read-token.ts';

export interface VerifyOptions {
  readonly issuer: TrustedIssuer;
  readonly keys: Pick<IssuerKeys, 'find'>;
  readonly audience: string;
  /** Epoch milliseconds. */
  readonly now: number;
}

/** Whether a token is one of its issuer, for us and for now. Rejects with {@link KeysUnavailable}. */
export async function verifyToken(
  token: ReadToken,
  { issuer: { algorithms }, keys, ...options }: VerifyOptions,
): Promise<AcceptedClaims | { readonly problem: string }> {
  // First what costs nothing: a signature is checked for what could pass.
  const problem = headerProblem(token, algorithms);
  if (problem !== undefined) return { problem };
  const checked = checkClaims(token.claims, { ...options, maxAgeMs: maxTokenAgeMs });
  if ('problem' in checked) return checked;
  try {
    await compactVerify(token.text, keys.find, { algorithms: [...algorithms] });
    return checked;
  } catch (error) {
    if (error instanceof KeysUnavailable) throw error;
    return { problem: signatureProblem(error) };
  }
}

function signatureProblem(error: unknown): string {
  if (error instanceof errors.JWKSNoMatchingKey) return 'its issuer has no such key';
  if (error instanceof errors.JWKSMultipleMatchingKeys) return 'it must say in kid which key signed it';
  return 'its signature does not hold';
}
