import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { KubeConfig } from '@kubernetes/client-node';
import {
  createAuthority,
  createServer as createServerCertificate,
} from '../../lab/controlplane/certificates.ts';
import { Exchange } from './exchange.ts';
import { ObjectStorage } from './object-storage.ts';
import { serveObjects } from './serve-objects.ts';

/** Returns true when it has dealt with the exchange. */
export type Script = (exchange: Exchange) => boolean | undefined | Promise<boolean | undefined>;

/** How the server takes `sendInitialEvents`: as now, as one that refuses it, as one that overlooks it. */
export type StreamingLists = 'served' | 'refused' | 'overlooked';

/**
 * An API server over TLS, for all that a real one does too seldom to test with: it stores objects of any resource,
 * serves lists and watches, and lets a script answer before it does.
 */
export class FakeApiServer {
  readonly authority = createAuthority('fake');
  readonly exchanges: Exchange[] = [];
  streamingLists: StreamingLists = 'served';
  /** TLS connections made so far. */
  handshakes = 0;
  readonly #storages = new Map<string, ObjectStorage>();
  readonly #sockets = new Set<Socket>();
  #scripts: Script[] = [];
  #server: Server | undefined;
  #port = 0;

  static async start(): Promise<FakeApiServer> {
    const server = new FakeApiServer();
    await server.listen();
    return server;
  }

  get url(): string {
    return `https://127.0.0.1:${this.#port}`;
  }

  get openSockets(): number {
    return this.#sockets.size;
  }

  /** The watches among the requests so far. */
  get watches(): Exchange[] {
    return this.exchanges.filter((exchange) => exchange.isWatch);
  }

  /** A KubeConfig of a user with this token (or without one). */
  kubeConfig(token?: string): KubeConfig {
    const kubeConfig = new KubeConfig();
    const caData = Buffer.from(this.authority.certificate).toString('base64');
    kubeConfig.loadFromClusterAndUser(
      { name: 'fake', server: this.url, caData, skipTLSVerify: false },
      { name: 'tester', ...(token === undefined ? {} : { token }) },
    );
    return kubeConfig;
  }

  storage(plural: string): ObjectStorage {
    const known = this.#storages.get(plural) ?? new ObjectStorage();
    this.#storages.set(plural, known);
    return known;
  }

  /** Later scripts are asked first. */
  script(script: Script): void {
    this.#scripts = [script, ...this.#scripts];
  }

  /** Answers the next exchange that matches, and only that. */
  once(matches: (exchange: Exchange) => boolean, answer: (exchange: Exchange) => void): void {
    const script: Script = (exchange) => {
      if (!matches(exchange)) return false;
      this.#scripts = this.#scripts.filter((other) => other !== script);
      answer(exchange);
      return true;
    };
    this.script(script);
  }

  /** Answers each exchange from now on with this. */
  answerAll(...answer: Parameters<Exchange['answer']>): void {
    this.script((exchange) => {
      exchange.answer(...answer);
      return true;
    });
  }

  /** Refuses each exchange from now on. */
  refuseAll(...refusal: Parameters<Exchange['refuse']>): void {
    this.script((exchange) => {
      exchange.refuse(...refusal);
      return true;
    });
  }

  /** Also after `stop`: on the same port. */
  async listen(): Promise<void> {
    const { key, certificate } = createServerCertificate(this.authority, ['localhost']);
    const options = {
      key,
      cert: certificate,
      ca: this.authority.certificate,
      requestCert: true,
      rejectUnauthorized: false,
    };
    const server = createServer(options, (request, response) => void this.#serve(request, response));
    server.keepAliveTimeout = 60_000;
    server.on('secureConnection', () => this.handshakes++);
    server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket)).on('error', () => undefined);
    });
    await new Promise<void>((resolve) => server.listen(this.#port, '127.0.0.1', resolve));
    this.#port = (server.address() as AddressInfo).port;
    this.#server = server;
  }

  /** Cuts every connection and refuses further ones. */
  async stop(): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    this.#server = undefined;
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const exchange = new Exchange(request, Buffer.concat(chunks).toString(), response);
    this.exchanges.push(exchange);
    for (const script of this.#scripts) if (await script(exchange)) return;
    serveObjects(exchange, (plural) => this.storage(plural), this.streamingLists);
  }
}
