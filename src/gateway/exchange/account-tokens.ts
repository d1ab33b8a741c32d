import { asObject, asText, asTexts, type JsonObject } from '../../api/json.ts';
import { serviceAccounts, systemNamespace } from '../../api/names.ts';
import { tokenReviews } from '../../api/resources.ts';
import { type AcceptedClaims, checkClaims } from '../../credentials/exchange/check-claims.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import type { Clock } from '../../kube/clock.ts';
import type { Logger } from '../../logger.ts';
import type { ReadToken } from './read-token.ts';

export interface AccountTokensOptions {
  /** Of this process, which may act as the reader. */
  readonly client: Pick<KubeClient, 'as'>;
  /** The base URL. */
  readonly audience: string;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly log: Logger;
}

/** At once. Others are told to come back. */
const maxReviews = 8;

/** Strangers choose how often tokens are checked, and so how often that can fail. */
const warnEveryMs = 30_000;

/** A token cannot be checked now. The message says why to a stranger. */
export class ReviewUnavailable extends Error {}

/** Tokens of ServiceAccounts of the platform. Its API server judges them: it knows which Pods and accounts are gone. */
export class AccountTokens {
  readonly #options: AccountTokensOptions;
  #underway = 0;
  #warned = Number.NEGATIVE_INFINITY;

  constructor(options: AccountTokensOptions) {
    this.#options = options;
  }

  /** Checks the claims of a token whose signature no one has checked yet. */
  check({ claims }: ReadToken, now: number): AcceptedClaims | { readonly problem: string } {
    return checkClaims(claims, { audience: this.#options.audience, now });
  }

  /** Whether the API server says that it is a token of this user for us. Rejects with {@link ReviewUnavailable} where that cannot be asked. */
  async isOf({ text }: ReadToken, user: string): Promise<boolean> {
    if (this.#underway >= maxReviews) throw new ReviewUnavailable('too many tokens are being checked');
    this.#underway += 1;
    try {
      const { status } = await this.#review(text);
      const { authenticated, user: found, audiences } = asObject(status);
      const isForUs = asTexts(audiences).includes(this.#options.audience);
      return authenticated === true && isForUs && asText(asObject(found)['username']) === user;
    } catch (error) {
      this.#warn(error);
      throw new ReviewUnavailable('the API server does not check tokens now');
    } finally {
      this.#underway -= 1;
    }
  }

  #warn(err: unknown): void {
    const { clock, log } = this.#options;
    const now = clock.monotonic();
    if (now - this.#warned < warnEveryMs) return;
    this.#warned = now;
    log.warn({ err }, 'tokens of service accounts cannot be checked');
  }

  async #review(token: string): Promise<JsonObject> {
    const { client, audience } = this.#options;
    const reader = client.as({
      serviceAccount: { namespace: systemNamespace, name: serviceAccounts.reader },
    });
    const review = {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenReview',
      spec: { token, audiences: [audience] },
    };
    return asObject(await reader.create(tokenReviews, review));
  }
}
