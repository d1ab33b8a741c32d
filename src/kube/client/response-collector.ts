import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { type Action, badAnswer, unreachable } from '../kube-error.ts';
import type { ByteLane } from './byte-budget.ts';

export interface RawResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface CollectorOptions {
  readonly action: Action;
  readonly maxBytes: number;
  /** For answers that are not small; what is beyond it waits on the wire. */
  readonly budget?: ByteLane | undefined;
  /** Runs when the connection is there, right before the first byte goes out; when it throws, none does. */
  readonly beforeSend?: (() => void) | undefined;
  readonly resolve: (response: RawResponse) => void;
  readonly reject: (reason: unknown) => void;
}

/** Every answer may have as much without asking: nearly all are smaller. */
const freeBytes = 2 ** 16;
/** A server may send a byte in each chunk. */
const minPayment = 2 ** 14;

/** To have bytes from the budget. */
interface Wish {
  isPaid: boolean;
  takeBack: () => void;
}

/** Gathers one bounded answer. Lower and lighter than `request()`, which makes a stream for each answer. */
export class ResponseCollector implements Dispatcher.DispatchHandler {
  readonly #options: CollectorOptions;
  readonly #chunks: Buffer[] = [];
  #recent: Buffer[] = [];
  #size = 0;
  #status = 0;
  #headers: IncomingHttpHeaders = {};
  #controller: Dispatcher.DispatchController | undefined;
  #settled = false;
  /** Bytes that came and for which there is no wish yet. */
  #owed = 0;
  readonly #unpaid = new Set<Wish>();

  constructor(options: CollectorOptions) {
    this.#options = options;
  }

  /** Ends the request, also while it still waits for a connection. */
  abort(reason: unknown): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#stopPaying();
    this.#options.reject(reason);
    this.#controller?.abort(new Error('aborted'));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    try {
      if (!this.#settled) this.#options.beforeSend?.();
    } catch (error) {
      this.abort(error);
    }
    if (this.#settled) controller.abort(new Error('aborted'));
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
  ): void {
    this.#status = status;
    this.#headers = headers;
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#size += chunk.length;
    const { maxBytes, action } = this.#options;
    if (this.#size > maxBytes)
      return this.abort(badAnswer(action, `more than ${maxBytes} bytes`, this.#status));
    this.#recent.push(chunk);
    if (this.#recent.length === maxRecent) this.#join();
    if (this.#size > freeBytes) this.#pay(chunk.length);
  }

  onResponseEnd(): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#options.resolve({ status: this.#status, headers: this.#headers, body: this.#text() });
    this.#stopPaying();
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#stopPaying();
    this.#options.reject(unreachable(this.#options.action, error));
  }

  #join(): void {
    this.#chunks.push(Buffer.concat(this.#recent));
    this.#recent = [];
  }

  /** No more is read before what came is paid. */
  #pay(bytes: number): void {
    const { budget } = this.#options;
    this.#owed += bytes;
    if (budget === undefined || this.#owed < minPayment) return;
    const wish: Wish = { isPaid: false, takeBack: () => undefined };
    wish.takeBack = budget.pay(this.#owed, () => {
      wish.isPaid = true;
      if (this.#unpaid.delete(wish) && this.#unpaid.size === 0) this.#controller?.resume();
    });
    this.#owed = 0;
    if (wish.isPaid) return;
    if (this.#unpaid.size === 0) this.#controller?.pause();
    this.#unpaid.add(wish);
  }

  #stopPaying(): void {
    for (const wish of this.#unpaid) wish.takeBack();
    this.#unpaid.clear();
  }

  #text(): string {
    if (this.#chunks.length === 0 && this.#recent.length === 1)
      return this.#recent[0]?.toString('utf8') ?? '';
    this.#join();
    return Buffer.concat(this.#chunks, this.#size).toString('utf8');
  }
}

/** Each takes a hundred bytes besides its own, and a server may send a byte in each: so many are kept before they are joined. */
const maxRecent = 1_024;
