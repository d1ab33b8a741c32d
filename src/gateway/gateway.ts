import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '../kube/clock.ts';
import { sleep } from '../kube/sleep.ts';
import type { Logger } from '../logger.ts';
import { apiPrefix } from '../scope/request-path.ts';
import type { GatewaySettings } from '../settings/gateway.ts';
import type { HealthChecks } from '../telemetry/health.ts';
import { followCertificate, readCertificate } from './server/certificate.ts';
import { errorAnswer, sendError } from './server/error-answer.ts';
import { GatewayServer, type ServerLimits } from './server/server.ts';

export interface GatewayOptions {
  readonly settings: GatewaySettings;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Puts the parts of the gateway together: a server, and what it asks about each request. */
export class Gateway {
  readonly readiness: HealthChecks;
  readonly #options: GatewayOptions;
  readonly #server: GatewayServer;
  readonly #certificate;
  #stopping = false;

  /** Throws ERR_CERTIFICATE. */
  constructor(options: GatewayOptions) {
    const { settings } = options;
    this.#options = options;
    this.#certificate = settings.plainHTTP === 'loopback' ? undefined : readCertificate(settings);
    this.#server = new GatewayServer({
      address: settings.listenAddress,
      certificate: this.#certificate,
      limits: limitsOf(settings),
      onRequest: (request, response) => this.#onRequest(request, response),
    });
    this.readiness = { shutdown: () => (this.#stopping ? 'the gateway stops' : undefined) };
  }

  async run(signal: AbortSignal): Promise<void> {
    const { address, port } = await this.#server.listen();
    this.#options.log.info({ purpose: 'requests', address, port }, 'listening');
    const following = this.#followCertificate(signal);
    await aborted(signal);
    await this.#stop();
    await following;
  }

  #onRequest(_request: IncomingMessage, response: ServerResponse): void {
    sendError(response, errorAnswer('ERR_REQUEST_PATH', { prefix: apiPrefix }));
  }

  async #followCertificate(signal: AbortSignal): Promise<void> {
    const { clock, log, settings } = this.#options;
    if (this.#certificate === undefined) return;
    const onChange = this.#server.replaceCertificate.bind(this.#server);
    await followCertificate({ files: settings, current: this.#certificate, clock, log, onChange }, signal);
  }

  /** Load balancers go on sending requests until they have seen that this replica is not ready. */
  async #stop(): Promise<void> {
    const { clock, settings } = this.#options;
    this.#stopping = true;
    this.#server.drain();
    await sleep(clock, settings.shutdownDelayMs);
    await this.#server.close(settings.shutdownGraceMs);
  }
}

const limitsOf = (settings: GatewaySettings): ServerLimits => ({
  headerBytes: settings.maxHeaderBytes,
  headerFields: settings.maxHeaderFields,
  urlBytes: settings.maxURLBytes,
  headMs: settings.headTimeoutMs,
  idleMs: settings.idleTimeoutMs,
  connections: settings.maxConnections,
});

/** Resolves when the signal has aborted, also when that was long ago. */
function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
