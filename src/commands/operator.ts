import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import {
  annotations,
  fieldManager,
  finalizers,
  serviceAccounts,
  systemNamespace,
  systemObjects,
} from '../api/names.ts';
import { exitCodes } from '../error-catalogue.ts';
import { LatchkeyError } from '../errors.ts';
import type { KubeClient } from '../kube/client/client.ts';
import { systemClock as clock } from '../kube/clock.ts';
import { followClockSteps } from '../kube/clock-steps.ts';
import { EventRecorder } from '../kube/events/event-recorder.ts';
import { LeaderElector } from '../kube/leader/leader-election.ts';
import { isNewerVersion } from '../kube/object.ts';
import { AdmissionEvents } from '../operator/admission/admission-events.ts';
import { type AdmissionCheck, AdmissionGuard } from '../operator/admission/admission-guard.ts';
import {
  firstSeenText,
  formatPoliciesSeen,
  parsePoliciesSeen,
  unknownPolicies,
  unknownPoliciesText,
} from '../operator/admission/policies-seen.ts';
import { readPolicies } from '../operator/admission/policy-digest.ts';
import { informerNames } from '../operator/assembly/informers.ts';
import { connectionsFor, controllerNames } from '../operator/assembly/queues.ts';
import { staleAfterMs, Term, type TermOptions } from '../operator/assembly/term.ts';
import { CredentialAudit } from '../operator/audit/credential-audit.ts';
import { ObjectEvents } from '../operator/shared/events.ts';
import { failingAfterMs } from '../platform/informers.ts';
import { Host, type Work } from '../process/host.ts';
import { untilInstalled } from '../process/installation-check.ts';
import { allOperatorSettings, type OperatorSettings } from '../settings/operator.ts';
import { readSettings } from '../settings/read.ts';
import type { HealthChecks } from '../telemetry/health.ts';
import { OperatorMetrics } from '../telemetry/metrics/operator.ts';
import { type AuditLog, openAuditLog } from './audit-log.ts';
import type { Command } from './command.ts';

/** Without news of the lease for longer than this it is not ready, milliseconds. Leader and standby have some every few seconds. */
const silentAfterMs = 15_000;

/** How old what a Lease says of the policies may be, as a part of its duration, before the API server is asked again. */
const provenEvery = 2 / 3;

/** Runs the operator until the signal aborts. */
export const run: Command = async ({ environment, signal }) => {
  const settings = readSettings(allOperatorSettings, environment);
  const host = new Host({ component: 'operator', environment, settings });
  const audit = openAuditLog(host, settings);
  await host.run(new OperatorProcess(host, settings, audit), signal);
  return exitCodes.success;
};

/** Puts the parts of the operator together. Every replica watches over admission; the one that leads has a term. */
class OperatorProcess implements Work {
  readonly readiness: HealthChecks;
  readonly #host: Host;
  readonly #audit: AuditLog;
  readonly #settings: OperatorSettings;
  readonly #metrics: OperatorMetrics;
  readonly #client: KubeClient;
  readonly #elector: LeaderElector;
  readonly #recorder: EventRecorder;
  readonly #guard: AdmissionGuard;
  readonly #admissionEvents: AdmissionEvents;
  #term: Term | undefined;
  #hasLed = false;
  /** The text of the Lease about policies until all that they did not guard is dealt with; empty: what the leader before has said. */
  #unsettled: Record<string, string> = {};
  #missing = 0;
  #isInstalled = false;

  constructor(host: Host, settings: OperatorSettings, audit: AuditLog) {
    this.#host = host;
    this.#audit = audit;
    this.#settings = settings;
    this.#metrics = createMetrics(host);
    this.#client = host.connect({
      connections: connectionsFor(),
      writeGuard: () => this.#assertLeading(),
    });
    const { leaseDurationMs } = settings;
    // In the leader lease and in events. It must differ between replicas, and between a process and the one before it.
    const identity = `${hostname()}-${randomBytes(4).toString('hex')}`;
    const shared = { client: this.#client, clock, log: host.log };
    this.#elector = this.#createElector(identity, leaseDurationMs);
    this.#recorder = new EventRecorder({
      ...shared,
      reportingController: fieldManager,
      reportingInstance: identity,
      onDropped: () => this.#metrics.eventsDropped.inc(),
    });
    this.#admissionEvents = new AdmissionEvents({ client: this.#client, recorder: this.#recorder });
    this.#guard = new AdmissionGuard({
      ...shared,
      random: Math.random,
      onCheck: (check) => this.#onAdmissionCheck(check),
      onKnown: () => this.#term?.enqueueAll(),
    });
    // A replica that does not lead is ready: it stands by.
    this.readiness = {
      api: () => this.#unreachable(),
      admission: () => this.#guard.problem(),
      sync: () => this.#term?.unsynced(),
      watches: () => allOf(this.#term?.failing(), this.#failingAdmission()),
      freshness: () => allOf(this.#term?.stale(), this.#staleAdmission()),
      'signing-key': () => this.#term?.unsigned(),
    };
  }

  async run(signal: AbortSignal): Promise<void> {
    const self = { component: 'operator', account: serviceAccounts.operator };
    try {
      const waiting = { clock, random: Math.random, log: this.#host.log };
      await untilInstalled(this.#client, self, waiting, signal);
      this.#isInstalled = true;
      const guarding = this.#guard.run(signal);
      const following = followClockSteps(clock, (stepMs) => this.#onClockStep(stepMs), signal);
      await this.#elector.run(signal, (leading) => this.#lead(leading));
      await Promise.all([guarding, following]);
    } finally {
      await this.#recorder.drain();
      await this.#audit.close();
    }
  }

  #createElector(identity: string, leaseDurationMs: number): LeaderElector {
    return new LeaderElector({
      // While all work waits for a slow API server, a renewal must not wait for a connection.
      client: this.#host.connect({ connections: 2 }),
      clock,
      log: this.#host.log,
      namespace: systemNamespace,
      name: systemObjects.lease,
      identity,
      random: Math.random,
      leaseDurationMs,
      renewDeadlineMs: (leaseDurationMs * 2) / 3,
      renewPeriodMs: Math.min(2_500, leaseDurationMs / 6),
      retryPeriodMs: Math.min(1_000, leaseDurationMs / 10),
      onRecovery: () => this.#retryWatches(),
      annotate: () => this.#policiesSeen(),
    });
  }

  /**
   * For the leader that comes next: nothing is to be distrusted of what was written up to then. It says so only when
   * that is true, so a time without policies that it has not dealt with is known to the next one.
   */
  #policiesSeen(): Record<string, string> {
    const { history } = this.#guard;
    const { leaseDurationMs } = this.#settings;
    const isBehind = isNewerVersion(this.#term?.latest ?? '0', history.proven?.resourceVersion ?? '0');
    // Where nothing was written since, nothing new is to be said: it takes four requests.
    if (isBehind && history.age > provenEvery * leaseDurationMs) this.#proveAgain();
    const isUnguarded = history.isOpen('changes') || history.isOpen('targets');
    // A proof from long ago, as by a standby, would have the next leader distrust all that came since.
    const proven = isBehind && history.age > leaseDurationMs ? undefined : history.proven;
    if (proven === undefined || isUnguarded || this.#term?.isSettled() !== true) return this.#unsettled;
    this.#unsettled = {};
    const { digest, resourceVersion: until } = proven;
    return { [annotations.policiesSeen]: formatPoliciesSeen({ digest, until }) };
  }

  /** A renewal does not wait for it: a later one says what came of it. */
  #proveAgain(): void {
    this.#guard.history.prove().catch((error: unknown) => {
      this.#host.log.debug({ err: error }, 'it is not known whether the admission policies have changed');
    });
  }

  /**
   * The point up to which the leader before this one saw everything. It is in the Lease until this one renews it. A Lease says nothing
   * where no one has led for longer than from one renewal to the next.
   */
  #watchedUntil(): TermOptions['watchedUntil'] {
    const { policiesSeen } = annotations;
    const inLease = this.#elector.annotation(policiesSeen);
    const said = parsePoliciesSeen(inLease ?? this.#unsettled[policiesSeen]);
    const isNewLease = this.#elector.isNewLease && !this.#hasLed;
    if (inLease !== undefined) this.#unsettled = {};
    return async (hasConfirmed, signal) => {
      const { digest } = await readPolicies(this.#client, signal);
      if (said !== undefined) return said.digest === digest ? undefined : said.until;
      // Someone has deleted the Lease of the leader before. If this one dies before it has dealt with that, the next must know it, too.
      const isDeleted = isNewLease && hasConfirmed;
      this.#unsettled = { [policiesSeen]: isDeleted ? unknownPoliciesText : firstSeenText(digest) };
      return isDeleted ? unknownPolicies.until : undefined;
    };
  }

  async #lead(signal: AbortSignal): Promise<void> {
    const { log } = this.#host;
    const events = new ObjectEvents(this.#recorder, log, clock);
    const term = this.#createTerm(events);
    this.#term = term;
    this.#hasLed = true;
    await term.run(signal).finally(() => {
      events.close();
      this.#term = undefined;
    });
  }

  #createTerm(events: ObjectEvents): Term {
    const { log } = this.#host;
    return new Term({
      client: this.#client,
      clock,
      random: Math.random,
      log,
      events,
      settings: this.#settings,
      metrics: this.#metrics,
      assertAdmission: () => this.#guard.assertComplete(),
      trustedSince: () => this.#guard.trustedSince(),
      history: this.#guard.history,
      watchedUntil: this.#watchedUntil(),
      assertLeading: () => this.#assertLeading(),
      audit: this.#audit.sink && new CredentialAudit({ sink: this.#audit.sink, clock }),
      admissionChecked: async (signal) => {
        await this.#guard.firstCheck(signal);
        this.#reportAdmission();
      },
    });
  }

  /** An unconfirmed object waits in the back-off of its queue; it need not, once the policies are back. */
  #onAdmissionCheck({ missing, comfortMissing, unknown }: AdmissionCheck): void {
    this.#metrics.admission.missing.set(missing);
    this.#metrics.admission.comfortMissing.set(comfortMissing);
    this.#metrics.admission.unknown.set(unknown);
    if (missing === 0 && this.#missing > 0) this.#term?.enqueueAll();
    this.#missing = missing;
    if (this.#term !== undefined) this.#reportAdmission();
  }

  #retryWatches(): void {
    this.#guard.retryNow();
    this.#term?.retryNow();
  }

  #onClockStep(stepMs: number): void {
    this.#host.log.warn({ stepMs }, 'the clock was set, or the machine slept: everything is checked again');
    this.#term?.enqueueDelayed();
  }

  /** Leader and standby have news of the lease every few seconds, so this hears of an outage first. */
  #unreachable(): string | undefined {
    if (!this.#isInstalled) return 'not reached yet; the log says why';
    const outage = this.#elector.outage(silentAfterMs);
    return outage === undefined ? undefined : `no lease request succeeded ${outage}`;
  }

  #failingAdmission(): string | undefined {
    const outage = this.#guard.outage(failingAfterMs);
    return outage === undefined ? undefined : `failing: admission policies ${outage}`;
  }

  #staleAdmission(): string | undefined {
    const isStale = this.#guard.hasSynced() && this.#guard.freshness() > staleAfterMs;
    return isStale ? 'stale: admission policies' : undefined;
  }

  /** Only the leader does, though all replicas check. */
  #reportAdmission(): void {
    void this.#admissionEvents.report(this.#guard.problem());
  }

  /** A write that starts after the lease may have gone to another would be decided on what that one has changed. */
  #assertLeading(): void {
    if (!this.#elector.mayWrite()) throw new LatchkeyError('ERR_LEADERSHIP_LOST', { action: 'a write' });
  }
}

const allOf = (...problems: readonly (string | undefined)[]): string | undefined =>
  problems.filter((problem) => problem !== undefined).join('; ') || undefined;

/** Counters that may rise exist with 0 from the start, also in a process that never leads. */
function createMetrics({ registry }: Host): OperatorMetrics {
  const metrics = new OperatorMetrics(registry);
  for (const name of controllerNames) metrics.controllers.for(name);
  for (const name of informerNames) metrics.informers.for(name);
  for (const kind of Object.keys(finalizers)) metrics.finalizersReleased.inc({ kind }, 0);
  return metrics;
}
