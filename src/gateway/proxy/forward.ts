import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { type Duplex, PassThrough } from 'node:stream';
import type { Dispatcher } from 'undici';
import type { Clock } from '../../kube/clock.ts';
import { WriteBudget } from '../../kube/queue/write-budget.ts';
import type { Trail } from '../audit/trail.ts';
import {
  type ErrorAnswer,
  errorAnswer,
  hasBody,
  leaveRest,
  sendError,
  tooManyRequests,
} from '../server/error-answer.ts';
import { isHeader } from '../server/request-head.ts';
import { warningOf } from '../server/warning.ts';
import { isLargeBody, type Release } from '../turns/large-bodies.ts';
import { UpstreamBusy } from '../turns/request-slots.ts';
import { StallGuard } from '../turns/stall-guard.ts';
import { BadResponse } from './http/response-head.ts';
import { responseHeaders } from './response-headers.ts';
import { type AskedTunnel, openTunnel } from './tunnel/open-tunnel.ts';
import { UnauthorizedAnswer } from './unauthorized-answer.ts';
import type { Sent, Upstream, UpstreamRequest } from './upstream.ts';

export interface Forwarding {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly upstream: Upstream;
  readonly send: Omit<UpstreamRequest, 'body'>;
  /** The body of the request, where it was read already. */
  readonly body?: Buffer;
  /** Where clients find the target. */
  readonly publicPath: string;
  /** The tunnel that the answer may become. */
  readonly tunnel?: AskedTunnel | undefined;
  /** A workload behind the subresource `proxy` of the API server may give the answer. */
  readonly isToWorkload?: boolean;
  readonly trail?: Trail | undefined;
  /** A note for the client besides a refusal of the API server. */
  readonly forbiddenNote?: () => string | undefined;
  readonly clock: Clock;
  /** How long a short request may stand still on either side. Watches that are passed on may for as long as they like. */
  readonly maxStallMs: number;
  /**
   * For the time of the main thread: wait for it before each piece of work. Takes how many bytes of a body were received before. Rejects
   * with ClientGone.
   */
  readonly turn: (receivedBytes?: number) => Promise<void>;
  /** Wait for it before a large body is read. Undefined: it waited too long, or the client is gone. */
  readonly enterLargeBody: () => Promise<Release | undefined>;
  /** Asked right before the first byte goes to the target. False: the credential no longer allows the request, which is cut. */
  readonly maySend: () => boolean;
  /** So many bytes were received or sent by the main thread. */
  readonly charge: (bytes: number) => void;
  /** Told why a request got no whole answer from the target, and what it gets instead; undefined where the answer had begun. */
  readonly onFailure: (error: Error, refusal: ErrorAnswer | undefined) => void;
}

/** Passes a request on and its answer back, byte by byte, each side at the pace of the slower one. */
export function forward(forwarding: Forwarding): void {
  const { request, response } = forwarding;
  if (response.destroyed) return;
  const isUnread = forwarding.body === undefined && hasBody(request);
  if (!isUnread || forwarding.send.isLong || !isLargeBody(request.headers)) return start(forwarding);
  // Without this an error here would end the process.
  forwardLarge(forwarding).catch((error: Error) => giveUp(forwarding, error, answerTo(error)));
}

function start(forwarding: Forwarding): void {
  const { request, response } = forwarding;
  if (forwarding.body === undefined && expectsContinue(request)) response.writeContinue();
  new Relay(forwarding, forwarding.body ?? bodyOf(request)).dispatch();
}

/** The main thread receives it and sends it again, and others need that thread too. */
async function forwardLarge(forwarding: Forwarding): Promise<void> {
  const { request, response, enterLargeBody, turn } = forwarding;
  const release = await enterLargeBody();
  if (release === undefined)
    return giveUp(forwarding, new Error('too many large bodies wait'), tooManyOfUser);
  // A response may end before the body is read: then its request never closes.
  request.once('close', release);
  response.once('close', release);
  await turn().catch(() => undefined);
  if (!response.destroyed) start(forwarding);
}

function giveUp({ response, onFailure }: Forwarding, error: Error, answer: ErrorAnswer): void {
  if (response.destroyed) return;
  onFailure(error, answer);
  if (response.headersSent) response.destroy();
  else sendError(response, answer);
}

/** Whether the client holds its body back until it is told to send it. */
export const expectsContinue = ({ headers }: IncomingMessage): boolean =>
  /^100-continue$/i.test(headers.expect ?? '');

const bodyOf = (request: IncomingMessage): PassThrough | null =>
  hasBody(request) ? request.pipe(new PassThrough()) : null;

/** Neither side did anything for too long. */
export class Stalled extends Error {}

/** A refusal of our identity is a short text. */
const maxRefusalBytes = 65_536;

/**
 * Bytes. Each piece that somebody cuts a body into takes a turn of its own through Node, whatever its size: twenty uploads in
 * pieces of one byte took all of a processor.
 */
export const smallPiece = 64;
/** Small pieces of the body of a request: a second, and at once. */
export const smallPieces = { rate: 100, burst: 500 };
/**
 * Pieces of an answer that wait for the client. Node counts their bytes alone, and none at all of those that are written
 * corked: an answer in pieces of one byte, to a client that reads nothing, filled the memory.
 */
const maxWaiting = 128;

class Relay implements Dispatcher.DispatchHandler {
  readonly #forwarding: Forwarding;
  readonly #body: PassThrough | Buffer | null;
  readonly #response: ServerResponse;
  #sent: Sent | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  readonly #guard: StallGuard | undefined;
  #hasRetried = false;
  /** Bytes of a 401 of an API server, which are not passed on; undefined for any other answer. */
  #refusalBytes: number | undefined;
  /** A 401 that may be the answer of a workload; undefined for any other answer. */
  #unauthorized: UnauthorizedAnswer | undefined;
  #isOver = false;
  #isCorked = false;
  #waiting = 0;
  readonly #onTaken = (): void => this.#taken();
  #smallPieces: WriteBudget | undefined;

  constructor(forwarding: Forwarding, body: PassThrough | Buffer | null) {
    const { request, response } = forwarding;
    this.#forwarding = forwarding;
    this.#body = body;
    this.#response = response;
    // Without a listener the error of a client that leaves would end the process.
    if (body instanceof PassThrough) {
      body.on('error', () => undefined);
      request
        .once('error', (error) => body.destroy(error))
        .on('data', (chunk: Buffer) => this.#onRequestData(chunk));
    }
    // A tunnel may stand still, and the answer to the request for one may not.
    const isGuarded = !forwarding.send.isLong || forwarding.tunnel !== undefined;
    this.#guard = isGuarded ? this.#createGuard() : undefined;
    response.on('close', () => this.#onClosed()).on('drain', () => this.#controller?.resume());
  }

  dispatch(): void {
    const { upstream, send } = this.#forwarding;
    this.#sent = upstream.dispatch({ ...send, body: this.#body }, this);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // Its credential may have ended while it waited for a slot and a connection.
    if (!this.#forwarding.maySend()) this.#onClosed();
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    _headers: IncomingHttpHeaders,
  ): void {
    // 103 and the like come before the answer and are not for the client.
    if (status < 200) return;
    if (status > 599) return this.#refuseAnswer(controller, 'the status of the answer means nothing');
    if (status === 401) this.#startUnauthorized(controller);
    else this.#start(controller, status, controller.rawHeaders as string[]);
  }

  #startUnauthorized(controller: Dispatcher.DispatchController): void {
    if (this.#forwarding.isToWorkload !== true) {
      this.#refusalBytes = 0;
      return;
    }
    const { method } = this.#forwarding.send;
    this.#unauthorized = new UnauthorizedAnswer({ method, rawHeaders: controller.rawHeaders as string[] });
    if (this.#unauthorized.isOfWorkload) this.#passUnauthorized(controller, this.#unauthorized);
  }

  #passUnauthorized(controller: Dispatcher.DispatchController, answer: UnauthorizedAnswer): void {
    this.#unauthorized = undefined;
    this.#start(controller, 401, answer.rawHeaders);
    for (const chunk of answer.takeChunks()) if (!this.#isOver) this.#write(controller, chunk);
  }

  #start(controller: Dispatcher.DispatchController, status: number, rawHeaders: readonly string[]): void {
    this.#guard?.progress();
    const headers = responseHeaders(rawHeaders, this.#forwarding.publicPath);
    if (headers === undefined) return this.#refuseAnswer(controller, 'the answer sends the client elsewhere');
    leaveRest(this.#response);
    this.#response.writeHead(status, [...headers, ...this.#noteOn(status)]);
    const { trail } = this.#forwarding;
    trail?.upstream(auditIDIn(rawHeaders));
    trail?.began();
    if (!this.#forwarding.send.isLong) return;
    this.#guard?.stop();
    this.#response.flushHeaders();
  }

  #noteOn(status: number): readonly string[] {
    const { isToWorkload, forbiddenNote } = this.#forwarding;
    const note = status === 403 && isToWorkload !== true ? forbiddenNote?.() : undefined;
    return note === undefined ? [] : ['warning', warningOf(note)];
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#refusalBytes !== undefined) {
      this.#refusalBytes += chunk.length;
      if (this.#refusalBytes > maxRefusalBytes) controller.abort(new Error('an endless refusal'));
    } else if (this.#unauthorized !== undefined) {
      this.#unauthorized.add(chunk);
      if (this.#unauthorized.isOfWorkload) this.#passUnauthorized(controller, this.#unauthorized);
    } else if (!this.#isOver) this.#write(controller, chunk);
  }

  #onRequestData({ length }: Buffer): void {
    this.#guard?.progress();
    // It was received, and is sent on.
    this.#forwarding.charge(2 * length);
    if (length >= smallPiece || this.#isOver) return;
    this.#smallPieces ??= new WriteBudget(smallPieces);
    if (this.#smallPieces.tryReserve(this.#forwarding.clock.monotonic())) return;
    const error = new Error('the body of the request comes in too many small pieces');
    this.#fail(error, tooManyPieces);
    this.#sent?.abort(error);
  }

  /** Progress is what the client takes, not what piles up for it. Small pieces that came together go on together. */
  #write(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (chunk.length < smallPiece && !this.#isCorked) {
      this.#isCorked = true;
      this.#response.cork();
      process.nextTick(() => this.#uncork());
    }
    this.#waiting += 1;
    const hasRoom = this.#response.write(chunk, this.#onTaken);
    if (!hasRoom || this.#waiting >= maxWaiting) controller.pause();
  }

  #taken(): void {
    this.#waiting -= 1;
    this.#guard?.progress();
    if (this.#waiting < maxWaiting / 2 && !this.#response.writableNeedDrain) this.#controller?.resume();
  }

  #uncork(): void {
    if (!this.#isCorked) return;
    this.#isCorked = false;
    this.#response.uncork();
  }

  #createGuard(): StallGuard {
    const { clock, maxStallMs } = this.#forwarding;
    return new StallGuard(clock, maxStallMs, () => this.#onStalled());
  }

  #onStalled(): void {
    // The client does not take the end of its answer. It must not keep its place for ever.
    if (this.#isOver) return void this.#response.destroy();
    const error = new Stalled('the request stood still');
    this.#fail(error, answerTo(error));
    this.#sent?.abort(error);
  }

  onResponseEnd(controller: Dispatcher.DispatchController): void {
    if (this.#refusalBytes !== undefined || this.#unauthorized?.isOfAPIServer === true)
      return void this.#onRefused();
    if (this.#unauthorized !== undefined) this.#passUnauthorized(controller, this.#unauthorized);
    if (this.#isOver) return;
    this.#isOver = true;
    this.#guard?.progress();
    if (controller.aborted) this.#endConnection();
    // Node would write the end of the body before what it still holds back.
    this.#uncork();
    this.#response.end();
  }

  /** The client has its answer. The target sent more than that, and none of it may ever seem to belong to the next one. */
  #endConnection(): void {
    const { socket } = this.#forwarding.request;
    this.#response.shouldKeepAlive = false;
    this.#response.once('finish', () => socket.destroySoon());
  }

  onRequestUpgrade(
    controller: Dispatcher.DispatchController,
    _status: number,
    _headers: IncomingHttpHeaders,
    upstream: Duplex,
  ): void {
    try {
      // A cut or a leaving client is heard of only after everything that was read in this turn of the event loop.
      if (this.#isOver || this.#response.destroyed || this.#forwarding.request.socket.destroyed)
        throw clientGone;
      const rawHeaders = controller.rawHeaders as string[];
      openTunnel(this.#forwarding, { upstream, rawHeaders });
      this.#forwarding.trail?.upstream(auditIDIn(rawHeaders));
      this.#forwarding.trail?.switched();
      this.#isOver = true;
      this.#guard?.stop();
    } catch (error) {
      upstream.destroy();
      this.#fail(error as Error, answerTo(error as Error));
    }
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    this.#fail(error, answerTo(error));
  }

  #refuseAnswer(controller: Dispatcher.DispatchController, problem: string): void {
    const error = new Error(problem);
    this.#fail(error, badAnswer);
    controller.abort(error);
  }

  /**
   * The target refuses our identity, not the client's, which must not throw its credential away. A body that was sent cannot be
   * sent again.
   */
  async #onRefused(): Promise<void> {
    const isRenewed =
      this.#sent && (await this.#forwarding.upstream.refreshed(this.#sent).catch(() => false));
    if (this.#isOver) return;
    if (!isRenewed || this.#hasRetried || this.#body instanceof PassThrough)
      return this.#fail(new Error('the target refuses the identity of the gateway'), unavailable);
    this.#hasRetried = true;
    this.#refusalBytes = undefined;
    this.#unauthorized = undefined;
    this.dispatch();
  }

  #onClosed(): void {
    this.#guard?.stop();
    if (this.#isOver) return;
    this.#isOver = true;
    if (this.#body instanceof PassThrough) this.#body.destroy();
    this.#sent?.abort(clientGone);
  }

  /** After the first byte of an answer only a cut connection tells the client that the rest is missing. */
  #fail(error: Error, answer: ErrorAnswer): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const refusal = this.#response.headersSent ? undefined : answer;
    this.#forwarding.onFailure(error, refusal);
    this.#forwarding.request.unpipe();
    if (refusal === undefined) this.#response.destroy();
    else sendError(this.#response, refusal);
  }
}

function auditIDIn(rawHeaders: readonly string[]): string | undefined {
  for (let index = 0; index < rawHeaders.length; index += 2)
    if (isHeader(rawHeaders[index], 'audit-id')) return rawHeaders[index + 1];
  return undefined;
}

/** The client has left, or its credential has ended: nothing more may be done for it. */
export class ClientGone extends Error {
  constructor() {
    super('the client is gone');
  }
}

const clientGone = new ClientGone();
export const tooManyOfUser = tooManyRequests('this user');
const badAnswer = errorAnswer('ERR_UPSTREAM_ANSWER', {});
const unavailable = errorAnswer('ERR_UPSTREAM_UNAVAILABLE', {}, { headers: ['retry-after', '1'] });
export const tooManyPieces = errorAnswer('ERR_REQUEST_MALFORMED', {
  problem: 'its body comes in too many small pieces',
});
const timedOut = errorAnswer('ERR_UPSTREAM_TIMEOUT', {});
const busy = errorAnswer('ERR_UPSTREAM_BUSY', {}, { headers: ['retry-after', '1'] });

/** Answers the client where a target cannot be asked, or its answer not passed on. */
export function answerTo(error: Error): ErrorAnswer {
  if (error instanceof UpstreamBusy) return busy;
  if (error instanceof Stalled) return timedOut;
  return isAnswerProblem(error) ? badAnswer : unavailable;
}

/** The target was reached, and what it sent is no HTTP that may be passed on. */
const isAnswerProblem = (error: Error & { readonly code?: string }): boolean =>
  error instanceof BadResponse ||
  /^(?:ERR_INVALID_|ERR_HTTP_INVALID|ERR_KUBE_RESPONSE)/.test(error.code ?? '');
