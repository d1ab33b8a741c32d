import base from '@dot-i/k8s-operator';
import type { Controller } from '../shared/controller.ts';
import { type RunControllerOptions, runController } from './run-controller.ts';

export interface OperatorOptions extends RunControllerOptions {
  readonly controllers: readonly Controller[];
}

/**
 * The operator as a subclass of `Operator` of @dot-i/k8s-operator, which gives the shape: `start` calls `init`, and
 * `stop` ends what runs. What the base class does with the network is not used, see docs/decisions/0012.
 */
export class LatchkeyOperator extends base.default {
  readonly #options: OperatorOptions;
  #running: readonly Promise<void>[] = [];

  constructor(options: OperatorOptions) {
    super();
    this.#options = options;
  }

  protected override async init(): Promise<void> {
    this.#running = this.#options.controllers.map((each) => runController(each, this.#options));
  }

  /** Takes no more work; what workers have in hand they finish. */
  override stop(): void {
    for (const { queue } of this.#options.controllers) queue.shutDown({ discard: true });
  }

  /** Resolves when, after `stop`, the last object that was being worked on is done. */
  async stopped(): Promise<void> {
    await Promise.all(this.#running);
  }
}
