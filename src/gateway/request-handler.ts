import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '../kube/clock.ts';
import type { Logger } from '../logger.ts';
import { apiPrefix, formatTarget } from '../scope/request-path.ts';
import type { ResolvedRequest } from '../scope/requests/resolve-request.ts';
import type { GatewaySettings } from '../settings/gateway.ts';
import type { GatewayMetrics } from '../telemetry/metrics/gateway.ts';
import { version } from '../version.ts';
import { type Authenticated, authenticate } from './gate/authenticate.ts';
import { findDenial, resolve } from './gate/authorise.ts';
import type { OpenRequest, OpenRequests } from './gate/open-requests.ts';
import type { CredentialIndex } from './index/credential-index.ts';
import type { Verdict } from './index/verdict.ts';
import { forward } from './proxy/forward.ts';
import { impersonates, requestHeaders } from './proxy/request-headers.ts';
import type { Upstream } from './proxy/upstream.ts';
import { type ErrorAnswer, errorAnswer, sendError } from './server/error-answer.ts';

export interface RequestHandlerOptions {
  readonly settings: Pick<GatewaySettings, 'baseURL' | 'maxCredentialBytes' | 'upstreamWaitMs'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: GatewayMetrics;
  readonly index: Pick<CredentialIndex, 'find' | 'problem'>;
  readonly open: OpenRequests;
  readonly platform: Upstream;
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** The way of a request: who sends it, what it asks for, whether that is in scope; then on to the target, or back with an error. */
export class RequestHandler {
  readonly #options: RequestHandlerOptions;
  /** The path of the base URL; empty where it has none. */
  readonly #basePath: string;
  readonly #authentication;

  constructor(options: RequestHandlerOptions) {
    const { settings, index } = options;
    this.#options = options;
    this.#basePath = new URL(settings.baseURL).pathname.replace(/\/$/, '');
    this.#authentication = { index, maxCredentialBytes: settings.maxCredentialBytes };
  }

  handle(request: IncomingMessage, response: ServerResponse): void {
    const refusal = this.#pass({ request, response });
    if (refusal === undefined) return;
    this.#options.metrics.refusals.inc({ error: refusal.code });
    sendError(response, refusal);
  }

  /** The answer, unless the request is on its way. Nothing here waits. */
  #pass(exchange: Exchange): ErrorAnswer | undefined {
    const { method = '', headers, rawHeaders } = exchange.request;
    const path = this.#pathOf(exchange.request);
    if (path === undefined) return notFound;
    if (path === '/version' && method === 'GET') return void sendVersion(exchange.response);
    if (impersonates(rawHeaders)) return impersonation;
    const sender = authenticate(rawHeaders, this.#authentication);
    if ('status' in sender) return sender;
    const asked = resolve({ method, target: path, contentType: headers['content-type'] });
    if ('status' in asked) return asked;
    const denial = findDenial(sender.verdict, asked);
    if (denial !== undefined) return denial;
    if (headers.upgrade !== undefined) return answerUpgrade(headers.upgrade);
    if (asked.target.kind !== 'management') return notFound;
    return this.#enter(exchange, asked, sender);
  }

  #enter(exchange: Exchange, asked: ResolvedRequest, { hash, verdict }: Authenticated) {
    const { open } = this.#options;
    const { response } = exchange;
    const request = { asked, isLong: isLongRunning(asked), cut: () => void response.destroy() };
    const refusal = open.enter(hash, request);
    if (refusal !== undefined) return refusal;
    response.once('close', () => open.leave(hash, request));
    this.#observe(response, request);
    this.#forward(exchange, request, verdict);
    return undefined;
  }

  #forward({ request, response }: Exchange, { asked, isLong }: OpenRequest, verdict: Verdict): void {
    const { clock, log, platform, settings } = this.#options;
    const { method = '', socket, rawHeaders } = request;
    const clientAddress = socket.remoteAddress ?? 'unknown';
    const { impersonation: user } = verdict;
    const headers = requestHeaders(rawHeaders, { clientAddress, impersonation: user });
    forward({
      request,
      response,
      upstream: platform,
      send: { method, path: asked.forward, headers, isLong },
      publicPath: this.#basePath + apiPrefix + (formatTarget(asked.target) ?? ''),
      clock,
      maxWaitMs: settings.upstreamWaitMs,
      onFailure: (error) => log.warn({ target: asked.target.kind, err: error }, 'a request got no answer'),
    });
  }

  #observe(response: ServerResponse, { asked, isLong }: OpenRequest): void {
    const { clock, metrics } = this.#options;
    const { verb } = asked;
    const target = asked.target.kind;
    const started = clock.monotonic();
    const kind = isLong ? 'long' : 'short';
    metrics.underway.inc({ kind });
    response.once('close', () => {
      metrics.underway.dec({ kind });
      metrics.requests.inc({ target, verb, code: response.headersSent ? response.statusCode : 0 });
      if (!isLong) metrics.seconds.observe({ target, verb }, (clock.monotonic() - started) / 1000);
    });
  }

  #pathOf({ url = '' }: IncomingMessage): string | undefined {
    if (this.#basePath === '') return url;
    return url.startsWith(`${this.#basePath}/`) ? url.slice(this.#basePath.length) : undefined;
  }
}

/** Those keep their connection for as long as they like, and their answers are passed on at once. */
function isLongRunning({ verb, subresource, forward: sent }: ResolvedRequest): boolean {
  if (verb === 'watch' || verb === 'proxy' || subresource === 'proxy') return true;
  return subresource === 'log' && /[?&]follow=/.test(sent);
}

/** What kubectl asks for will be served one day; anything else never. */
const answerUpgrade = (protocol: string): ErrorAnswer =>
  /^(?:websocket|spdy\/3\.1)$/i.test(protocol) ? upgrade : unknownUpgrade;

function sendVersion(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ version }));
}

const notFound = errorAnswer('ERR_REQUEST_PATH', { prefix: apiPrefix });
const impersonation = errorAnswer('ERR_IMPERSONATION', {});
const upgrade = errorAnswer('ERR_UPGRADE', {});
const unknownUpgrade = errorAnswer('ERR_REQUEST_MALFORMED', {
  problem: 'it asks for a protocol that is not served',
});
