import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../kube/clock.ts';
import { sleep } from '../kube/sleep.ts';
import type { Logger } from '../logger.ts';
import type { GatewaySettings } from '../settings/gateway.ts';
import type { GatewayMetrics } from '../telemetry/metrics/gateway.ts';
import { serverLimits } from './limits.ts';
import {
  certificateProblem,
  followCertificate,
  readCertificate,
  type ServingCertificate,
} from './server/certificate.ts';
import { GatewayServer, type GatewayServerOptions, type SharedServerOptions } from './server/server.ts';

/** Of the page, or of the authorization webhook. */
export interface OtherServer extends Pick<GatewayServer, 'listen' | 'replaceCertificate' | 'close'> {
  readonly drain?: () => void;
}

export interface ServersOptions {
  readonly settings: ServersSettings;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Pick<GatewayMetrics, 'closedConnections' | 'refusals'>;
  /** Of the server of requests. */
  readonly handlers: Pick<GatewayServerOptions, 'onRequest' | 'onRequestRefused' | 'mayBecomeTunnel'>;
  readonly other: {
    /** For the log line. */
    readonly purpose: string;
    /** Undefined: this process has no other server. */
    readonly create: (shared: SharedServerOptions) => OtherServer | undefined;
  };
}

type ServersSettings = Pick<
  GatewaySettings,
  | 'tlsFolder'
  | 'listenAddress'
  | 'maxConnections'
  | 'missesPerAddress'
  | 'trustedProxies'
  | 'proxyProtocol'
  | 'shutdownDelayMs'
  | 'shutdownGraceMs'
>;

/** The server of requests, and one more for something else. Both serve with one certificate, and stop together. */
export class Servers {
  readonly #options: ServersOptions;
  readonly #ofRequests: GatewayServer;
  readonly #other: OtherServer | undefined;
  /** The one in use; undefined for plain HTTP. */
  #certificate: ServingCertificate | undefined;

  /** Throws ERR_CERTIFICATE. */
  constructor(options: ServersOptions) {
    const { settings, clock, metrics, handlers, other } = options;
    this.#options = options;
    this.#certificate = settings.tlsFolder === undefined ? undefined : readCertificate(settings.tlsFolder);
    const shared: SharedServerOptions = {
      clock,
      certificate: this.#certificate,
      limits: serverLimits(settings),
      onConnectionClosed: (limit: string) => metrics.closedConnections.inc({ limit }),
      onRefused: (error: string) => metrics.refusals.inc({ error }),
      proxies: {
        trusted: settings.trustedProxies,
        sendHeader: settings.proxyProtocol === 'required',
      },
    };
    this.#ofRequests = new GatewayServer({ ...shared, ...handlers, address: settings.listenAddress });
    this.#other = other.create(shared);
  }

  /** Throws ERR_LISTEN. */
  async listen(): Promise<void> {
    const { log, other } = this.#options;
    const purposes = ['requests', other.purpose];
    for (const [at, server] of this.#both().entries()) {
      const { address, port } = await server.listen();
      log.info({ purpose: purposes[at], address, port }, 'listening');
    }
  }

  /** For every request with a live credential. */
  authenticated(socket: Socket, user: string): void {
    this.#ofRequests.authenticated(socket, user);
  }

  clientAddress(request: Pick<IncomingMessage, 'socket' | 'headers'>): string {
    return this.#ofRequests.clientAddress(request);
  }

  /** Why no client accepts the certificate in use. */
  certificateProblem(): string | undefined {
    return this.#certificate && certificateProblem(this.#certificate, this.#options.clock.now());
  }

  /** Takes each new certificate into use until the signal aborts. */
  async followCertificate(signal: AbortSignal): Promise<void> {
    const { clock, log, settings } = this.#options;
    const { tlsFolder: folder } = settings;
    if (folder === undefined || this.#certificate === undefined) return;
    const onChange = (certificate: ServingCertificate) => {
      this.#certificate = certificate;
      for (const server of this.#both()) server.replaceCertificate(certificate);
    };
    await followCertificate({ folder, current: this.#certificate, clock, log, onChange }, signal);
  }

  /** Load balancers go on sending requests until they have seen that this replica is not ready. */
  async stop(): Promise<void> {
    const { clock, settings } = this.#options;
    for (const server of this.#both()) server.drain?.();
    await sleep(clock, settings.shutdownDelayMs);
    await Promise.all(this.#both().map((server) => server.close(settings.shutdownGraceMs)));
  }

  #both(): readonly OtherServer[] {
    return this.#other === undefined ? [this.#ofRequests] : [this.#ofRequests, this.#other];
  }
}
