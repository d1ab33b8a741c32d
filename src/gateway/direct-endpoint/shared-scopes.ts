import { createHash } from 'node:crypto';
import type { LiveScope } from '../../api/live-credentials.ts';
import { shared } from '../../credentials/shared-values.ts';

type Scope = LiveScope['scope'];

/**
 * Keeps one copy of each scope, however many credentials carry it. Each token repeats the scopes of all keys above it, so without this
 * one large key with many tokens fills the memory. A scope is forgotten with the last credential that carries it.
 */
export class SharedScopes {
  /** By a digest: a text as the key would be a second copy. */
  readonly #known = new Map<string, WeakRef<Scope>>();
  readonly #forgotten = new FinalizationRegistry<string>((digest) => {
    // It may have come again meanwhile.
    if (this.#known.get(digest)?.deref() === undefined) this.#known.delete(digest);
  });

  /** The same scopes, each of them the copy that others have too. */
  share(scopes: readonly LiveScope[]): readonly LiveScope[] {
    return scopes.map(({ owner, scope }) => ({ owner: shared.text(owner), scope: this.#share(scope) }));
  }

  #share(scope: Scope): Scope {
    const digest = createHash('sha256').update(JSON.stringify(scope)).digest('base64');
    const known = this.#known.get(digest)?.deref();
    if (known !== undefined) return known;
    this.#known.set(digest, new WeakRef(scope));
    this.#forgotten.register(scope, digest);
    return scope;
  }
}
