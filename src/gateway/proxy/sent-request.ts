import type { IncomingHttpHeaders } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Dispatcher } from 'undici';
import type { ClientIdentity } from '../../kube/client/client-identity.ts';
import type { Clock, Timer } from '../../kube/clock.ts';
import { RequestSlot, type RequestSlots, UpstreamBusy } from '../turns/request-slots.ts';

export interface SentRequestOptions {
  readonly user: string;
  readonly slots: RequestSlots;
  readonly handler: Dispatcher.DispatchHandler;
  readonly clock: Clock;
  readonly maxWaitMs: number;
  /** Has to call `dispatchTo` or `fail`, sooner or later. */
  readonly send: (request: SentRequest) => void;
}

type Controller = Dispatcher.DispatchController;

/** A request on its way to a pool and through it. It waits for a slot, and gives it back once, however it ends. */
export class SentRequest extends RequestSlot implements Dispatcher.DispatchHandler {
  /** Ours, with which it was sent; undefined before. */
  identity: ClientIdentity | undefined;
  readonly #options: SentRequestOptions;
  readonly #handler: Dispatcher.DispatchHandler;
  #waiting: Timer | undefined;
  #isInPool = false;
  #controller: Controller | undefined;
  /** Why it is to end as soon as the pool has a connection for it. */
  #abortReason: Error | undefined;
  #isOver = false;

  constructor(options: SentRequestOptions) {
    super(options.user);
    this.#options = options;
    this.#handler = options.handler;
  }

  enter(): void {
    if (!this.#options.slots.enter(this)) return this.fail(new UpstreamBusy());
    if (this.state === 'waiting') this.#limitWait();
    else this.#begin();
  }

  override onTurn(): void {
    this.#waiting?.cancel();
    // Not at once: where each request fails at once, the whole line would fail in one stack.
    setImmediate(() => this.#begin());
  }

  override onRefused(): void {
    this.fail(new UpstreamBusy());
  }

  dispatchTo(pool: Dispatcher, options: Dispatcher.DispatchOptions): void {
    if (this.#isOver) return;
    this.#waiting?.cancel();
    this.#isInPool = true;
    pool.dispatch(options, this);
  }

  /** For what fails outside of a pool. */
  fail(error: Error): void {
    if (this.#isOver) return;
    this.#end();
    this.#handler.onResponseError?.(null as never, error);
  }

  /** A pool keeps what waits for a new connection until that is there or has failed, and so long its slot is taken. */
  abort(reason: Error): void {
    if (!this.#isInPool) this.fail(reason);
    else if (this.#controller === undefined) this.#abortReason = reason;
    else this.#controller.abort(reason);
  }

  onRequestStart(controller: Controller, context: unknown): void {
    this.#controller = controller;
    if (this.#abortReason === undefined) this.#handler.onRequestStart?.(controller, context);
    else controller.abort(this.#abortReason);
  }

  onRequestUpgrade(
    controller: Controller,
    status: number,
    headers: IncomingHttpHeaders,
    socket: Duplex,
  ): void {
    socket.once('close', () => this.#end());
    this.#handler.onRequestUpgrade?.(controller, status, headers, socket);
  }

  onResponseStart(controller: Controller, status: number, headers: IncomingHttpHeaders): void {
    this.#handler.onResponseStart?.(controller, status, headers);
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    this.#handler.onResponseData?.(controller, chunk);
  }

  onResponseEnd(controller: Controller, trailers: IncomingHttpHeaders): void {
    this.#end();
    this.#handler.onResponseEnd?.(controller, trailers);
  }

  onResponseError(controller: Controller, error: Error): void {
    this.#end();
    this.#handler.onResponseError?.(controller, error);
  }

  #begin(): void {
    if (this.#isOver) return;
    this.#options.send(this);
    if (!this.#isInPool && !this.#isOver) this.#limitWait();
  }

  #limitWait(): void {
    const { clock, maxWaitMs } = this.#options;
    this.#waiting = clock.setTimer(() => this.fail(new UpstreamBusy()), maxWaitMs);
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#waiting?.cancel();
    this.#options.slots.leave(this);
  }
}
