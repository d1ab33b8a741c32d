import type { ServerResponse } from 'node:http';
import { sourceOf } from '../../cidr.ts';
import {
  accessTokenType,
  type RequestError,
  readExchangeRequest,
} from '../../credentials/exchange/request.ts';
import type { Clock } from '../../kube/clock.ts';
import type { Logger } from '../../logger.ts';
import type { GatewaySettings } from '../../settings/gateway.ts';
import type { RequestAudit } from '../audit/request-audit.ts';
import type {
  EndpointServices,
  Exchange,
  PublicContext,
  PublicEndpoint,
} from '../endpoints/shared/endpoint.ts';
import type { HeldBytes } from '../endpoints/shared/held-bytes.ts';
import { Refusal, refuse } from '../endpoints/shared/reply.ts';
import { mediaTypeOf, readBody } from '../endpoints/shared/request-body.ts';
import type { Misses } from '../gate/misses.ts';
import { ClientGone } from '../proxy/forward.ts';
import { requestHeaders } from '../proxy/request-headers.ts';
import type { Upstream } from '../proxy/upstream.ts';
import { type ErrorAnswer, errorAnswer, leaveRest } from '../server/error-answer.ts';
import { ConcurrencyLimit } from '../turns/concurrency-limit.ts';
import { type DecideOptions, type Decision, decide } from './decide.ts';
import { type MadeKey, type Making, makeKey } from './make-key.ts';
import { headersOf, oauthAnswer } from './oauth-answer.ts';

export interface ExchangesOptions extends Omit<DecideOptions, 'baseURL' | 'now' | 'index'> {
  readonly settings: Pick<GatewaySettings, 'baseURL' | 'stallTimeoutMs'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly index: DecideOptions['index'] & EndpointServices['index'];
  readonly quota: EndpointServices['quota'];
  readonly sitePolicy: EndpointServices['sitePolicy'];
  readonly held: Pick<HeldBytes, 'hold'>;
  /** Every request counts. */
  readonly attempts: Pick<Misses, 'isTooMany'>;
  readonly clientAddress: EndpointServices['clientAddress'];
  /** To the platform's API server. */
  readonly upstream: Upstream;
}

/** At once. Each holds a small body, and is answered within seconds. */
const limits = { all: 128, ofEach: 16 };
const maxBytes = 32_768;
/** For the whole body: a stranger who sends a byte now and then must not keep a place. */
const maxMs = 10_000;

/** `POST {base}/oauth/token`: exchanges tokens of other issuers for keys (RFC 8693). */
export class Exchanges implements PublicEndpoint {
  readonly methods = ['POST'];
  readonly #options: ExchangesOptions;
  /** Of strangers, by source address (IPv6: by /64). */
  readonly #underWay = new ConcurrencyLimit(limits);

  constructor(options: ExchangesOptions) {
    this.#options = options;
  }

  readonly answer = (exchange: Exchange, context: PublicContext): ErrorAnswer | undefined => {
    const { attempts, clientAddress, index } = this.#options;
    const { request, response } = exchange;
    const address = clientAddress(request);
    if (attempts.isTooMany(address)) return ending(response, tooMany);
    if (index.problem() !== undefined) return ending(response, stale);
    const leave = this.#underWay.enter(sourceOf(address));
    if (leave === undefined) return ending(response, busy);
    void this.#exchange(exchange, context)
      .catch((error: unknown) => this.#fail(exchange, context, error))
      .finally(leave);
    return undefined;
  };

  #fail({ response }: Exchange, { refuse: tell }: PublicContext, error: unknown): void {
    if (response.destroyed || error instanceof ClientGone) return;
    if (error instanceof WrongRequest) return tell(oauthAnswer(error.answer, error.error));
    if (error instanceof Refusal) return tell(oauthAnswer(error.answer));
    this.#options.log.error({ err: error }, 'a token exchange failed unexpectedly');
    tell(failed);
  }

  async #exchange(exchange: Exchange, { audit, onAuthenticated }: PublicContext): Promise<void> {
    const { settings, clock } = this.#options;
    const reading = readExchangeRequest(await this.#readForm(exchange));
    if ('error' in reading) throw new WrongRequest(reading);
    const now = () => clock.now();
    const decision = await decide(reading.request, { ...this.#options, ...settings, now });
    onAuthenticated(decision.maker.user);
    if ((await audit?.holdAsStranger()) === false) throw new Refusal(notOnRecord);
    const made = await this.#make(exchange, decision, audit);
    sendKey(exchange.response, made, clock.now());
  }

  async #make(exchange: Exchange, decision: Decision, audit: RequestAudit | undefined): Promise<MadeKey> {
    const { held, settings, clientAddress } = this.#options;
    const { maker, impersonation, object } = decision;
    const holding = held.hold({ user: maker.user, credential: maker.credential ?? maker.user });
    const headers = requestHeaders([], { clientAddress: clientAddress(exchange.request), impersonation });
    if (audit !== undefined) headers.push('audit-id', audit.auditID);
    audit?.acts('create');
    const making: Making = {
      ...{ services: this.#options, kind: 'OwnedAccessKey', held: holding, trail: audit },
      ...{ clock: this.#options.clock, maxStallMs: settings.stallTimeoutMs, turn: async () => undefined },
      // It has no credential of ours that could have ended.
      ...{ response: exchange.response, upstream: this.#options.upstream, maySend: () => true },
      send: { method: 'POST', path: '', headers, isLong: false, user: maker.user },
    };
    try {
      return await makeKey(making, object, decision);
    } finally {
      holding.release();
    }
  }

  async #readForm({ request, response }: Exchange): Promise<string> {
    const { clock, settings } = this.#options;
    if (mediaTypeOf(request.headers['content-type']) !== 'application/x-www-form-urlencoded')
      refuse('ERR_EXCHANGE_REQUEST', { problem: noForm });
    if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw new Refusal(tooLarge);
    const source = {
      ...{ request, response, clock, maxStallMs: settings.stallTimeoutMs },
      ...{
        turn: async () => undefined,
        enterLargeBody: async () => () => undefined,
        onOver: () => undefined,
      },
    };
    const body = await readBody(source, { maxBytes, tooLarge, maxMs });
    if (!Buffer.isBuffer(body)) throw new Refusal(body);
    return body.toString('utf8');
  }
}

/** One that the RFC has a name of its own for. */
class WrongRequest extends Refusal {
  readonly error: RequestError;

  constructor({ error, problem }: { readonly error: RequestError; readonly problem: string }) {
    super(errorAnswer('ERR_EXCHANGE_REQUEST', { problem }));
    this.error = error;
  }
}

/** The answer of RFC 8693, 2.2.1. No one keeps it. */
function sendKey(response: ServerResponse, { key, end }: MadeKey, now: number): void {
  if (response.destroyed) return;
  const body = JSON.stringify({
    access_token: key,
    issued_token_type: accessTokenType,
    token_type: 'Bearer',
    ...(Number.isFinite(end) ? { expires_in: Math.max(0, Math.floor((end - now) / 1_000)) } : {}),
  });
  leaveRest(response);
  response.writeHead(200, [...headersOf(body)]);
  response.end(body);
}

function ending(response: ServerResponse, answer: ErrorAnswer): ErrorAnswer {
  response.shouldKeepAlive = false;
  return answer;
}

const noForm = 'its Content-Type is not application/x-www-form-urlencoded';
const tooLarge = errorAnswer('ERR_BODY_TOO_LARGE', { bytes: maxBytes });
const notOnRecord = errorAnswer('ERR_AUDIT_UNAVAILABLE', {}, { headers: ['retry-after', '5'] });
const tooMany = oauthAnswer(
  errorAnswer('ERR_TOO_MANY_UNAUTHENTICATED', {}, { headers: ['retry-after', '10'] }),
);
const stale = oauthAnswer(errorAnswer('ERR_INDEX_STALE', {}, { headers: ['retry-after', '5'] }));
const busy = oauthAnswer(
  errorAnswer(
    'ERR_EXCHANGE_UNAVAILABLE',
    { problem: 'too many are under way' },
    { headers: ['retry-after', '1'] },
  ),
);
const failed = oauthAnswer(errorAnswer('ERR_INTERNAL', { cause: 'the token could not be exchanged' }));
