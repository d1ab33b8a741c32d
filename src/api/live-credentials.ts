/** A credential that is good in a cluster now, as its direct endpoint gets to know it. Nothing of it is secret. */
export interface LiveCredential {
  /** SHA-256 of the bearer string, hexadecimal. */
  readonly hash: string;
  /** Of the object. */
  readonly uid: string;
  readonly name: string;
  readonly user: string;
  readonly groups: readonly string[];
  /** Its own scope and those above it. A request must pass each. */
  readonly scopes: readonly LiveScope[];
  /** Epoch milliseconds. */
  readonly end: number;
  /** SHA-256, base64url, of the `jti`. Absent for a token of an earlier release, whose `jti` can be guessed. */
  readonly tokenID?: string;
}

/**
 * The scopes of one credential as JSON, bytes, owners included. A credential with more is not good in any cluster: endpoints keep
 * all credentials in memory, and a few large ones would end the process, again after each restart.
 */
export const maxScopesBytes = 65_536;

export interface LiveScope {
  /** For people: `OwnedAccessKey "ci"`. */
  readonly owner: string;
  readonly scope: Readonly<Record<string, unknown>>;
}

/** A space in the cluster. */
export interface LiveSpace {
  readonly project: string;
  readonly name: string;
  /** The one that the space is. */
  readonly namespace: string;
  readonly uid: string;
}

/** Up to which resourceVersion the gateway knew something, by what it is. */
export type Positions = Readonly<Record<'tokens' | 'keys' | 'locks', string>>;

/** Between two proofs of what the gateway knows, milliseconds. */
export const beatMs = 2_000;

export interface LiveObjects {
  /** The first line. */
  readonly START: { readonly cluster: string; readonly uid: string };
  /** Also for one that is known, with another end or other scopes; never with another user. */
  readonly ADD: LiveCredential;
  readonly DROP: Pick<LiveCredential, 'hash'>;
  readonly SPACE: LiveSpace;
  readonly NOSPACE: Pick<LiveSpace, 'project' | 'name'>;
  /** All that was good when the stream began has been sent. */
  readonly SYNCED: { readonly positions: Positions };
  readonly BEAT: { readonly time: number; readonly positions: Positions };
}

export type LiveLineType = keyof LiveObjects;

/** One line of the stream. Numbers count all lines from 1, so a line that is lost, repeated or moved is seen. */
export type LiveLine = {
  [Type in LiveLineType]: {
    readonly type: Type;
    readonly number: number;
    readonly object: LiveObjects[Type];
  };
}[LiveLineType];
