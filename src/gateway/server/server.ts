import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createSecureServer, type Server as SecureServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { HTTPErrorCode } from '../../errors.ts';
import type { Clock } from '../../kube/clock.ts';
import { closeGracefully, type ListenAddress, listenOn } from '../../listening.ts';
import type { ServingCertificate } from './certificate.ts';
import { type ConnectionLimits, Connections, type ExceededLimit } from './connections.ts';
import { type ErrorAnswer, errorAnswer, rawError, sendError } from './error-answer.ts';
import { takeProxyHeader } from './proxy-protocol.ts';
import { checkRequestHead, type RequestLimits, tooManyHeaders, unknownMethod } from './request-head.ts';
import { TrustedProxies } from './trusted-proxies.ts';
import { UpgradedResponse } from './upgraded-response.ts';

export interface ServerLimits extends RequestLimits, ConnectionLimits {
  /** For the head of a request to arrive, milliseconds. */
  readonly headMs: number;
  /** Between two requests, milliseconds. */
  readonly idleMs: number;
}

export interface ProxyOptions {
  /** CIDRs of proxies that say who a client is. */
  readonly trusted: readonly string[];
  /** Each connection of theirs begins with a header of the PROXY protocol. */
  readonly sendHeader: boolean;
}

export interface GatewayServerOptions {
  readonly address: ListenAddress;
  /** For the error when nothing can listen there. Default: requests. */
  readonly purpose?: string;
  /** Absent: plain HTTP. */
  readonly certificate?: ServingCertificate | undefined;
  readonly limits: ServerLimits;
  readonly clock: Clock;
  readonly proxies?: ProxyOptions | undefined;
  /** Told of each connection that was closed because there were too many, or a trusted proxy sent no header that can be read. */
  readonly onConnectionClosed: (limit: ExceededLimit | 'proxy-header') => void;
  /** Told the code of each error that was answered before a request was whole and plain. */
  readonly onRefused: (code: HTTPErrorCode) => void;
  /** Told of each of these that is a request all the same, before it is answered. */
  readonly onRequestRefused?: (
    request: IncomingMessage,
    response: ServerResponse,
    code: HTTPErrorCode,
  ) => void;
  /** Gets every request whose head can be understood in one way only. */
  readonly onRequest: (request: IncomingMessage, response: ServerResponse) => void;
  /** Whether a request for another protocol gets a connection of its own, and an UpgradedResponse. Every other is answered as it is. */
  readonly mayBecomeTunnel?: (request: IncomingMessage) => boolean;
}

/** Options that all servers of one process have in common. */
export type SharedServerOptions = Pick<
  GatewayServerOptions,
  'clock' | 'certificate' | 'limits' | 'onConnectionClosed' | 'onRefused' | 'proxies'
>;

/**
 * Requests that a client may send before it has the answer to the one before. Few do, and each may have sixteen kilobytes of headers: with
 * many of them behind the watches of one user the memory was full.
 */
const maxWaiting = 1;

/** HTTP/1.1 for clients: nothing reaches `onRequest` but whole, plain requests, and every wait is limited. */
export class GatewayServer {
  readonly #options: GatewayServerOptions;
  readonly #server: Server | SecureServer;
  readonly #connections: Connections;
  readonly #proxies: TrustedProxies;
  /** Sockets whose later requests are ignored, because the end of an earlier one is not certain. */
  readonly #refused = new WeakSet<Duplex>();
  /** The answers of each socket that are not over, in turn: the first is under way, the others wait for it. */
  readonly #answers = new WeakMap<Duplex, ServerResponse[]>();
  /** Node counts their connections, and closes none of them. */
  readonly #upgraded = new Set<UpgradedResponse>();
  /** Sockets that Node looks after no more, because they wait for the end of the answer before, or not yet, for want of a header. */
  readonly #unattended = new Set<Duplex>();
  #stopping = false;

  constructor(options: GatewayServerOptions) {
    this.#options = options;
    this.#server = createHTTPServer(options);
    this.#proxies = new TrustedProxies(options.proxies?.trusted ?? []);
    this.#connections = new Connections({
      ...options,
      onClosed: options.onConnectionClosed,
      proxies: this.#proxies,
    });
    // Node drops headers beyond this number in silence; the gate counts them instead.
    this.#server.maxHeadersCount = 0;
    this.#listenToConnections();
    this.#listenToRequests();
  }

  /** Resolves with the address in use. Throws ERR_LISTEN. */
  async listen(): Promise<AddressInfo> {
    const { address, purpose = 'requests' } = this.#options;
    return await listenOn(this.#server, address, purpose);
  }

  /** For every request with a live credential: when there are too many connections, others are closed first. */
  authenticated(socket: Socket, user: string): void {
    this.#connections.authenticated(socket, user);
  }

  /** The client as far as it is known: the peer, unless that is a trusted proxy that names who it speaks for. */
  clientAddress({ socket, headers }: Pick<IncomingMessage, 'socket' | 'headers'>): string {
    const isNamed = this.#options.proxies?.sendHeader === true;
    const peer = isNamed ? this.#connections.addressOf(socket) : (socket.remoteAddress ?? 'unknown');
    const { 'x-forwarded-for': forwardedFor } = headers;
    return this.#proxies.clientBehind(peer, Array.isArray(forwardedFor) ? forwardedFor.join() : forwardedFor);
  }

  /** Uses another certificate from the next connection on. */
  replaceCertificate(certificate: ServingCertificate): void {
    if ('setSecureContext' in this.#server) this.#server.setSecureContext(secureContextOf(certificate));
  }

  /** Asks every client to take its next request elsewhere. */
  drain(): void {
    this.#stopping = true;
  }

  /** Accepts no more connections, lets answers under way end within the grace, and cuts what is left. */
  async close(graceMs: number): Promise<void> {
    if (!this.#server.listening) return;
    this.#stopping = true;
    const { clock } = this.#options;
    await closeGracefully(
      this.#server,
      (onEnd) => clock.setTimer(onEnd, graceMs),
      () => this.#cutAll(),
    );
  }

  #cutAll(): void {
    for (const response of this.#upgraded) response.cut('the gateway stops: connect again');
    for (const socket of this.#unattended) socket.destroy();
    this.#server.closeAllConnections();
  }

  #listenToConnections(): void {
    if (this.#options.proxies?.sendHeader !== true) {
      this.#server.on('connection', (socket: Socket) => this.#connections.add(socket));
      return;
    }
    // The listeners of Node begin to read TLS, or HTTP, at once.
    const begin = this.#server.listeners('connection');
    this.#server.removeAllListeners('connection').on('connection', (socket: Socket) => {
      this.#connections.add(socket);
      this.#unattended.add(socket);
      void this.#takeHeader(socket).then((isTaken) => {
        this.#unattended.delete(socket);
        // A balancer that only looks whether the port is open sends nothing, and leaves.
        if (!isTaken && socket.readable) this.#options.onConnectionClosed('proxy-header');
        if (!isTaken || socket.destroyed) return void socket.destroy();
        for (const listener of begin) listener.call(this.#server, socket);
      });
    });
  }

  /** Takes what a trusted proxy sends in front. From everyone else nothing of the kind is believed, and it is no TLS. */
  async #takeHeader(socket: Socket): Promise<boolean> {
    const { clock, limits } = this.#options;
    if (!this.#proxies.has(socket.remoteAddress ?? '')) return true;
    const onError = () => undefined;
    socket.on('error', onError);
    const header = await takeProxyHeader(socket, { clock, maxMs: limits.headMs });
    if (header?.address !== undefined) this.#connections.declare(socket, header.address);
    if (header !== undefined) socket.off('error', onError);
    return header !== undefined;
  }

  #listenToRequests(): void {
    const onRequest = (request: IncomingMessage, response: ServerResponse) =>
      this.#onRequest(request, response);
    this.#server
      .on('request', onRequest)
      .on('checkContinue', onRequest)
      .on('upgrade', (request: IncomingMessage, _socket: Duplex, head: Buffer) =>
        this.#onUpgrade(request, head),
      )
      .on('checkExpectation', (request, response) =>
        this.#onRequest(request, response, errorAnswer('ERR_REQUEST_EXPECTATION', {})),
      )
      .on('connect', (_request, socket: Duplex) => this.#onConnect(socket))
      .on('clientError', (error, socket) => this.#onClientError(error, socket))
      .on('tlsClientError', (error, socket) => this.#onHandshakeError(error, socket));
  }

  /** One request of a socket after the other: an answer that ends the connection ends what was sent behind its request as well. */
  #onRequest(
    request: IncomingMessage,
    response: ServerResponse,
    problem = checkRequestHead(request, this.#options.limits),
  ): void {
    const { socket } = request;
    if (this.#refused.has(socket) || !socket.writable) return;
    const answers = this.#answers.get(socket) ?? [];
    if (problem !== undefined && answers.length === 0) return this.#refuse(request, response, problem);
    if (problem !== undefined || answers.length > maxWaiting) return this.#cut(socket);
    this.#answers.set(socket, answers);
    const former = answers.at(-1);
    answers.push(response);
    response.on('close', () => void answers.shift());
    if (former === undefined) return this.#begin(request, response);
    former.once('close', () => {
      if (former.shouldKeepAlive && former.writableFinished && socket.writable)
        this.#begin(request, response);
    });
  }

  /**
   * Handles a request for another protocol as every other one. Node has taken its listeners from the socket already, those of an answer under
   * way as well: without the one here a reset by the client would end the process, and that answer would never hear of its client.
   */
  #onUpgrade(request: IncomingMessage, head: Buffer): void {
    const { socket } = request;
    socket.on('error', () => undefined);
    if (this.#refused.has(socket) || !socket.writable) return;
    const former = this.#answers.get(socket)?.at(-1);
    if (former === undefined) return this.#beginUpgrade(request, head);
    if (!former.writableEnded) return this.#cut(socket);
    // Its last bytes are on their way.
    this.#unattended.add(socket);
    socket.once('close', () => this.#unattended.delete(socket));
    former.once('close', () => {
      this.#unattended.delete(socket);
      if (former.shouldKeepAlive && former.writableFinished && socket.writable)
        this.#beginUpgrade(request, head);
      else socket.destroy();
    });
  }

  #beginUpgrade(request: IncomingMessage, head: Buffer): void {
    const { socket } = request;
    try {
      const response = new UpgradedResponse(request, head);
      this.#upgraded.add(response);
      socket.once('close', () => this.#upgraded.delete(response));
      this.#onRequest(request, response);
    } catch {
      // Thrown in an event of Node's, it would end the process.
      this.#cut(socket);
    }
  }

  #begin(request: IncomingMessage, response: ServerResponse): void {
    if (this.#stopping) response.shouldKeepAlive = false;
    this.#options.onRequest(request, response);
  }

  #cut(socket: Duplex): void {
    this.#refused.add(socket);
    socket.destroy();
  }

  #refuse(request: IncomingMessage, response: ServerResponse, answer: ErrorAnswer): void {
    this.#refused.add(request.socket);
    response.shouldKeepAlive = false;
    this.#options.onRefused(answer.code);
    this.#options.onRequestRefused?.(request, response, answer.code);
    sendError(response, answer);
  }

  /** An answer under way must not get another one into its middle. */
  #onConnect(socket: Duplex): void {
    socket.on('error', () => undefined);
    if (this.#refused.has(socket)) return;
    if (this.#answers.get(socket)?.length) return this.#cut(socket);
    this.#refuseRaw(socket, unknownMethod);
  }

  #refuseRaw(socket: Duplex, answer: ErrorAnswer): void {
    this.#options.onRefused(answer.code);
    socket.on('error', () => undefined);
    socket.end(rawError(answer), () => socket.destroy());
  }

  /** Who forgot the letter in https is told so, in the clear: there is nothing to read but that. */
  #onHandshakeError(error: NodeJS.ErrnoException, socket: Socket): void {
    const isPlain = error.code === 'ERR_SSL_HTTP_REQUEST';
    const below = isPlain ? this.#connections.find(socket) : undefined;
    if (below === undefined) socket.destroy();
    else this.#refuseRaw(below, plainRequest);
  }

  /** A request that the parser refuses never becomes one. An answer under way must not get another one into its middle. */
  #onClientError(error: ParseError, socket: Duplex): void {
    if (this.#refused.has(socket)) return;
    this.#refused.add(socket);
    if (!socket.writable || error.code === 'ECONNRESET' || this.#answers.get(socket)?.length) {
      socket.destroy();
      return;
    }
    this.#refuseRaw(socket, this.#answerTo(error));
  }

  #answerTo({ code, rawPacket }: ParseError): ErrorAnswer {
    if (code === 'HPE_INVALID_METHOD' && isRequestLine(rawPacket)) return unknownMethod;
    if (code === 'HPE_HEADER_OVERFLOW') return tooManyHeaders(this.#options.limits);
    if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return errorAnswer('ERR_REQUEST_TIMEOUT', {});
    return errorAnswer('ERR_REQUEST_MALFORMED', { problem: 'it is no HTTP/1.1' });
  }
}

/** As Node gives it with what the parser read last. */
type ParseError = NodeJS.ErrnoException & { readonly rawPacket?: Buffer };

/** Of any method. The parser knows some only, and takes all others for what is no HTTP. */
const isRequestLine = (bytes: Buffer | undefined): boolean =>
  /^[A-Za-z_-]{1,32} \/\S* HTTP\/1\.1\r\n/.test(bytes?.toString('latin1') ?? '');

const plainRequest = errorAnswer('ERR_REQUEST_SCHEME', {});

function createHTTPServer(given: GatewayServerOptions): Server | SecureServer {
  const { certificate, limits, mayBecomeTunnel = () => false } = given;
  const options = {
    maxHeaderSize: limits.headerBytes,
    headersTimeout: limits.headMs,
    // Uploads and watches take as long as they take.
    requestTimeout: 0,
    keepAliveTimeout: limits.idleMs,
    connectionsCheckingInterval: 1_000,
    insecureHTTPParser: false,
    // The gate counts hosts, and answers with a Status.
    requireHostHeader: false,
    shouldUpgradeCallback: (request: IncomingMessage) => isTunnel(request, mayBecomeTunnel),
    // Without a body a request is no stream, and has no event "end".
    optimizeEmptyRequests: true,
  };
  if (certificate === undefined) return createServer(options);
  return createSecureServer({
    ...options,
    ...secureContextOf(certificate),
    ALPNProtocols: ['http/1.1'],
    handshakeTimeout: limits.headMs,
  });
}

/** The parser of Node calls it: an error would end the process. */
function isTunnel(request: IncomingMessage, mayBecomeTunnel: (request: IncomingMessage) => boolean): boolean {
  try {
    return mayBecomeTunnel(request);
  } catch {
    return false;
  }
}

const secureContextOf = ({ cert, key }: ServingCertificate) =>
  ({ cert, key, minVersion: 'TLSv1.2', honorCipherOrder: true }) as const;
