import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Clock } from '../kube/clock.ts';
import type { Logger } from '../logger.ts';
import { liveCredentials } from '../scope/gate/agents.ts';
import type { ResolvedRequest } from '../scope/requests/resolve-request.ts';
import type { GatewaySettings } from '../settings/gateway.ts';
import type { GatewayMetrics } from '../telemetry/metrics/gateway.ts';
import type { RequestAudit } from './audit/request-audit.ts';
import type { RequestAudits } from './audit/request-audits.ts';
import type { Endpoints } from './endpoints/endpoints.ts';
import type { Exchange } from './endpoints/shared/endpoint.ts';
import { strictPath } from './endpoints/shared/strict-fields.ts';
import type { Authenticated } from './gate/authenticate.ts';
import { lostGroups } from './gate/lost-groups.ts';
import { type OpenRequest, type OpenRequests, shareOf } from './gate/open-requests.ts';
import type { CredentialIndex } from './index/credential-index.ts';
import type { Verdict } from './index/verdict.ts';
import { ClientGone, type Forwarding, forward } from './proxy/forward.ts';
import { requestHeaders } from './proxy/request-headers.ts';
import type { FoundTarget } from './proxy/targets.ts';
import type { AskedTunnel } from './proxy/tunnel/open-tunnel.ts';
import { mayBecomeTunnel, protocolOf, readUpgrade } from './proxy/tunnel/upgrade-request.ts';
import type { Upstream } from './proxy/upstream.ts';
import { type ErrorAnswer, errorAnswer, hasBody, sendError } from './server/error-answer.ts';
import { UpgradedResponse } from './server/upgraded-response.ts';
import type { LargeBodies } from './turns/large-bodies.ts';
import type { MainThread } from './turns/main-thread.ts';

export interface RequestSenderOptions {
  readonly settings: Pick<GatewaySettings, 'stallTimeoutMs' | 'sessionMaxMs'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: GatewayMetrics;
  readonly index: Pick<CredentialIndex, 'used'>;
  readonly open: OpenRequests;
  readonly endpoints: Pick<Endpoints, 'find' | 'findOnPlatform' | 'findPublic'>;
  readonly mainThread: Pick<MainThread, 'turn' | 'charge'>;
  readonly largeBodies: Pick<LargeBodies, 'enter'>;
  /** Absent: no line is written about requests. */
  readonly audits?: RequestAudits | undefined;
  /** The client, as far as it is known behind proxies. */
  readonly clientAddress: (request: IncomingMessage) => string;
}

/** A request that its scope lets pass. */
export interface Passed {
  readonly asked: ResolvedRequest;
  readonly sender: Authenticated;
  readonly audit: RequestAudit | undefined;
  readonly target: FoundTarget;
}

interface Sending extends Pick<Passed, 'sender' | 'target' | 'audit'> {
  readonly upstream: Upstream;
  readonly tunnel: AskedTunnel | undefined;
}

/** The way of a request that may enter its target: it is counted, put on record, and answered by an endpoint of the gateway or by the target. */
export class RequestSender {
  readonly #options: RequestSenderOptions;

  constructor(options: RequestSenderOptions) {
    this.#options = options;
  }

  /** The answer, unless the request is on its way. */
  start(exchange: Exchange, passed: Passed): ErrorAnswer | undefined {
    const { open } = this.#options;
    const { sender, target, audit } = passed;
    const { response } = exchange;
    const { upstream } = target;
    const tunnel = this.#readTunnel(exchange, passed);
    if (tunnel !== undefined && 'status' in tunnel) return tunnel;
    if (upstream === undefined) return notConnected;
    const request = { ...underwayOf(response, passed), targetUIDs: target.uids };
    const refusal = open.enter(sender.hash, request);
    if (refusal !== undefined) return refusal;
    const onEnd = this.#observe(response, request);
    response.on('close', () => {
      open.leave(sender.hash, request);
      onEnd();
    });
    if (audit !== undefined) audit.isLong = request.isLong;
    const send = () => this.#send(exchange, request, { sender, target, audit, upstream, tunnel });
    const held = audit?.hold();
    if (held === undefined) send();
    else void this.#sendOnRecord(response, held, send);
    return undefined;
  }

  /** Where lines are required, nothing goes to a target before its line is written. */
  async #sendOnRecord(response: ServerResponse, held: Promise<boolean>, send: () => void): Promise<void> {
    const isOnRecord = await held;
    // Its credential may have ended meanwhile.
    if (response.destroyed) return;
    try {
      if (isOnRecord) send();
      else this.refuse(response, notOnRecord);
    } catch (error) {
      this.fail(response, error);
    }
  }

  /** Reads a request for a tunnel; an answer to what is never served; undefined for all that is answered as plain HTTP. */
  #readTunnel(
    { request, response }: Exchange,
    { asked, sender }: Passed,
  ): AskedTunnel | ErrorAnswer | undefined {
    if (request.headers.upgrade === undefined) return undefined;
    if (hasBody(request)) return upgradeWithBody;
    const protocol = protocolOf({ method: request.method, upgrade: request.headers.upgrade });
    if (protocol === undefined) return unknownUpgrade;
    if (!(response instanceof UpgradedResponse) || !isForTunnel(request, asked)) return undefined;
    const read = readUpgrade(request.rawHeaders, protocol);
    if ('problem' in read) return errorAnswer('ERR_REQUEST_MALFORMED', read);
    const { settings, open } = this.#options;
    const user = shareOf(sender.verdict);
    return { request: read, response, maxMs: settings.sessionMaxMs, onInput: () => open.seen(user) };
  }

  #send({ request, response }: Exchange, underway: OpenRequest, sending: Sending): void {
    const { sender, target, upstream, audit } = sending;
    const { clock, log, metrics, settings, endpoints, index } = this.#options;
    index.used(sender.verdict.record);
    audit?.allowed();
    const { method = '', rawHeaders } = request;
    const { asked, isLong, share } = underway;
    const impersonation = impersonationIn(target, sender.verdict);
    const clientAddress = this.#options.clientAddress(request);
    const headers = requestHeaders(rawHeaders, { clientAddress, impersonation });
    if (audit !== undefined) headers.push('audit-id', audit.auditID);
    const path = target.isPlatform ? strictPath(asked) : asked.forward;
    const send = { method, path, headers, isLong, user: share };
    const forwarding = {
      ...{ request, response, upstream, send, clock, trail: audit },
      forbiddenNote: () => lostGroups(sender.verdict),
      isToWorkload: asked.subresource === 'proxy' && asked.apiGroup === '',
      publicPath: publicPathOf(request.url ?? '', asked.forward),
      maxStallMs: settings.stallTimeoutMs,
      ...this.#turnsOf(share, sender.hash, response),
      maySend: () => this.#options.open.mayGoOn(sender.hash, underway),
      onFailure: (error: Error, refusal: ErrorAnswer | undefined) => {
        log.warn({ target: asked.target.kind, err: error }, 'a request got no answer');
        if (refusal === undefined) return;
        metrics.refusals.inc({ error: refusal.code });
        audit?.failed(refusal.code);
      },
    };
    const onPlatform = target.isPlatform ? endpoints.findOnPlatform(asked, sender.verdict) : undefined;
    const endpoint = endpoints.find(asked, target) ?? onPlatform;
    const isTunnel = endpoint === undefined && sending.tunnel !== undefined;
    if (!isTunnel && isWatchByWebSocket(request, asked)) return endWatch(response);
    if (endpoint === undefined) return forward(withTunnel(forwarding, sending));
    const refuse = (answer: ErrorAnswer) => this.refuse(response, answer);
    const callbacks: (() => void)[] = [];
    const onOver = (callback: () => void) => void callbacks.push(callback);
    const passOn = () => forward(forwarding);
    const finishing = finishingOf(underway, forwarding);
    const passed = { ...forwarding, ...finishing, asked, sender, place: target, refuse, onOver, passOn };
    const over = () => {
      for (const callback of callbacks) callback();
    };
    void endpoint(passed)
      .catch((error: unknown) => this.fail(response, error))
      .finally(() => {
        if (response.closed) over();
        else response.once('close', over);
      });
  }

  #turnsOf(user: string, credential: string, response: ServerResponse) {
    const { mainThread, largeBodies } = this.#options;
    return {
      turn: async (receivedBytes = 0) => {
        await mainThread.turn(user, receivedBytes);
        // Its credential may have ended meanwhile.
        if (response.destroyed) throw new ClientGone();
      },
      enterLargeBody: async () => await largeBodies.enter({ user, credential }, response),
      charge: (bytes: number) => mainThread.charge(user, bytes),
    };
  }

  /** Returns what is to be called at the end. */
  #observe(response: ServerResponse, { asked, isLong }: OpenRequest): () => void {
    const { clock, metrics } = this.#options;
    const { verb } = asked;
    const target = asked.target.kind;
    const started = clock.monotonic();
    const kind = isLong ? 'long' : 'short';
    metrics.underway.inc({ kind });
    return () => {
      metrics.underway.dec({ kind });
      metrics.requests.inc({ target, verb, code: codeLabel(response) });
      if (!isLong) metrics.seconds.observe({ target, verb }, (clock.monotonic() - started) / 1000);
    };
  }

  refuse(response: ServerResponse, answer: ErrorAnswer): void {
    const { audits, metrics } = this.#options;
    metrics.refusals.inc({ error: answer.code });
    audits?.find(response)?.refused(answer.code);
    sendError(response, answer);
  }

  /** One request that we cannot cope with must not end the process, and all others with it. */
  fail(response: ServerResponse, error: unknown): void {
    if (error instanceof ClientGone) return;
    this.#options.log.error({ err: error }, 'a request failed unexpectedly');
    if (response.headersSent) response.destroy();
    else this.refuse(response, errorAnswer('ERR_INTERNAL', { cause: 'the request could not be handled' }));
  }
}

/** A request as it counts from now on. `cut` ends it, whatever has come of it. */
export const underwayOf = (
  response: ServerResponse,
  { asked, sender: { verdict }, audit }: Omit<Passed, 'target'>,
) => ({
  identity: verdict.identity,
  share: shareOf(verdict),
  impersonation: verdict.impersonation,
  scopes: verdict.scopes,
  asked,
  isLong: response instanceof UpgradedResponse || isLongRunning(asked),
  cut: (why: string) => {
    if (audit !== undefined) audit.cut = why;
    if (response instanceof UpgradedResponse) response.cut(why);
    else response.destroy();
  },
});

const finishingOf = (underway: OpenRequest, { maySend }: Pick<Forwarding, 'maySend'>) => ({
  finish: () => {
    underway.isFinishing = true;
  },
  resume: () => {
    underway.isFinishing = false;
    if (!maySend()) throw new ClientGone();
  },
});

const isWatchByWebSocket = ({ headers }: IncomingMessage, { verb }: ResolvedRequest): boolean =>
  verb === 'watch' && headers.upgrade !== undefined && /\bupgrade\b/i.test(headers.connection ?? '');

/**
 * Ends a watch that gets no websocket. The client of fabric8 asks for one first and goes on without after a 200, but reads that answer to
 * its end.
 */
function endWatch(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': 0 }).end();
}

/** Only what goes to the target as it is: what the gateway answers or changes itself has no way around that. */
const withTunnel = (forwarding: Forwarding, { tunnel }: Sending): Forwarding => {
  if (tunnel === undefined) return forwarding;
  const { protocol: upgrade, headers } = tunnel.request;
  const { send } = forwarding;
  return { ...forwarding, tunnel, send: { ...send, upgrade, headers: [...send.headers, ...headers] } };
};

/**
 * Tells requests that keep their connection for as long as they like, and whose answers are passed on at once. The API server
 * sets no limit to logs either, followed or not, and a query says in many ways that they are.
 */
const isLongRunning = ({ verb, subresource }: ResolvedRequest): boolean =>
  verb === 'watch' || verb === 'proxy' || longSubresources.has(subresource);

const longSubresources: ReadonlySet<string> = new Set(['proxy', 'log', liveCredentials]);

/**
 * A server may leave the offer of another protocol alone, and answer as if it had not been made. Only a watch over a websocket ends then.
 */
export function isForTunnel({ method, headers }: IncomingMessage, asked: ResolvedRequest): boolean {
  const protocol = protocolOf({ method, upgrade: headers.upgrade });
  return (
    protocol !== undefined &&
    mayBecomeTunnel(asked, { protocol, hasOrigin: URL.canParse(headers.origin ?? '') })
  );
}

/** Returns the part in front of the path that goes on. Without any path `/` goes on. */
const publicPathOf = (url: string, forwarded: string): string =>
  url.slice(0, url.length - forwarded.length + (url.endsWith(forwarded) ? 0 : 1));

const impersonationIn = ({ groups }: FoundTarget, { impersonation: user }: Verdict): readonly string[] =>
  groups.length === 0 ? user : [...user, ...groups.flatMap((group) => ['impersonate-group', group])];

/** A target may answer with any number: only those that have a name become labels. 0: there was no answer. */
const codeLabel = ({ headersSent, statusCode }: ServerResponse): string | number =>
  headersSent || statusCode === 101 ? (statusCode in STATUS_CODES ? statusCode : 'other') : 0;

const notConnected = errorAnswer('ERR_TARGET_NOT_CONNECTED', {}, { headers: ['retry-after', '5'] });
const notOnRecord = errorAnswer('ERR_AUDIT_UNAVAILABLE', {}, { headers: ['retry-after', '5'] });
const upgradeWithBody = errorAnswer('ERR_REQUEST_MALFORMED', {
  problem: 'it asks for another protocol and has a body',
});
const unknownUpgrade = errorAnswer('ERR_REQUEST_MALFORMED', {
  problem: 'it asks for a protocol that is not served',
});
