import type { Positions } from '../../api/live-credentials.ts';
import { mayReachCluster } from '../../scope/audiences.ts';
import { effectiveScope } from '../../scope/effective-scope.ts';
import { hashesOf } from './credential-records.ts';
import { judgeForEndpoint, type Verdict } from './verdict.ts';
import { Verdicts, type VerdictsOptions } from './verdicts.ts';

/** Tokens as direct endpoints judge them: the same as the gateway does, but for where they may be used. */
export class LiveTokens {
  readonly #options: Omit<VerdictsOptions, 'onDropped'>;
  readonly #verdicts: Verdicts;
  readonly #listeners = new Set<(hash: string) => void>();
  #keyChanges = 0;

  constructor(options: Omit<VerdictsOptions, 'onDropped' | 'judge'>) {
    this.#options = options;
    this.#verdicts = new Verdicts({
      ...options,
      judge: judgeForEndpoint,
      onDropped: (hash) => this.#notify(hash),
    });
    const { OwnedAccessKey: keys, DirectClusterEndpointToken: tokens } = options.records.ofKind;
    keys.subscribe(() => {
      this.#keyChanges += 1;
    });
    tokens.subscribe(({ previous, current }) => {
      for (const record of [previous, current])
        if (record !== undefined) for (const hash of hashesOf(record)) this.#notify(hash);
    });
  }

  /** The token with this hash, if it is good in this cluster now. */
  find(hash: string, cluster: string): Verdict | undefined {
    const found = this.#verdicts.find(hash);
    return found !== undefined && 'record' in found && reaches(found, cluster) ? found : undefined;
  }

  /** Epoch milliseconds, on the clock by which tokens end. */
  now(): number {
    return this.#options.now();
  }

  /** Of all tokens, good or not. */
  *hashes(): Generator<string> {
    for (const record of this.#options.records.ofKind.DirectClusterEndpointToken.values())
      yield* hashesOf(record);
  }

  /** Another text whenever a token that was not good may have become so, but for what the time alone brings. */
  get version(): string {
    return `${this.#keyChanges} ${this.#options.locks.version}`;
  }

  /** Before the present change. */
  get positions(): Positions {
    const { OwnedAccessKey: keys, DirectClusterEndpointToken: tokens } = this.#options.records.ofKind;
    const { locksPosition = '0' } = this.#verdicts;
    return { tokens: tokens.position ?? '0', keys: keys.position ?? '0', locks: locksPosition };
  }

  /** The listener is called with each hash for which {@link find} may say something else. Returns what ends it. */
  subscribe(listener: (hash: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #notify(hash: string): void {
    for (const listener of this.#listeners) listener(hash);
  }
}

const reaches = ({ record, ancestors }: Verdict, cluster: string): boolean =>
  [record, ...ancestors].map(effectiveScope).every((scope) => mayReachCluster(scope, cluster));
