import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Agent, createServer, request, type Server } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { PassThrough, Transform, type TransformOptions } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import type { ControlPlaneAccess } from '../controlplane/access.ts';
import { createAuthority, createServer as createServerIdentity } from '../controlplane/certificates.ts';
import { base64, writeKubeconfig } from '../controlplane/kubeconfig.ts';
import { type Disturb, passes } from './disturbance.ts';
import { type Write, writeOf } from './write.ts';

/** The fate of a write: it passes, never reaches the API server, takes effect although its answer is lost, or is answered here. */
export type Fate = 'pass' | 'lost' | 'unanswered' | GivenAnswer;

/** In place of that of the API server. */
export interface GivenAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string;
  /** Whether the API server does what it was asked for, all the same. */
  readonly takesEffect?: boolean;
}

/** Decides about each write before it is passed on; as long as it has not decided, the write is held. */
export type Judge = (write: Write) => Fate | Promise<Fate>;

/** A write that reached the API server. */
export interface PassedWrite extends Write {
  readonly status: number;
  /** When it came in, by `performance.now()`. */
  readonly at: number;
}

/**
 * Stands between a program and the API server, sees every write, and can make each one fail in the two ways in which
 * a network or a sudden death makes it fail: before it took effect, or after. The program needs to know nothing of it.
 */
export class WriteGate {
  /** The control plane as it is seen through the gate: kubeconfigs with a token lead through it. */
  readonly access: ControlPlaneAccess;
  /** Every write that was passed on and has been answered, in the order of the answers. */
  readonly passed: PassedWrite[] = [];
  /** Answers as an API server does that knows no streaming lists, so that its clients list page by page. */
  refusesStreamingLists = false;
  /** Method and target of every request, in the order in which they came in. */
  readonly requests: string[] = [];
  judge: Judge = () => 'pass';
  /** Asked about every request, reads included, before anything else. */
  disturb: Disturb = () => undefined;
  /** Hears of each write that is lost or stays unanswered; its connection is cut when this is done. */
  onFailing: (write: Write) => void | Promise<void> = () => undefined;
  /** Hears of each write that has taken effect; its answer goes back when this is done. */
  onAnswered: (write: Write) => void | Promise<void> = () => undefined;
  readonly #server: Server;
  readonly #agent: Agent;
  readonly #target: URL;
  readonly #sockets = new Set<Socket>();
  /** Writes that have come in and are not done. */
  readonly #present = new Set<Promise<void>>();
  #flowing = Promise.withResolvers<void>();
  #isFrozen: (path: string) => boolean = () => true;
  #open = true;

  static async start(plane: ControlPlaneAccess): Promise<WriteGate> {
    const authority = createAuthority('write-gate');
    const { certificate, key } = createServerIdentity(authority, ['localhost']);
    const server = createServer({ cert: certificate, key });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new WriteGate(plane, server, authority.certificate);
  }

  private constructor(plane: ControlPlaneAccess, server: Server, authority: string) {
    const { port } = server.address() as AddressInfo;
    const target = { ...plane, server: `https://127.0.0.1:${port}`, caData: base64(authority) };
    this.access = {
      ...target,
      kubeconfigWithToken: async (user, token) => await writeKubeconfig(target, user, { token }),
    };
    this.#target = new URL(plane.server);
    this.#agent = new Agent({ keepAlive: true, ca: Buffer.from(plane.caData, 'base64') });
    this.#server = server;
    this.thawWatches();
    server.on('secureConnection', (socket) => this.#keep(socket));
    server.on('request', (incoming, outgoing) => {
      this.requests.push(`${incoming.method} ${incoming.url}`);
      const isRead = incoming.method === 'GET' || incoming.method === 'HEAD';
      const serving = this.#serve(incoming, outgoing, isRead);
      const served = serving.catch(() => void outgoing.destroy());
      if (!isRead) this.#present.add(served);
      void served.then(() => this.#present.delete(served));
    });
  }

  /** Connections that are open to it. */
  get connections(): number {
    return this.#sockets.size;
  }

  /** Cuts all connections, and every new one until `open`. */
  shut(): void {
    this.#open = false;
    for (const socket of this.#sockets) socket.destroy();
  }

  open(): void {
    this.#open = true;
  }

  /** Watches of these paths bring nothing more until `thawWatches`. Everything else passes. */
  freezeWatches(isFrozen: (path: string) => boolean = () => true): void {
    this.#isFrozen = isFrozen;
    this.#flowing = Promise.withResolvers();
  }

  thawWatches(): void {
    this.#flowing.resolve();
  }

  /** Resolves when every write that is here now is done, and so stands in `passed` if it was passed on. */
  async settled(): Promise<void> {
    await Promise.all(this.#present);
  }

  async close(): Promise<void> {
    this.shut();
    this.#agent.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #keep(socket: Socket): void {
    if (!this.#open) {
      socket.destroy();
      return;
    }
    this.#sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => this.#sockets.delete(socket));
  }

  async #serve(incoming: IncomingMessage, outgoing: ServerResponse, isRead: boolean): Promise<void> {
    const disturbance = this.disturb(`${incoming.method} ${incoming.url}`);
    if (disturbance !== undefined && !(await passes(disturbance, incoming, outgoing))) return;
    await (isRead ? this.#read(incoming, outgoing) : this.#write(incoming, outgoing));
  }

  async #read(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(incoming.url ?? '', this.#target);
    if (this.refusesStreamingLists && searchParams.has('sendInitialEvents')) {
      outgoing.writeHead(422, { 'content-type': 'application/json' }).end(refusal);
      return;
    }
    const answer = await this.#forward(incoming, undefined, outgoing);
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
    // A watch is open before the first thing happens in it.
    outgoing.flushHeaders();
    const transform: TransformOptions['transform'] = (chunk, _encoding, done) => {
      if (!this.#isFrozen(pathname)) return done(null, chunk);
      void this.#flowing.promise.then(() => done(null, chunk));
    };
    const through = searchParams.has('watch') ? new Transform({ transform }) : new PassThrough();
    // Both ends go when one of them breaks.
    await pipeline(answer, through, outgoing).catch(() => undefined);
  }

  async #write(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const at = performance.now();
    const body = await buffer(incoming);
    const write = writeOf(incoming.method ?? '', incoming.url ?? '', body.toString());
    // A question about rights is sent like a write, and changes nothing.
    const isQuestion = /^(self)?subjectaccessreviews$/.test(write.plural);
    const fate = isQuestion ? 'pass' : await this.judge(write);
    const answer = takesEffect(fate) ? await this.#forward(incoming, body, outgoing) : undefined;
    if (answer !== undefined && !isQuestion)
      this.passed.push({ ...write, status: answer.statusCode ?? 0, at });
    if (fate === 'pass' && answer !== undefined) {
      await this.onAnswered(write);
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      await pipeline(answer, outgoing).catch(() => undefined);
      return;
    }
    answer?.resume();
    if (typeof fate === 'object') return give(outgoing, fate);
    await this.onFailing(write);
    incoming.socket.destroy();
  }

  async #forward(
    incoming: IncomingMessage,
    body: Buffer | undefined,
    outgoing: ServerResponse,
  ): Promise<IncomingMessage> {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const { hostname, port, host } = this.#target;
    const outbound = request(
      {
        hostname,
        port,
        method: incoming.method,
        path: incoming.url,
        // A header may stand there several times, as that of a group does.
        headers: { ...incoming.headersDistinct, host },
        agent: this.#agent,
      },
      resolve,
    );
    outbound.on('error', (error) => {
      outgoing.destroy();
      reject(error);
    });
    // A watch ends when its reader goes away. A write that is on its way takes effect all the same.
    if (body === undefined) outgoing.once('close', () => outbound.destroy());
    outbound.end(body);
    return await promise;
  }
}

const takesEffect = (fate: Fate): boolean =>
  typeof fate === 'object' ? fate.takesEffect === true : fate !== 'lost';

const give = (outgoing: ServerResponse, { status, headers = {}, body }: GivenAnswer): void =>
  void outgoing.writeHead(status, headers).end(body);

const refusal = JSON.stringify({
  kind: 'Status',
  apiVersion: 'v1',
  status: 'Failure',
  reason: 'Invalid',
  message: 'sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled',
  code: 422,
});

/** A credential that was confirmed: the name of the object and the hash of the credential. */
export interface Confirmation {
  readonly name: string;
  readonly hash: string;
}

/** Lists what was confirmed through the gate, in order. Writes under way are missing: see `settled`. */
export function confirmationsOf({ passed }: WriteGate): readonly Confirmation[] {
  return passed
    .filter(({ subresource, status }) => subresource === 'status' && status === 200)
    .map(({ name, body }) => ({ name, hash: body.status.credentialHash }))
    .filter(({ hash }) => typeof hash === 'string');
}
