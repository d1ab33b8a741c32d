/** An issuer of tokens that may be exchanged for a key, as the settings name it. */
export interface TrustedIssuer {
  /** The claim `iss`, exactly. */
  readonly issuer: string;
  /** Of signatures. Never one with a shared secret. */
  readonly algorithms: readonly string[];
  /** Where its keys are. Absent: its discovery document says it. */
  readonly jwksURI?: string;
  /** PEM; in place of those that Node knows. */
  readonly certificateAuthority?: string;
  /** People log in with its tokens. Absent: only pipelines that an access key names. */
  readonly login?: LoginMapping;
}

/** How a token becomes a user. */
export interface LoginMapping {
  /** The claim `aud`, exactly. */
  readonly clientID: string;
  readonly username: MappedClaim;
  /** Absent: no group of the token counts. */
  readonly groups?: MappedClaim & {
    /** Names, some with `*` at the end, before the prefix is added. Absent: all that the token has. */
    readonly allowed?: readonly string[];
  };
  /** The life of the key, seconds. */
  readonly ttl: number;
}

export interface MappedClaim {
  readonly claim: string;
  /** Stands before the value. May be empty. */
  readonly prefix: string;
}
