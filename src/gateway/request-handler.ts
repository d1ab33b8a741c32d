import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Identity } from '../credentials/identity.ts';
import type { AccessQuestion } from '../platform/access-review.ts';
import { apiPrefix } from '../scope/request-path.ts';
import type { GatewaySettings } from '../settings/gateway.ts';
import type { RequestAudit } from './audit/request-audit.ts';
import { resourceMetadataPath } from './endpoints/resource-metadata.ts';
import type { Exchange, PublicContext } from './endpoints/shared/endpoint.ts';
import { isExtendedRead, isTargetRead } from './gate/answered-reads.ts';
import { authenticate } from './gate/authenticate.ts';
import { findDenial, resolve } from './gate/authorise.ts';
import { type EntryPermissions, entryDenial } from './gate/entry-permissions.ts';
import { lostGroups } from './gate/lost-groups.ts';
import type { Misses } from './gate/misses.ts';
import { isAgent } from './gate/own-objects.ts';
import type { CredentialIndex } from './index/credential-index.ts';
import { CrossOrigin } from './page/cross-origin.ts';
import { impersonates } from './proxy/request-headers.ts';
import type { Targets } from './proxy/targets.ts';
import {
  isForTunnel,
  type Passed,
  RequestSender,
  type RequestSenderOptions,
  underwayOf,
} from './request-sender.ts';
import { type ErrorAnswer, errorAnswer, hasBody } from './server/error-answer.ts';
import { UpstreamBusy } from './turns/request-slots.ts';

export interface RequestHandlerOptions extends RequestSenderOptions {
  readonly settings: RequestSenderOptions['settings'] & Pick<GatewaySettings, 'baseURL' | 'pageURL'>;
  readonly index: Pick<CredentialIndex, 'find' | 'problem' | 'used'>;
  readonly targets: Pick<Targets, 'find' | 'entryOf'>;
  readonly permissions: Pick<EntryPermissions, 'find' | 'ask'>;
  readonly misses: Pick<Misses, 'isTooMany'>;
  /** In place of the answers of the gateway to credentials and targets that are none here. */
  readonly refusals?: Readonly<Record<'credential' | 'unknown' | 'target', ErrorAnswer>>;
  /** Told whose share a live credential takes, with the connection that it came over. */
  readonly onAuthenticated: (socket: Socket, user: string) => void;
}

/** A request that its scope lets pass, as far as that is known before it is in the target. */
type Entering = Omit<Passed, 'target'> & { readonly entry: AccessQuestion };

/** The way of a request: who sends it, what it asks for, whether that is in scope; then on to the target, or back with an error. */
export class RequestHandler {
  readonly #options: RequestHandlerOptions;
  /** The path of the base URL; empty where it has none. */
  readonly #basePath: string;
  readonly #authentication;
  readonly #crossOrigin: CrossOrigin | undefined;
  readonly #sender: RequestSender;

  constructor(options: RequestHandlerOptions) {
    const { settings, index } = options;
    this.#options = options;
    this.#basePath = new URL(settings.baseURL).pathname.replace(/\/$/, '');
    this.#authentication = { index, clock: options.clock, refusals: options.refusals };
    this.#sender = new RequestSender(options);
    this.#crossOrigin = settings.pageURL === undefined ? undefined : new CrossOrigin(settings.pageURL);
  }

  /**
   * Whether the request may become a tunnel, so that its connection is to be handed over. It is judged like any other afterwards, by what
   * {@link handle} does.
   */
  mayBecomeTunnel(request: IncomingMessage): boolean {
    const path = this.#pathOf(request);
    if (path === undefined || hasBody(request) || request.headers.expect !== undefined) return false;
    const asked = resolve({ method: request.method ?? '', target: path, contentType: undefined });
    return !('status' in asked) && isForTunnel(request, asked);
  }

  handle(request: IncomingMessage, response: ServerResponse): void {
    try {
      this.#handle(request, response);
    } catch (error) {
      this.#sender.fail(response, error);
    }
  }

  #handle(request: IncomingMessage, response: ServerResponse): void {
    // The parser waits for another protocol now: it would read no further request.
    if (request.headers.upgrade !== undefined) response.shouldKeepAlive = false;
    if (this.#isPreflight(request, response)) return;
    const refusal = this.#pass({ request, response });
    if (refusal !== undefined) this.#sender.refuse(response, refusal);
  }

  /** A browser asks whether it may ask, and has its answer. Nothing happens yet: no one is looked up, and no line is written. */
  #isPreflight(request: IncomingMessage, response: ServerResponse): boolean {
    if (this.#crossOrigin === undefined) return false;
    const path = this.#pathOf(request);
    return path !== undefined && this.#crossOrigin.answer(request, response, path);
  }

  /** The answer, unless the request is on its way. Nothing here waits. */
  #pass(exchange: Exchange): ErrorAnswer | undefined {
    const { method = '', headers, rawHeaders } = exchange.request;
    const { audits } = this.#options;
    const audit = audits?.begin(exchange.request, exchange.response);
    const path = this.#pathOf(exchange.request);
    if (path === undefined) return notFound;
    const publicEndpoint = this.#options.endpoints.findPublic(method, path);
    if (publicEndpoint !== undefined) {
      audit?.allowed();
      return publicEndpoint.answer(exchange, this.#publicContext(exchange, audit));
    }
    if (impersonates(rawHeaders)) return impersonation;
    const sender = authenticate(exchange.request, this.#authentication);
    if ('status' in sender) return this.#answerStranger(exchange, sender);
    this.#options.onAuthenticated(exchange.request.socket, sender.verdict.identity.user);
    if (audit !== undefined) audit.constant = audits?.constantOf(sender, noGroups);
    const asked = resolve({ method, target: path, contentType: headers['content-type'] });
    if ('status' in asked) return asked;
    if (audit !== undefined) audit.asked = asked;
    // The target itself counts later: a holder who may not enter it must not learn whether it is there.
    const anyPlace = {
      namespace: asked.namespace || anyNamespace,
      isPlatform: asked.target.kind === 'management',
    };
    // Reads of targets are answered with those that the scopes name.
    const isNarrowed = isTargetRead(asked) && !isExtendedRead(asked) && !isAgent(sender.verdict);
    const denial = isNarrowed ? undefined : findDenial(sender.verdict, asked, anyPlace);
    return denial ?? this.#enter(exchange, { asked, sender, audit });
  }

  #publicContext({ request, response }: Exchange, audit: RequestAudit | undefined): PublicContext {
    return {
      audit,
      onAuthenticated: (user) => this.#options.onAuthenticated(request.socket, user),
      refuse: (answer) => this.#sender.refuse(response, answer),
    };
  }

  #answerStranger({ request, response }: Exchange, answer: ErrorAnswer): ErrorAnswer {
    if (answer.status !== 401) return answer;
    if (!this.#options.misses.isTooMany(this.#options.clientAddress(request))) return answer;
    response.shouldKeepAlive = false;
    return tooManyMisses;
  }

  /** A target is entered with the right to use it. Without that right there is one answer, whether it is there or not. */
  #enter(exchange: Exchange, passed: Omit<Passed, 'target'>): ErrorAnswer | undefined {
    const { targets, permissions, audits } = this.#options;
    const { asked, sender, audit } = passed;
    const { identity } = sender.verdict;
    const target = targets.find(asked.target);
    const entry = target === undefined ? targets.entryOf(asked.target) : target.entry;
    const isAllowed = entry === undefined || permissions.find(identity, entry);
    if (entry !== undefined && isAllowed !== true)
      return isAllowed === false
        ? entryDenial(identity, entry, lostGroups(sender.verdict))
        : this.#askFirst(exchange, { ...passed, entry });
    if (target === undefined) return this.#options.refusals?.target ?? noTarget;
    if (audit !== undefined) audit.constant = audits?.constantOf(sender, target.groups);
    // The platform was asked for by its own path, and all is known of it already.
    const denial = target.entry === undefined ? undefined : findDenial(sender.verdict, asked, target);
    return denial ?? this.#sender.start(exchange, { ...passed, target });
  }

  /** The request counts while it waits, until its question is answered: a client that leaves makes no room for more of them. */
  #askFirst(exchange: Exchange, { entry, ...passed }: Entering): ErrorAnswer | undefined {
    const { open } = this.#options;
    const { sender } = passed;
    const waiting = {
      ...underwayOf(exchange.response, passed),
      ...{ targetUIDs: '', isEntering: true },
    };
    const refusal = open.enter(sender.hash, waiting);
    if (refusal !== undefined) return refusal;
    void this.#ask(sender.verdict.identity, entry).then((unanswered) => {
      open.leave(sender.hash, waiting);
      if (unanswered !== undefined) this.#sender.refuse(exchange.response, unanswered);
      // Its credential may have ended meanwhile.
      else if (!exchange.response.destroyed) this.handle(exchange.request, exchange.response);
    });
    return undefined;
  }

  async #ask(identity: Identity, entry: AccessQuestion): Promise<ErrorAnswer | undefined> {
    const { log, permissions } = this.#options;
    try {
      await permissions.ask(identity, entry);
      return undefined;
    } catch (error) {
      log.warn({ err: error }, 'the right to enter a target cannot be asked for');
      return error instanceof UpstreamBusy ? busy : unavailable;
    }
  }

  #pathOf({ url = '' }: IncomingMessage): string | undefined {
    if (this.#basePath === '') return url;
    // The RFC puts it in front of the path of the base URL.
    if (url === `${resourceMetadataPath}${this.#basePath}`) return resourceMetadataPath;
    return url.startsWith(`${this.#basePath}/`) ? url.slice(this.#basePath.length) : undefined;
  }
}

/** Stands for the namespace that a space is, in requests that name none. */
const anyNamespace = 'any';

const noGroups: readonly string[] = [];

const notFound = errorAnswer('ERR_REQUEST_PATH', { prefix: apiPrefix });
const noTarget = errorAnswer('ERR_TARGET_UNKNOWN', {});
const busy = errorAnswer('ERR_UPSTREAM_BUSY', {}, { headers: ['retry-after', '1'] });
const unavailable = errorAnswer('ERR_UPSTREAM_UNAVAILABLE', {}, { headers: ['retry-after', '1'] });
const tooManyMisses = errorAnswer('ERR_TOO_MANY_UNAUTHENTICATED', {}, { headers: ['retry-after', '10'] });
const impersonation = errorAnswer('ERR_IMPERSONATION', {});
