import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { Registry } from 'prom-client';
import { fieldManager, systemNamespace, systemObjects } from '../api/names.ts';
import { LatchkeyError } from '../errors.ts';
import { createKubeClient, type KubeClient } from '../kube/client/client.ts';
import { type KubeConfigSource, kubeConfigSource } from '../kube/client/kube-config.ts';
import { systemClock as clock } from '../kube/clock.ts';
import { EventRecorder } from '../kube/events/event-recorder.ts';
import { LeaderElector } from '../kube/leader/leader-election.ts';
import { AdmissionEvents } from '../operator/admission/admission-events.ts';
import { AdmissionGuard } from '../operator/admission/admission-guard.ts';
import { Controllers } from '../operator/assembly/controllers.ts';
import { LatchkeyOperator } from '../operator/assembly/operator.ts';
import { controllerNames, finalizerLimits } from '../operator/assembly/operator-context.ts';
import { makeReflectors, type NamedReflector, reflectorNames } from '../operator/assembly/reflectors.ts';
import { CredentialEvents } from '../operator/credentials/credential-events.ts';
import { checkInstallation } from '../operator/installation.ts';
import { ObjectEvents } from '../operator/shared/events.ts';
import { allOperatorSettings, type OperatorSettings } from '../settings/operator.ts';
import { type Environment, readSettings, unknownSettings } from '../settings/read.ts';
import { healthHandler } from '../telemetry/health.ts';
import { createLogger, type Logger } from '../telemetry/log.ts';
import { ClientMetrics } from '../telemetry/metrics/client.ts';
import { OperatorMetrics } from '../telemetry/metrics/operator.ts';
import { watchProcess } from '../telemetry/metrics/process.ts';
import { metricsHandler } from '../telemetry/metrics/registry.ts';
import { TelemetryServer } from '../telemetry/telemetry-server.ts';
import { version } from '../version.ts';
import { withinGrace } from './within-grace.ts';

/** What the process is doing, for its health checks. */
interface Term {
  readonly reflectors: readonly NamedReflector[];
  readonly controllers: Controllers;
}

/** A reflector without news for this long is reported as stale, milliseconds: bookmarks come every minute or two. */
const staleAfter = 300_000;

/** The operator as a process: its parts put together, started in order and stopped in the opposite order. */
export class OperatorProcess {
  readonly #settings: OperatorSettings;
  readonly #log: Logger;
  readonly #registry = new Registry();
  readonly #metrics = operatorMetrics(this.#registry);
  readonly #source: KubeConfigSource;
  readonly #client: KubeClient;
  readonly #elector: LeaderElector;
  readonly #recorder: EventRecorder;
  readonly #guard: AdmissionGuard;
  readonly #admissionEvents: AdmissionEvents;
  #term: Term | undefined;
  #missing = 0;

  constructor(environment: Environment) {
    this.#settings = readSettings(allOperatorSettings, environment, {
      identity: `${hostname()}-${randomBytes(4).toString('hex')}`,
    });
    const { logLevel, identity, leaseDurationMs } = this.#settings;
    const log = createLogger({ level: logLevel, bindings: { component: 'operator' } });
    this.#log = log;
    this.#source = kubeConfigSource();
    const unknown = unknownSettings(environment);
    if (unknown.length > 0) log.warn({ names: unknown }, 'unknown settings are ignored');
    const requests = new ClientMetrics(this.#registry);
    this.#client = createKubeClient({
      kubeConfig: this.#source,
      userAgent: `latchkey-operator/${version}`,
      log,
      connections: 32,
      writeGuard: () => this.#assertLeading(),
      observe: (request) => requests.observe(request),
    });
    const shared = { client: this.#client, clock, log };
    this.#elector = new LeaderElector({
      ...shared,
      namespace: systemNamespace,
      name: systemObjects.lease,
      identity,
      random: Math.random,
      leaseDurationMs,
      renewDeadlineMs: (leaseDurationMs * 2) / 3,
      retryPeriodMs: Math.min(1_000, leaseDurationMs / 10),
    });
    this.#recorder = new EventRecorder({
      ...shared,
      reportingController: fieldManager,
      reportingInstance: identity,
      onDropped: () => this.#metrics.eventsDropped.inc(),
    });
    this.#admissionEvents = new AdmissionEvents({ client: this.#client, recorder: this.#recorder });
    this.#guard = new AdmissionGuard({
      ...shared,
      onLook: (missing) => this.#onLook(missing),
    });
  }

  /** Resolves when the signal has aborted and everything has ended in order, or throws `ERR_SHUTDOWN_TIMEOUT`. */
  async run(signal: AbortSignal): Promise<void> {
    await withinGrace(this.#run(signal), signal);
  }

  async #run(signal: AbortSignal): Promise<void> {
    const servers = this.#servers();
    try {
      for (const server of servers) {
        const { address, port } = await server.listen();
        this.#log.info({ purpose: server.purpose, address, port }, 'listening');
      }
      await checkInstallation(this.#client, signal);
      const guarding = this.#guard.run(signal);
      await this.#elector.run(signal, (leading) => this.#lead(leading));
      await guarding;
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      await this.#recorder.drain();
      await Promise.all(servers.map((server) => server.close()));
      await this.#client.close();
    }
  }

  /** What was left unconfirmed waits in the back-off of its queue; it need not, once the policies are back. */
  #onLook(missing: number): void {
    this.#metrics.admissionMissing.set(missing);
    if (missing === 0 && this.#missing > 0) this.#term?.controllers.wakeAll();
    this.#missing = missing;
    if (this.#term !== undefined) this.#tellOfAdmission();
  }

  /** Only the leader does: all replicas look. */
  #tellOfAdmission(): void {
    void this.#admissionEvents.say(this.#guard.problem());
  }

  /** One term of leadership: sync, then work, then drain. */
  async #lead(signal: AbortSignal): Promise<void> {
    const log = this.#log;
    const controllers = this.#controllers();
    const reflectors = this.#reflectors(controllers);
    this.#term = { controllers, reflectors };
    this.#metrics.leader.set(1);
    const over = new AbortController();
    const watched = AbortSignal.any([signal, over.signal]);
    const running = reflectors.map(({ reflector }) => reflector.run(watched));
    try {
      await Promise.all(reflectors.map(({ reflector }) => reflector.synced(signal)));
      log.info({ keys: controllers.stores.keys.size, tokens: controllers.stores.tokens.size }, 'synced');
      await this.#guard.looked(signal);
      this.#tellOfAdmission();
      running.push(controllers.targetSweep.run(watched));
      await this.#work(controllers, signal);
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      this.#term = undefined;
      over.abort();
      await Promise.all(running);
      await controllers.close();
      this.#metrics.endTerm();
    }
  }

  async #work(controllers: Controllers, signal: AbortSignal): Promise<void> {
    const operator = new LatchkeyOperator({
      kubeConfig: this.#source.load(),
      controllers: controllers.all,
      metricsOf: (name) => this.#metrics.controllers.for(name),
      clock,
      log: this.#log,
    });
    await operator.start();
    await aborted(signal);
    operator.stop();
    await operator.stopped();
  }

  #reflectors({ stores, targets, system }: Controllers): readonly NamedReflector[] {
    const metricsOf = (name: string) => this.#metrics.informers.for(name);
    const shared = { client: this.#client, clock, random: Math.random, log: this.#log };
    return makeReflectors({ ...shared, metricsOf, stores, targets, system });
  }

  #controllers(): Controllers {
    return new Controllers({
      client: this.#client,
      clock,
      random: Math.random,
      log: this.#log,
      events: new CredentialEvents(this.#recorder, this.#log),
      targetEvents: new ObjectEvents(this.#recorder, this.#log),
      settings: this.#settings,
      metrics: this.#metrics,
      assertAdmission: () => this.#guard.assertComplete(),
      trustedSince: () => this.#guard.trustedSince(),
      assertLeading: () => this.#assertLeading(),
    });
  }

  /** A write that starts after the lease may have gone to another would be decided on what that one has changed. */
  #assertLeading(): void {
    if (!this.#elector.mayWrite()) throw new LatchkeyError('ERR_LEADERSHIP_LOST', { action: 'a write' });
  }

  #servers(): readonly TelemetryServer[] {
    const { healthAddress, metricsAddress } = this.#settings;
    const health = healthHandler({
      livez: { process: () => undefined },
      readyz: {
        admission: () => this.#guard.problem(),
        sync: () => this.#unsynced(),
        freshness: () => this.#stale(),
        'signing-key': () => this.#unsigned(),
      },
    });
    return [
      new TelemetryServer({ address: healthAddress, purpose: 'health', handler: health }),
      new TelemetryServer({
        address: metricsAddress,
        purpose: 'metrics',
        handler: metricsHandler(this.#registry),
      }),
    ];
  }

  /** A replica that does not lead is ready: it stands by. */
  #unsynced(): string | undefined {
    const waiting = this.#term?.reflectors.filter(({ reflector }) => !reflector.hasSynced()) ?? [];
    return waiting.length === 0 ? undefined : `not synced: ${waiting.map(({ name }) => name).join(', ')}`;
  }

  #stale(): string | undefined {
    const stale = this.#term?.reflectors.filter(
      ({ reflector }) => reflector.hasSynced() && reflector.freshness() > staleAfter,
    );
    return stale === undefined || stale.length === 0
      ? undefined
      : `stale: ${stale.map(({ name }) => name).join(', ')}`;
  }

  #unsigned(): string | undefined {
    return this.#term === undefined || this.#term.controllers.hasSigningKey
      ? undefined
      : 'there is no signing key yet';
  }
}

/** What may rise exists with 0 from the start, also in a process that never leads. */
function operatorMetrics(registry: Registry): OperatorMetrics {
  watchProcess(registry, version);
  const metrics = new OperatorMetrics(registry);
  for (const name of controllerNames) metrics.controllers.for(name);
  for (const name of reflectorNames) metrics.informers.for(name);
  for (const kind of Object.keys(finalizerLimits)) metrics.finalizersReleased.inc({ kind }, 0);
  return metrics;
}

/** Resolves when the signal has aborted, also when that was long ago. */
function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
