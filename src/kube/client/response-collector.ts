import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { type Action, badAnswer, unreachable } from '../kube-error.ts';

export interface RawResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface CollectorOptions {
  readonly action: Action;
  readonly maxBytes: number;
  /** Runs when the connection is there, right before the first byte goes out; when it throws, none does. */
  readonly beforeSend?: (() => void) | undefined;
  readonly resolve: (response: RawResponse) => void;
  readonly reject: (reason: unknown) => void;
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

  constructor(options: CollectorOptions) {
    this.#options = options;
  }

  /** Ends the request, also while it still waits for a connection. */
  abort(reason: unknown): void {
    if (this.#settled) return;
    this.#settled = true;
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
  }

  onResponseEnd(): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#options.resolve({ status: this.#status, headers: this.#headers, body: this.#text() });
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#options.reject(unreachable(this.#options.action, error));
  }

  #join(): void {
    this.#chunks.push(Buffer.concat(this.#recent));
    this.#recent = [];
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
