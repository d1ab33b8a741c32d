import type { Clock, Timer } from '../../kube/clock.ts';
import type { RequestTarget } from '../../scope/request-path.ts';
import type { ResolvedRequest } from '../../scope/requests/resolve-request.ts';
import type { CredentialIndex } from '../index/credential-index.ts';
import type { Verdict } from '../index/verdict.ts';
import type { FoundTarget } from '../proxy/targets.ts';
import { type ErrorAnswer, errorAnswer } from '../server/error-answer.ts';
import { findDenial } from './authorise.ts';
import type { EntryPermissions } from './entry-permissions.ts';

/** A request under way. */
export interface OpenRequest {
  readonly asked: ResolvedRequest;
  readonly isLong: boolean;
  /** Ends it at once, with the answer half sent. */
  readonly cut: () => void;
}

export interface OpenRequestsOptions {
  readonly clock: Clock;
  readonly find: CredentialIndex['find'];
  readonly problem: CredentialIndex['problem'];
  readonly findTarget: (target: RequestTarget) => Pick<FoundTarget, 'namespace' | 'entry'> | undefined;
  readonly permissions: Pick<EntryPermissions, 'mayStay'>;
  /** At once, of one credential. */
  readonly maxShort: number;
  readonly maxLong: number;
}

/** How soon an end that no change of an object announces is noticed. */
const sweepMs = 500;

interface Share {
  long: number;
  readonly open: Set<OpenRequest>;
}

/** What is under way with each credential: a limit for all of it, and an end with the credential. */
export class OpenRequests {
  readonly #options: OpenRequestsOptions;
  readonly #shares = new Map<string, Share>();
  #timer: Timer | undefined;

  constructor(options: OpenRequestsOptions) {
    this.#options = options;
  }

  /** Takes a place for a request with the credential of this hash; an answer when all are taken. */
  enter(hash: string, request: OpenRequest): ErrorAnswer | undefined {
    const { clock, maxShort, maxLong } = this.#options;
    const share = this.#shares.get(hash) ?? { long: 0, open: new Set() };
    if (request.isLong ? share.long >= maxLong : share.open.size - share.long >= maxShort) return tooMany;
    this.#shares.set(hash, share);
    share.open.add(request);
    if (request.isLong) share.long += 1;
    this.#timer ??= clock.setTimer(() => this.#sweep(), sweepMs);
    return undefined;
  }

  /** Gives the place back. */
  leave(hash: string, request: OpenRequest): void {
    const share = this.#shares.get(hash);
    if (!share?.open.delete(request)) return;
    if (request.isLong) share.long -= 1;
    if (share.open.size === 0) this.#shares.delete(hash);
  }

  /** Ends what the credential of this hash no longer allows. */
  recheck(hash: string): void {
    const share = this.#shares.get(hash);
    if (share === undefined) return;
    const verdict = this.#options.problem() === undefined ? this.#options.find(hash) : undefined;
    const good = verdict !== undefined && 'record' in verdict ? verdict : undefined;
    for (const request of [...share.open]) {
      if (good === undefined || !this.#isAllowed(good, request)) request.cut();
    }
  }

  #isAllowed(verdict: Verdict, { asked }: OpenRequest): boolean {
    const { findTarget, permissions } = this.#options;
    const target = findTarget(asked.target);
    if (target === undefined || findDenial(verdict, asked, target.namespace) !== undefined) return false;
    return target.entry === undefined || permissions.mayStay(verdict.identity, target.entry);
  }

  #sweep(): void {
    this.#timer = undefined;
    for (const hash of [...this.#shares.keys()]) this.recheck(hash);
    if (this.#shares.size > 0) this.#timer = this.#options.clock.setTimer(() => this.#sweep(), sweepMs);
  }
}

const tooMany = errorAnswer('ERR_TOO_MANY_REQUESTS', {}, { headers: ['retry-after', '1'] });
