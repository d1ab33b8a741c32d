import type { TokenSigner } from '../../credentials/tokens/sign-token.ts';
import type { SigningKey } from '../../credentials/tokens/signing-key.ts';

/** The signing keys in memory: which one signs, and which ones verifiers find in the published set. */
export class KeyRing {
  readonly #onChange: () => void;
  #published: ReadonlySet<string> = new Set();
  #active: SigningKey | undefined;

  /** `onChange` is called when a key is no longer published, and when there is one to sign with again. */
  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  /** The key that signs now; absent before there is one. */
  get signer(): TokenSigner | undefined {
    return this.#active;
  }

  /**
   * Whether verifiers do not find this key. A new leader does not know before it has a key to sign with: it would take every
   * credential for one of a revoked key, and replace those for which the key comes while it asks for permission.
   */
  isRevoked(kid: string): boolean {
    return this.#active !== undefined && !this.#published.has(kid);
  }

  /** Drops every key but these; the active one signs no more when it is not among them. */
  retain(kids: ReadonlySet<string>): void {
    const before = this.#published;
    this.#published = new Set([...before].filter((kid) => kids.has(kid)));
    if (this.#active !== undefined && !kids.has(this.#active.kid)) this.#active = undefined;
    if (this.#published.size < before.size) this.#onChange();
  }

  /** To be called when the set is published, so that nothing is signed that no verifier can check. */
  publish(keys: readonly SigningKey[], active: SigningKey): void {
    const first = this.#active === undefined;
    this.#published = new Set(keys.map(({ kid }) => kid));
    this.#active = active;
    if (first) this.#onChange();
  }
}
