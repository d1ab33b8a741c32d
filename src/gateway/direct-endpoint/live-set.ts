import {
  type LiveCredential,
  type LiveLine,
  type LiveScope,
  type LiveSpace,
  maxScopesBytes,
  type Positions,
} from '../../api/live-credentials.ts';
import { shared } from '../../credentials/shared-values.ts';
import { BadStream } from './line-reader.ts';
import { SharedScopes } from './shared-scopes.ts';

/**
 * A credential as it is kept. There are many, and few are used here, so nothing stands in it twice: its hash is the key only, and the owner
 * of its own scope is empty, which makes lists of scopes equal.
 */
export interface KnownCredential extends Omit<LiveCredential, 'hash'> {}

/** The same as the stream named it. */
export function scopesOf({ name, scopes }: Pick<KnownCredential, 'name' | 'scopes'>): readonly LiveScope[] {
  return scopes.map(({ owner, scope }) => ({ owner: owner === '' ? ownerOf(name) : owner, scope }));
}

const ownerOf = (name: string): string => `DirectClusterEndpointToken ${JSON.stringify(name)}`;

export interface LiveSetOptions {
  /** Whether an API server asks about tokens by their IDs. Otherwise these only take memory. */
  readonly withTokenIDs: boolean;
}

/** More than this is no platform of ours: the memory would be full. */
export const maxCredentials = 250_000;
export const maxSpaces = 50_000;

/** The credentials that are good in the cluster and the spaces in it, as one stream named them. */
export class LiveSet {
  readonly credentials = new Map<string, KnownCredential>();
  /** The hash of each of them that has one, by the ID of the token. */
  readonly byTokenID = new Map<string, string>();
  /** By `project/name`. */
  readonly spaces = new Map<string, LiveSpace>();
  /** Of the object Cluster. */
  uid = '';
  positions: Positions = { tokens: '0', keys: '0', locks: '0' };
  readonly #withTokenIDs: boolean;

  constructor({ withTokenIDs }: LiveSetOptions = { withTokenIDs: false }) {
    this.#withTokenIDs = withTokenIDs;
  }

  /** Returns the hash for which something else counts now. Throws {@link BadStream}. */
  apply({ type, object }: LiveLine): string | undefined {
    switch (type) {
      case 'START':
        this.uid = object.uid;
        return undefined;
      case 'ADD':
        return this.#add(object);
      case 'DROP':
        return this.drop(object.hash);
      case 'SPACE':
        if (this.spaces.size >= maxSpaces) throw new BadStream('it names too many spaces');
        this.spaces.set(keyOf(object), object);
        return undefined;
      case 'NOSPACE':
        this.spaces.delete(keyOf(object));
        return undefined;
      case 'SYNCED':
      case 'BEAT':
        this.positions = object.positions;
        return undefined;
    }
  }

  drop(hash: string): string {
    const tokenID = this.credentials.get(hash)?.tokenID ?? '';
    if (this.byTokenID.get(tokenID) === hash) this.byTokenID.delete(tokenID);
    this.credentials.delete(hash);
    return hash;
  }

  #add(credential: LiveCredential): string {
    const { hash } = credential;
    const tokenID = this.#withTokenIDs ? credential.tokenID : undefined;
    const scopes = shareScopes(credential);
    // One that is too large is not good. An error would end the stream, and lock everyone out.
    if (scopes === undefined) return this.drop(hash);
    if (!this.credentials.has(hash) && this.credentials.size >= maxCredentials)
      throw new BadStream('it names too many credentials');
    this.drop(hash);
    if (tokenID !== undefined) this.byTokenID.set(tokenID, hash);
    this.credentials.set(hash, toKnown(credential, scopes, tokenID));
    return hash;
  }
}

/** In one literal each: what V8 puts together of several objects takes twice the memory. */
function toKnown(
  { uid, name, user: written, groups: listed, end }: LiveCredential,
  scopes: readonly LiveScope[],
  tokenID: string | undefined,
): KnownCredential {
  const [user, groups] = [shared.text(written), shared.json(listed)];
  return tokenID === undefined
    ? { uid, name, user, groups, scopes, end }
    : { uid, name, user, groups, scopes, end, tokenID };
}

/** Smaller lists of scopes are shared as a whole: most tokens have one of a few. */
const maxSmallBytes = 2_048;

/** For the sets of all streams: the next one repeats what the present one holds. */
const sharedScopes = new SharedScopes();

/** The copy that others have too. Undefined for what is too large, or nested too deep to be written. */
function shareScopes({ name, scopes }: LiveCredential): readonly LiveScope[] | undefined {
  try {
    const own = ownerOf(name);
    const unnamed = scopes.map((each) => (each.owner === own ? { owner: '', scope: each.scope } : each));
    const text = JSON.stringify(unnamed);
    const ownBytes = Buffer.byteLength(JSON.stringify(own)) - emptyBytes;
    const owners = unnamed.filter(({ owner }) => owner === '').length;
    const bytes = Buffer.byteLength(text) + owners * ownBytes;
    if (bytes > maxScopesBytes) return undefined;
    return bytes > maxSmallBytes ? sharedScopes.share(unnamed) : shared.fromJSON(text);
  } catch {
    return undefined;
  }
}

/** Of an empty text in JSON. */
const emptyBytes = 2;

const keyOf = ({ project, name }: Pick<LiveSpace, 'project' | 'name'>): string => `${project}/${name}`;
