import { defined } from '../../api/json.ts';
import { group } from '../../api/names.ts';
import type { Identity } from '../identity.ts';
import type { CredentialKind } from '../record.ts';

export interface TokenRequest {
  /** The base URL, without a slash at the end. */
  readonly issuer: string;
  /** From `audiencesOf` over the same scopes, or the audience of a kubeconfig. */
  readonly audience: readonly string[];
  readonly identity: Identity;
  readonly object: {
    readonly kind: CredentialKind;
    readonly name: string;
    readonly namespace?: string;
    readonly uid: string;
  };
  readonly parent?: { readonly name: string; readonly uid: string };
  /** The virtual cluster instance that the token is good for and no other, not even a later one of that name. */
  readonly instance?: { readonly namespace: string; readonly name: string; readonly uid: string };
  readonly serial: number;
  /** Keeps `jti` from being guessed. Absent for kubeconfigs: no one knows their tokens by it. */
  readonly random?: Uint8Array;
  /** The own scope and those of all ancestors, nearest first; `undefined` for one that does not narrow. */
  readonly scopes: readonly unknown[];
  /** Epoch milliseconds. */
  readonly issuedAt: number;
  readonly notAfter: number;
}

/** The private claim of our tokens, under the name `management.platform.sh`. */
export interface PlatformClaim {
  readonly object: TokenRequest['object'];
  readonly parent?: NonNullable<TokenRequest['parent']>;
  readonly instance?: NonNullable<TokenRequest['instance']>;
  /** A request must pass each of them. Empty: no narrowing. */
  readonly scopes: readonly unknown[];
}

/** Instants are epoch seconds. */
export interface TokenClaims {
  readonly iss: string;
  readonly aud: readonly string[];
  readonly sub: string;
  readonly groups: readonly string[];
  readonly iat: number;
  readonly nbf: number;
  readonly exp: number;
  readonly jti: string;
  readonly [group]: PlatformClaim;
}

/**
 * The claims of one token. `jti` is `<uid>.<serial>`, with a random part behind another dot; times are rounded down, so that a token
 * never outlives its object's end.
 */
export function tokenClaims(request: TokenRequest): TokenClaims {
  const { object, parent, instance } = request;
  const issuedAt = Math.floor(request.issuedAt / 1000);
  return {
    iss: request.issuer,
    aud: request.audience,
    sub: request.identity.user,
    groups: request.identity.groups,
    iat: issuedAt,
    nbf: issuedAt,
    exp: Math.floor(request.notAfter / 1000),
    jti: tokenIDOf(request),
    [group]: {
      object,
      ...defined({ parent, instance }),
      scopes: narrowing(request.scopes),
    },
  };
}

/** The webhook knows a token by it alone: guessed, it would pass there with the signature of a leaked key. */
function tokenIDOf({ object, serial, random }: TokenRequest): string {
  const parts = [
    object.uid,
    serial,
    ...(random === undefined ? [] : [Buffer.from(random).toString('base64url')]),
  ];
  return parts.join('.');
}

/** JSON would write an absent scope as `null`, which means the opposite: nothing allowed. */
function narrowing(scopes: readonly unknown[]): readonly unknown[] {
  return scopes.filter((scope) => scope !== undefined).map((scope) => scope ?? {});
}
