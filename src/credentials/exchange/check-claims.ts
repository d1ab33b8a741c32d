import type { JsonObject } from '../../api/json.ts';

/** A token whose signature and claims hold. */
export interface AcceptedClaims {
  readonly subject: string;
  /** Tells it from all other tokens of its issuer; absent: its whole text does. */
  readonly tokenID?: string;
  /** After this no one can use it any more, epoch milliseconds. */
  readonly usableUntil: number;
}

export type ClaimsResult = AcceptedClaims | { readonly problem: string };

export interface ClaimsOptions {
  /** The one audience that it must have. */
  readonly audience: string;
  /** Epoch milliseconds. */
  readonly now: number;
  /** How long after its issue it is taken, milliseconds; absent: until its end. */
  readonly maxAgeMs?: number;
}

/** Clocks of two machines differ by so much. */
export const skewMs = 30_000;
/** Of a token for an exchange: it is made for that moment. */
export const maxTokenAgeMs = 600_000;
/** Of any token. Its key stays for so long at most, so that it is not exchanged once more. */
export const maxTokenLifeMs = 86_400_000;
const maxText = 1_024;

/** Whether claims of a token whose signature holds let it be exchanged. Pure; a value of another type is never made to fit. */
export function checkClaims(claims: JsonObject, options: ClaimsOptions): ClaimsResult {
  const problem = audienceProblem(claims['aud'], options.audience) ?? timeProblem(claims, options);
  if (problem !== undefined) return { problem };
  const { sub: subject, jti: tokenID, exp, iat } = claims;
  if (!isText(subject)) return { problem: `sub must be a text of at most ${maxText} printable characters` };
  if (tokenID !== undefined && !isText(tokenID))
    return { problem: `jti must be a text of at most ${maxText} printable characters` };
  const end = Math.min(Number(exp) * 1_000, Number(iat) * 1_000 + (options.maxAgeMs ?? maxTokenLifeMs));
  return { subject, ...(tokenID === undefined ? {} : { tokenID }), usableUntil: end + skewMs };
}

/** A token that is for others too could be sent here by any of them. */
function audienceProblem(aud: unknown, audience: string): string | undefined {
  const [first, another] = Array.isArray(aud) ? aud : [aud];
  return first === audience && another === undefined ? undefined : `aud must be ${audience} and nothing else`;
}

function timeProblem({ exp, iat, nbf = iat }: JsonObject, options: ClaimsOptions): string | undefined {
  if (!isTime(exp)) return 'exp must be a time in seconds';
  if (!isTime(iat)) return 'iat must be a time in seconds';
  if (!isTime(nbf)) return 'nbf must be a time in seconds';
  const { now } = options;
  if (exp <= iat) return 'exp must be after iat';
  if (exp * 1_000 <= now - skewMs) return 'it has expired';
  if (iat * 1_000 > now + skewMs) return 'iat is in the future';
  if (nbf * 1_000 > now + skewMs) return 'nbf is in the future';
  return ageProblem({ exp, iat }, options);
}

function ageProblem(
  { exp, iat }: { readonly exp: number; readonly iat: number },
  { now, maxAgeMs }: ClaimsOptions,
): string | undefined {
  if (maxAgeMs === undefined)
    return (exp - iat) * 1_000 > maxTokenLifeMs ? 'it lives for more than a day' : undefined;
  return iat * 1_000 <= now - maxAgeMs - skewMs
    ? `it was issued more than ${maxAgeMs / 60_000} minutes ago`
    : undefined;
}

/** The largest that a date can hold. */
const maxSeconds = 8.64e12;

const isTime = (value: unknown): value is number =>
  typeof value === 'number' && Number.isFinite(value) && value > 0 && value < maxSeconds;

export const isText = (value: unknown): value is string =>
  typeof value === 'string' &&
  value !== '' &&
  value.length <= maxText &&
  value.isWellFormed() &&
  !/[\p{Cc}\p{Cf}\u2028\u2029]/u.test(value);
