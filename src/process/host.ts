import { Registry } from 'prom-client';
import { LatchkeyError } from '../errors.ts';
import { Authentication } from '../kube/client/authentication.ts';
import { createKubeClient, type KubeClient, type KubeClientOptions } from '../kube/client/client.ts';
import type { IdentitySource } from '../kube/client/client-identity.ts';
import { kubeConfigSource } from '../kube/client/kube-config.ts';
import { SilenceReports } from '../kube/client/silence-reports.ts';
import { systemClock } from '../kube/clock.ts';
import type { Logger } from '../logger.ts';
import type { CommonSettings } from '../settings/common.ts';
import type { Environment } from '../settings/read.ts';
import { type HealthChecks, healthHandler } from '../telemetry/health.ts';
import { createLogger } from '../telemetry/log.ts';
import { ClientMetrics } from '../telemetry/metrics/client.ts';
import { watchProcess } from '../telemetry/metrics/process.ts';
import { metricsHandler } from '../telemetry/metrics/registry.ts';
import { TelemetryServer } from '../telemetry/telemetry-server.ts';
import { version } from '../version.ts';

export interface HostOptions {
  /** In log lines, in the user agent and in errors: `operator`. */
  readonly component: string;
  readonly environment: Environment;
  readonly settings: Pick<CommonSettings, 'logLevel' | 'healthAddress' | 'metricsAddress'>;
  /** How long the end may take after the signal, in milliseconds. Default 20,000. */
  readonly graceMs?: number;
}

/** The work of a long-running command on its host. */
export interface Work {
  /** The checks of `/readyz`. `/livez` passes as long as the process answers. */
  readonly readiness: HealthChecks;
  /** Works until the signal aborts, and resolves when nothing of it is left to do. */
  readonly run: (signal: AbortSignal) => Promise<void>;
}

/** The base of every long-running command: log, metrics, probes, clients of the API server, and an orderly end. */
export class Host {
  readonly log: Logger;
  /** Figures of the process and of its clients are in it already. */
  readonly registry = new Registry();
  readonly #options: HostOptions;
  readonly #requests: ClientMetrics;
  readonly #clients: KubeClient[] = [];
  readonly #reports = new SilenceReports(systemClock);

  constructor(options: HostOptions) {
    const { component, settings } = options;
    this.#options = options;
    this.log = createLogger({ level: settings.logLevel, bindings: { component } });
    watchProcess(this.registry, version);
    this.#requests = new ClientMetrics(this.registry);
  }

  /** A client with the credentials of this process. It is closed last, when everything else has ended. */
  connect(options: Pick<KubeClientOptions, 'connections' | 'writeGuard'>): KubeClient {
    const { component, environment } = this.#options;
    const client = createKubeClient({
      ...options,
      kubeConfig: kubeConfigSource({ env: environment }),
      userAgent: `latchkey-${component}/${version}`,
      log: this.log,
      observe: (request) => this.#requests.observe(request),
      reports: this.#reports,
    });
    this.#clients.push(client);
    return client;
  }

  /** The credentials of this process, for connections that it makes itself. */
  authenticate(): IdentitySource {
    const source = kubeConfigSource({ env: this.#options.environment });
    return new Authentication({ source, clock: systemClock, log: this.log });
  }

  /** Resolves when the signal has aborted and everything has ended in order, or throws `ERR_SHUTDOWN_TIMEOUT`. */
  async run(work: Work, signal: AbortSignal): Promise<void> {
    const { component, graceMs } = this.#options;
    await withinGrace(this.#run(work, signal), `the ${component}`, signal, graceMs);
    this.log.info({}, 'ended');
  }

  async #run(work: Work, signal: AbortSignal): Promise<void> {
    const servers = this.#servers(work.readiness);
    try {
      for (const server of servers) {
        const { address, port } = await server.listen();
        this.log.info({ purpose: server.purpose, address, port }, 'listening');
      }
      await work.run(signal);
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      await Promise.all(servers.map((server) => server.close()));
      await Promise.all(this.#clients.map((client) => client.close()));
    }
  }

  #servers(readyz: HealthChecks): readonly TelemetryServer[] {
    const { healthAddress, metricsAddress } = this.#options.settings;
    const health = healthHandler({ livez: { process: () => undefined }, readyz });
    const metrics = metricsHandler(this.registry);
    return [
      new TelemetryServer({ address: healthAddress, purpose: 'health', handler: health }),
      new TelemetryServer({ address: metricsAddress, purpose: 'metrics', handler: metrics }),
    ];
  }
}

/** Below the grace period of the Deployments, so that the process says why it ends before it is killed; milliseconds. */
const defaultGraceMs = 20_000;

/** Waits for `work`, but once the signal has aborted not longer than the grace. Throws `ERR_SHUTDOWN_TIMEOUT`. */
export async function withinGrace(
  work: Promise<void>,
  part: string,
  signal: AbortSignal,
  milliseconds = defaultGraceMs,
): Promise<void> {
  const late = Promise.withResolvers<never>();
  let timer: NodeJS.Timeout | undefined;
  const onAbort = () => {
    const error = new LatchkeyError('ERR_SHUTDOWN_TIMEOUT', { part, milliseconds });
    timer = setTimeout(() => late.reject(error), milliseconds);
  };
  if (signal.aborted) onAbort();
  else signal.addEventListener('abort', onAbort, { once: true });
  try {
    await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
  }
}
