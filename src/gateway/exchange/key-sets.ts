import {
  type CryptoKey,
  createLocalJWKSet,
  errors,
  type FlattenedJWSInput,
  type JWK,
  type JWSHeaderParameters,
} from 'jose';
import { asObject, isObject, type JsonObject } from '../../api/json.ts';
import type { TrustedIssuer } from '../../api/trusted-issuer.ts';
import { backOffDelay } from '../../kube/back-off.ts';
import type { Clock } from '../../kube/clock.ts';
import type { Logger } from '../../logger.ts';

export interface ReadFrom {
  readonly certificateAuthority?: string | undefined;
  /** An issuer chose the place, elsewhere than where the settings say that it is. */
  readonly isElsewhere?: boolean;
}

/** Reads a JSON document. Rejects where there is none. */
export type ReadDocument = (url: string, from: ReadFrom) => Promise<unknown>;

export interface KeySetOptions {
  readonly read: ReadDocument;
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly log: Logger;
}

export interface KnownIssuer {
  readonly issuer: TrustedIssuer;
  readonly keys: Pick<IssuerKeys, 'find'>;
}

/** The keys of an issuer are not known now. */
export class KeysUnavailable extends Error {}

/** A key that the issuer takes away is taken for so long. */
const freshMs = 600_000;
/** While the issuer does not answer, its last keys count for so long. */
const staleMs = 3_600_000;
/** Tokens with unknown keys let the keys be read no more often. */
const pauseMs = 30_000;
const retry = { initialMs: 1_000, maxMs: 60_000 };
const maxKeys = 100;

interface KnownKeys {
  readonly find: FindKey;
  readonly since: number;
}

type FindKey = (header?: JWSHeaderParameters, token?: FlattenedJWSInput) => Promise<CryptoKey>;

/** The keys of one issuer, read when a token needs them. Where they are read is up to the settings and never to a token. */
export class IssuerKeys {
  readonly #issuer: TrustedIssuer;
  readonly #options: KeySetOptions;
  #known: KnownKeys | undefined;
  #reading: Promise<void> | undefined;
  #failures = 0;
  /** Not before. */
  #nextRead = Number.NEGATIVE_INFINITY;

  constructor(issuer: TrustedIssuer, options: KeySetOptions) {
    this.#issuer = issuer;
    this.#options = options;
  }

  /** The key for a header, as jose asks for it. Rejects with {@link KeysUnavailable} where keys cannot be read. */
  readonly find: FindKey = async (...asked) => {
    const before = await this.#present();
    try {
      return await before.find(...asked);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey) || !(await this.#readAgain(before))) throw error;
      return await (this.#known ?? before).find(...asked);
    }
  };

  async #present(): Promise<KnownKeys> {
    const known = this.#known;
    const age = known === undefined ? Number.POSITIVE_INFINITY : this.#now - known.since;
    if (known !== undefined && age < freshMs) return known;
    await this.#read();
    if (this.#known === undefined || this.#now - this.#known.since >= staleMs)
      throw new KeysUnavailable('the keys of the issuer cannot be read');
    return this.#known;
  }

  /** True: there may be others than before. */
  async #readAgain(before: KnownKeys): Promise<boolean> {
    if (this.#known === before) await this.#read();
    return this.#known !== before;
  }

  /** One read for all that wait. In a pause nothing is read. */
  async #read(): Promise<void> {
    if (this.#reading === undefined && this.#now < this.#nextRead) return;
    this.#reading ??= this.#readOnce().finally(() => {
      this.#reading = undefined;
    });
    await this.#reading;
  }

  async #readOnce(): Promise<void> {
    const { random, log } = this.#options;
    const { issuer } = this.#issuer;
    try {
      const find = createLocalJWKSet({ keys: keysOf(await this.#readSet()) });
      this.#known = { find, since: this.#now };
      this.#failures = 0;
      this.#nextRead = this.#now + pauseMs * (0.75 + 0.5 * random());
    } catch (error) {
      log.warn({ issuer, err: error }, 'the keys of a trusted issuer cannot be read');
      this.#nextRead = this.#now + backOffDelay(this.#failures++, { ...retry, random });
    }
  }

  async #readSet(): Promise<unknown> {
    const { issuer, jwksURI, certificateAuthority } = this.#issuer;
    const { read } = this.#options;
    if (jwksURI !== undefined) return await read(jwksURI, { certificateAuthority });
    const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
    const place = keySetURL(issuer, await read(url, { certificateAuthority }));
    const isElsewhere = new URL(place).hostname !== new URL(issuer).hostname;
    return await read(place, { certificateAuthority, isElsewhere });
  }

  get #now(): number {
    return this.#options.clock.monotonic();
  }
}

/** Each with its keys, by the claim `iss`. */
export const knownIssuers = (
  issuers: readonly TrustedIssuer[],
  options: KeySetOptions,
): ReadonlyMap<string, KnownIssuer> =>
  new Map(issuers.map((issuer) => [issuer.issuer, { issuer, keys: new IssuerKeys(issuer, options) }]));

/** Where a discovery document says that the keys are. Throws an Error. */
export function keySetURL(issuer: string, document: unknown): string {
  const { issuer: named, jwks_uri: text } = asObject(document);
  if (named !== issuer) throw new Error('the discovery document is of another issuer');
  if (typeof text !== 'string' || !URL.canParse(text))
    throw new Error('the discovery document has no jwks_uri');
  const url = new URL(text);
  if (url.protocol !== 'https:' || url.username !== '' || url.password !== '')
    throw new Error('jwks_uri is no https URL');
  // An issuer elsewhere must not have our own network read.
  if (url.hostname !== new URL(issuer).hostname && isInside(url.hostname))
    throw new Error('jwks_uri is an address in place of a name');
  return text;
}

/** The dot at the end of a whole name says nothing else. */
function isInside(hostname: string): boolean {
  const host = hostname.replace(/\.+$/, '');
  return (
    host.startsWith('[') ||
    /^[\d.]+$/.test(host) ||
    !host.includes('.') ||
    /\.(?:localhost|local|internal|svc)$/.test(host)
  );
}

/** The public keys of a set that can check signatures. Throws an Error. */
function keysOf(document: unknown): JWK[] {
  const { keys } = asObject(document);
  if (!Array.isArray(keys) || keys.length > maxKeys)
    throw new Error(`the key set is no list of at most ${maxKeys} keys`);
  return keys.filter(isPublicKey) as unknown as JWK[];
}

const isPublicKey = (key: unknown): key is JsonObject =>
  isObject(key) &&
  ['RSA', 'EC', 'OKP'].includes(String(key['kty'])) &&
  !('d' in key) &&
  (key['use'] ?? 'sig') === 'sig';
