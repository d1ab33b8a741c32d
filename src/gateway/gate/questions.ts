import type { Identity } from '../../credentials/identity.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import type { Clock } from '../../kube/clock.ts';
import { type AccessQuestion, isSelfAllowed } from '../../platform/access-review.ts';
import { RequestSlot, RequestSlots, UpstreamBusy } from '../turns/request-slots.ts';

/** About who may enter a target, who may stay there, and whose tokens direct endpoints follow. */
export const questionsAtOnce = { entering: 16, staying: 16, following: 16 };

export interface QuestionsOptions {
  /** Asks the platform. Rejects with the client's errors. */
  readonly isAllowed: (identity: Identity, question: AccessQuestion) => Promise<boolean>;
  readonly clock: Clock;
  /** Under way at once. */
  readonly max: number;
  readonly maxWaiting: number;
  readonly maxWaitMs: number;
}

interface GivenAnswer {
  readonly allowed: boolean;
  /** When the question was sent. */
  readonly asked: number;
}

/** For {@link QuestionsOptions}: asks as the user. The client has a connection for each question that may be under way. */
export const askAsUser =
  (client: Pick<KubeClient, 'as'>): QuestionsOptions['isAllowed'] =>
  async ({ user, groups }, question) =>
    await isSelfAllowed(client.as({ user, groups }), question);

/** Asks the platform what users may do. Questions have slots, and a line in front of them, as the requests to a target do. */
export class Questions {
  readonly #options: QuestionsOptions;
  readonly #slots: RequestSlots;
  readonly #asking = new Map<string, Promise<GivenAnswer>>();

  constructor(options: QuestionsOptions) {
    this.#options = options;
    this.#slots = new RequestSlots(options);
  }

  /** All who ask with the same key at the same time share a question. Rejects with the client's errors, or with UpstreamBusy. */
  async ask(key: string, identity: Identity, question: AccessQuestion): Promise<GivenAnswer> {
    const known = this.#asking.get(key);
    if (known !== undefined) return await known;
    const asking = this.#ask(identity, question);
    this.#asking.set(key, asking);
    try {
      return await asking;
    } finally {
      this.#asking.delete(key);
    }
  }

  async #ask(identity: Identity, question: AccessQuestion): Promise<GivenAnswer> {
    const { isAllowed, clock, maxWaitMs } = this.#options;
    const turn = new Turn(identity.user);
    if (!this.#slots.enter(turn)) throw new UpstreamBusy();
    try {
      if (turn.state === 'waiting') await turn.comes(clock, maxWaitMs);
      const asked = clock.monotonic();
      return { asked, allowed: await isAllowed(identity, question) };
    } finally {
      this.#slots.leave(turn);
    }
  }
}

class Turn extends RequestSlot {
  readonly #turn = Promise.withResolvers<void>();

  override onTurn(): void {
    this.#turn.resolve();
  }

  override onRefused(): void {
    this.#turn.reject(new UpstreamBusy());
  }

  async comes(clock: Clock, maxWaitMs: number): Promise<void> {
    const timer = clock.setTimer(() => this.#turn.reject(new UpstreamBusy()), maxWaitMs);
    try {
      await this.#turn.promise;
    } finally {
      timer.cancel();
    }
  }
}
