import { namespaces } from '../../api/resources.ts';
import type { CredentialRecord, Requester } from '../../credentials/record.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import type { Clock } from '../../kube/clock.ts';
import { ignoreNotFound } from '../../kube/kube-error.ts';
import { type AccessQuestion, isAllowed } from '../../platform/access-review.ts';
import { RetrySchedule } from '../shared/retry-schedule.ts';
import type { CredentialRefusal } from './desired-status.ts';
import { notPermitted, otherNamespace, type Review } from './review.ts';

export interface PermissionReviewsOptions {
  readonly client: Pick<KubeClient, 'create' | 'get'>;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
}

/**
 * Asks the API server what reviews ask for, and does not ask again at once after a no. Then that question comes first: one user may
 * have thousands of objects that stay refused, with many questions each.
 */
export class PermissionReviews {
  readonly #client: PermissionReviewsOptions['client'];
  readonly #retries: RetrySchedule<CredentialRefusal & { readonly denied?: AccessQuestion }>;

  constructor({ client, clock, random }: PermissionReviewsOptions) {
    this.#client = client;
    this.#retries = new RetrySchedule(clock, { initialMs: 1_000, maxMs: 60_000, random });
  }

  /** Undefined: all is permitted. Rejects when the API server does not answer, which is never a no. */
  async ask({ uid }: Pick<CredentialRecord, 'uid'>, review: Review): Promise<Denial | undefined> {
    const attempt = JSON.stringify(review);
    const waiting = this.#retries.waiting(uid, attempt);
    if (waiting !== undefined) return { refusal: toRefusal(waiting.problem), waitMs: waiting.waitMs };
    const { asker, invitation } = review;
    const isOther = invitation !== undefined && !(await this.#isSame(invitation));
    if (isOther && invitation.otherwise === undefined) return { refusal: otherNamespace, waitMs: recheckMs };
    const questions = [...((isOther && invitation.otherwise) || []), ...review.questions];
    const before = JSON.stringify(this.#retries.last(uid, attempt)?.denied);
    const again = questions.filter((question) => JSON.stringify(question) === before);
    const denied = (await this.#firstDenied(asker, again)) ?? (await this.#firstDenied(asker, questions));
    if (denied === undefined) return void this.#retries.succeeded(uid);
    const refusal = notPermitted(asker, denied);
    return { refusal, waitMs: this.#retries.failed(uid, attempt, { ...refusal, denied }).waitMs };
  }

  async #firstDenied(
    asker: Requester,
    questions: readonly AccessQuestion[],
  ): Promise<AccessQuestion | undefined> {
    const answers = await Promise.all(questions.map((question) => isAllowed(this.#client, asker, question)));
    return questions.find((_, index) => answers[index] !== true);
  }

  async #isSame({ namespace: name, uid }: NonNullable<Review['invitation']>): Promise<boolean> {
    const found = await this.#client.get(namespaces, { name }).catch(ignoreNotFound);
    return found?.metadata.uid === uid;
  }
}

export interface Denial {
  readonly refusal: CredentialRefusal;
  readonly waitMs: number;
}

const toRefusal = ({ reason, message }: CredentialRefusal): CredentialRefusal => ({
  reason,
  message,
  final: false,
});

const recheckMs = 60_000;
