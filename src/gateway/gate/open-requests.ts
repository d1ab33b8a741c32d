import type { Clock, Timer } from '../../kube/clock.ts';
import type { RequestTarget } from '../../scope/request-path.ts';
import type { ResolvedRequest } from '../../scope/requests/resolve-request.ts';
import type { CredentialIndex } from '../index/credential-index.ts';
import type { Verdict } from '../index/verdict.ts';
import { type ErrorAnswer, errorAnswer } from '../server/error-answer.ts';
import { findDenial } from './authorise.ts';

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
  readonly findTarget: (target: RequestTarget) => { readonly namespace?: string } | undefined;
  /** At once, of one credential. */
  readonly maxShort: number;
  readonly maxLong: number;
}

/** How soon an end that no change of an object announces is noticed. */
const sweepMs = 500;

interface Share {
  short: number;
  readonly long: Set<OpenRequest>;
}

/** What is under way with each credential: a limit for all of it, and for what lasts an end with its credential. */
export class OpenRequests {
  readonly #options: OpenRequestsOptions;
  readonly #shares = new Map<string, Share>();
  #long = 0;
  #timer: Timer | undefined;

  constructor(options: OpenRequestsOptions) {
    this.#options = options;
  }

  /** Takes a place for a request with the credential of this hash; an answer when all are taken. */
  enter(hash: string, request: OpenRequest): ErrorAnswer | undefined {
    const { maxShort, maxLong } = this.#options;
    const share = this.#shares.get(hash) ?? { short: 0, long: new Set() };
    if (request.isLong ? share.long.size >= maxLong : share.short >= maxShort) return tooMany;
    this.#shares.set(hash, share);
    if (request.isLong) this.#addLong(share, request);
    else share.short += 1;
    return undefined;
  }

  /** Gives the place back. */
  leave(hash: string, request: OpenRequest): void {
    const share = this.#shares.get(hash);
    if (share === undefined) return;
    if (!request.isLong) share.short -= 1;
    else if (share.long.delete(request)) this.#long -= 1;
    if (share.short === 0 && share.long.size === 0) this.#shares.delete(hash);
  }

  /** Ends what the credential of this hash no longer allows. */
  recheck(hash: string): void {
    const share = this.#shares.get(hash);
    if (share === undefined || share.long.size === 0) return;
    const verdict = this.#options.problem() === undefined ? this.#options.find(hash) : undefined;
    const good = verdict !== undefined && 'record' in verdict ? verdict : undefined;
    for (const request of [...share.long]) {
      if (good === undefined || !this.#isAllowed(good, request)) request.cut();
    }
  }

  #isAllowed(verdict: Verdict, { asked }: OpenRequest): boolean {
    const target = this.#options.findTarget(asked.target);
    return target !== undefined && findDenial(verdict, asked, target.namespace) === undefined;
  }

  #addLong(share: Share, request: OpenRequest): void {
    share.long.add(request);
    this.#long += 1;
    this.#timer ??= this.#options.clock.setTimer(() => this.#sweep(), sweepMs);
  }

  #sweep(): void {
    this.#timer = undefined;
    for (const hash of [...this.#shares.keys()]) this.recheck(hash);
    if (this.#long > 0) this.#timer = this.#options.clock.setTimer(() => this.#sweep(), sweepMs);
  }
}

const tooMany = errorAnswer('ERR_TOO_MANY_REQUESTS', {}, { headers: ['retry-after', '1'] });
