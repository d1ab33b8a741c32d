import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { asObject, type JsonObject, parseJSON } from '../../../api/json.ts';
import type { Clock } from '../../../kube/clock.ts';
import { closeGracefully, type ListenAddress, listenOn } from '../../../listening.ts';
import type { ServingCertificate } from '../../server/certificate.ts';
import { Connections } from '../../server/connections.ts';

export interface WebhookServerOptions {
  readonly address: ListenAddress;
  readonly certificate: ServingCertificate;
  /** PEM. Who has a certificate of it may ask. */
  readonly clientCA: string;
  readonly clock: Clock;
  readonly judge: (spec: JsonObject) => ReviewAnswer;
  /** Told of each answer. */
  readonly onAnswer: (answer: WebhookAnswer) => void;
}

/** The part of the status of a SubjectAccessReview that counts. It never allows: the rights of the user are up to RBAC. */
export interface ReviewAnswer {
  readonly allowed: false;
  readonly denied: boolean;
  readonly reason: string;
}

export type WebhookAnswer = 'no_opinion' | 'denied' | 'unreadable';

/** Behind the address: the only path. */
export const webhookPath = '/authorize';

/** An API server waits for three seconds, and takes everything else for a failure. */
const answerMs = 3_000;
/** The API server closes connections after 90 seconds without a request. If we did it first, its next request could meet the end. */
const idleMs = 120_000;
/**
 * A connection is one of a stranger until its client certificate was checked. API servers may have all: one opens a connection for each
 * review that it asks for at once.
 */
const connectionLimits = {
  ...{ connections: 1_024, perUser: 1_024 },
  ...{ strangersPerAddress: 64, strangerGraceMs: 1_000 },
};
/** A selector is the largest part of a review, and has to fit into a URL. */
const maxBodyBytes = 262_144;

/** The authorization webhook, for API servers with a client certificate. Every wait is limited, and what fails is no answer: the API server then refuses. */
export class WebhookServer {
  readonly #options: WebhookServerOptions;
  readonly #server: Server;

  constructor(options: WebhookServerOptions) {
    this.#options = options;
    this.#server = createServer(
      {
        ...contextOf(options.certificate, options.clientCA),
        ...{ requestCert: true, rejectUnauthorized: true, ALPNProtocols: ['http/1.1'] },
        ...{ handshakeTimeout: answerMs, headersTimeout: answerMs, requestTimeout: answerMs },
        ...{ keepAliveTimeout: idleMs, connectionsCheckingInterval: 1_000, maxHeaderSize: 8_192 },
      },
      (request, response) => this.#take(request, response),
    );
    this.#limitConnections();
  }

  /** Resolves with the address in use. Throws ERR_LISTEN. */
  async listen(): Promise<AddressInfo> {
    return await listenOn(this.#server, this.#options.address, 'the webhook');
  }

  /** From the next connection on. */
  replaceCertificate(certificate: ServingCertificate): void {
    this.#server.setSecureContext(contextOf(certificate, this.#options.clientCA));
  }

  /** Accepts no more connections, lets answers under way end within the grace, and cuts what is left. */
  async close(graceMs: number): Promise<void> {
    const { clock } = this.#options;
    await closeGracefully(this.#server, (onEnd) => clock.setTimer(onEnd, graceMs));
  }

  /** Without limits for strangers, any Pod could fill the server, and every token would be refused. */
  #limitConnections(): void {
    const connections = new Connections({
      limits: connectionLimits,
      clock: this.#options.clock,
      onClosed: () => undefined,
      proxies: { has: () => false },
    });
    this.#server.on('connection', (socket: Socket) => connections.add(socket));
    this.#server.on('secureConnection', (socket) => connections.authenticated(socket, 'API server'));
  }

  #take(request: IncomingMessage, response: ServerResponse): void {
    // The API server says behind it how long it waits.
    const [path] = (request.url ?? '').split('?');
    if (request.method !== 'POST' || path !== webhookPath) return this.#refuse(response, 404);
    const chunks: Buffer[] = [];
    let size = 0;
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= maxBodyBytes) chunks.push(chunk);
      else this.#refuse(response, 413);
    });
    request.on('error', () => undefined);
    request.on('end', () => this.#answer(response, Buffer.concat(chunks)));
  }

  #answer(response: ServerResponse, body: Buffer): void {
    if (response.writableEnded) return;
    const { apiVersion, kind, spec } = asObject(parseJSON(body.toString('utf8')));
    if (apiVersion !== reviewType.apiVersion || kind !== reviewType.kind) return this.#refuse(response, 400);
    const status = this.#options.judge(asObject(spec));
    this.#options.onAnswer(status.denied ? 'denied' : 'no_opinion');
    send(response, 200, JSON.stringify({ ...reviewType, status }));
  }

  #refuse(response: ServerResponse, status: number): void {
    if (response.writableEnded) return;
    this.#options.onAnswer('unreadable');
    response.setHeader('connection', 'close');
    send(response, status, '{}');
  }
}

const reviewType = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview' } as const;

function send(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  });
  response.end(body);
}

const contextOf = ({ cert, key }: ServingCertificate, ca: string) =>
  ({ cert, key, ca, minVersion: 'TLSv1.2' }) as const;
