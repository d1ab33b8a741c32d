import type { Logger } from '../../logger.ts';
import type { Clock } from '../clock.ts';
import type { ClientIdentity, IdentitySource } from './client-identity.ts';
import type { KubeConfigSource } from './kube-config.ts';
import { unusable } from './kube-config-identity.ts';

export interface AuthenticationOptions {
  readonly source: KubeConfigSource;
  readonly clock: Clock;
  readonly log: Logger;
  /** How long an identity is used before files are read again. Default 20 s. */
  readonly refreshMs?: number;
}

/** A credential plug-in that hangs must not hang us with it. */
const loadTimeoutMs = 30_000;
/** A wrong credential must not make us read files (or run plug-ins) for each request. */
const forcedRefreshMs = 1_000;

/** Keeps the present identity. Tokens and certificates rotate under a running process, in a Pod every hour. */
export class Authentication implements IdentitySource {
  readonly #source: KubeConfigSource;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #refreshMs: number;
  #identity: ClientIdentity | undefined;
  #loadedAt = Number.NEGATIVE_INFINITY;
  #loading: Promise<ClientIdentity> | undefined;

  constructor({ source, clock, log, refreshMs = 20_000 }: AuthenticationOptions) {
    this.#source = source;
    this.#clock = clock;
    this.#log = log;
    this.#refreshMs = refreshMs;
  }

  /** The identity; an old one is refreshed behind the caller's back. Rejects only when there never was one. */
  current(): ClientIdentity | Promise<ClientIdentity> {
    if (this.#identity === undefined) return this.#load(false);
    if (this.#clock.monotonic() - this.#loadedAt >= this.#refreshMs) {
      this.#load(false).catch((error: unknown) => this.#keepOld(error));
    }
    return this.#identity;
  }

  /** After a 401. True when there is another identity to try. */
  async refreshed(refused: ClientIdentity): Promise<boolean> {
    if (this.#identity !== refused) return true;
    if (this.#clock.monotonic() - this.#loadedAt < forcedRefreshMs) return false;
    try {
      return (await this.#load(true)) !== refused;
    } catch (error) {
      this.#keepOld(error);
      return false;
    }
  }

  #load(fresh: boolean): Promise<ClientIdentity> {
    this.#loading ??= this.#read(fresh).finally(() => {
      this.#loading = undefined;
      this.#loadedAt = this.#clock.monotonic();
    });
    return this.#loading;
  }

  async #read(fresh: boolean): Promise<ClientIdentity> {
    const identity = await withTimeout(this.#clock, async () => this.#source.load(fresh));
    if (this.#identity === undefined || !isSame(identity, this.#identity)) this.#identity = identity;
    return this.#identity;
  }

  #keepOld(error: unknown): void {
    this.#log.warn({ err: error }, 'cluster credentials could not be read again; the old ones stay in use');
  }
}

function isSame(a: ClientIdentity, b: ClientIdentity): boolean {
  return a.connectionKey === b.connectionKey && a.headers.join('\n') === b.headers.join('\n');
}

function withTimeout<T>(clock: Clock, work: () => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = clock.setTimer(
      () => reject(unusable(`its credentials did not arrive within ${loadTimeoutMs} ms`)),
      loadTimeoutMs,
    );
    work()
      .then(resolve, reject)
      .finally(() => timer.cancel());
  });
}
