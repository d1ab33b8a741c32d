import type { Resource } from '../api/resources.ts';
import { Reflector } from '../kube/cache/reflector.ts';
import type { ReflectorClient, ReflectorOptions, ToRecord } from '../kube/cache/reflector-options.ts';
import type { Store, StoredRecord } from '../kube/cache/store.ts';
import type { Clock } from '../kube/clock.ts';
import type { Logger } from '../logger.ts';

/** A watch that fails for longer than this is reported, milliseconds: the longest pause between two tries. */
export const failingAfterMs = 30_000;

/** Where an informer reports to. */
export interface InformerReport {
  readonly restarted: () => void;
  /** Both are read at every scrape. */
  readonly read: (objects: () => number, freshnessSeconds: () => number) => void;
}

export interface InformersOptions {
  readonly client: ReflectorClient;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly log: Logger;
  readonly metricsOf: (name: string) => InformerReport;
}

/** The watched kind, and the parts of it that are kept. */
export interface InformerSource<R extends StoredRecord>
  extends Pick<ReflectorOptions<R>, 'proofTimeoutMs' | 'watchSeconds' | 'backOffMs'> {
  /** Default: that of the others. */
  readonly client?: ReflectorClient;
  readonly resource: Resource;
  /** Absent: all namespaces. */
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly store: Store<R>;
  readonly toRecord: ToRecord<R>;
  /** Its kind is defined by a CRD, which may be missing while everything else works. Default: false. */
  readonly mayBeUnserved?: boolean;
}

interface Informer {
  readonly name: string;
  readonly mayBeUnserved: boolean;
  readonly reflector: Pick<
    Reflector<StoredRecord>,
    'run' | 'synced' | 'answered' | 'hasSynced' | 'freshness' | 'outage' | 'retryNow' | 'position'
  >;
}

/** Everything that one part of a process watches: run, waited for and judged together. */
export class Informers {
  readonly #options: InformersOptions;
  readonly #informers: Informer[] = [];

  constructor(options: InformersOptions) {
    this.#options = options;
  }

  /** `name` stands in metrics and checks. */
  add<R extends StoredRecord>(name: string, source: InformerSource<R>): void {
    const { metricsOf, ...shared } = this.#options;
    const { mayBeUnserved = false } = source;
    const metrics = metricsOf(name);
    const reflector = new Reflector({ ...shared, ...source, onRestart: metrics.restarted });
    metrics.read(
      () => source.store.size,
      () => reflector.freshness() / 1000,
    );
    this.#informers.push({ name, mayBeUnserved, reflector });
  }

  /** Works until the signal aborts. Run it once, when all are added. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#informers.map(({ reflector }) => reflector.run(signal)));
  }

  /** Ends the pauses after failures. */
  retryNow(): void {
    for (const { reflector } of this.#informers) reflector.retryNow();
  }

  /** Resolves when every store has held everything at one moment; rejects with the signal's reason. */
  async synced(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#informers.map(({ reflector }) => reflector.synced(signal)));
  }

  /** The same, but does not wait for kinds whose definition is missing, where that is allowed. */
  async answered(signal: AbortSignal): Promise<void> {
    await Promise.all(
      this.#informers.map(({ mayBeUnserved, reflector }) =>
        mayBeUnserved ? reflector.answered(signal) : reflector.synced(signal),
      ),
    );
  }

  /** Calls back with the name of each that has not synced yet, when it has. Resolves after the last; rejects with the signal's reason. */
  async followUnsynced(onSynced: (name: string) => void, signal: AbortSignal): Promise<void> {
    const late = this.#informers.filter(({ reflector }) => !reflector.hasSynced());
    await Promise.all(
      late.map(async ({ name, reflector }) => {
        await reflector.synced(signal);
        onSynced(name);
      }),
    );
  }

  /** Up to which resourceVersion everything of this name is known; undefined while it is read (again). */
  position(name: string): string | undefined {
    return this.#informers.find((informer) => informer.name === name)?.reflector.position();
  }

  /** For a health check: what has not been read yet. */
  unsynced(): string | undefined {
    return namesOf(
      'not synced',
      this.#informers.filter(({ reflector }) => !reflector.hasSynced()),
    );
  }

  /** For a health check: what brought no news for longer than this. */
  stale(maxAgeMs: number): string | undefined {
    return namesOf(
      'stale',
      this.#informers.filter(({ reflector }) => reflector.hasSynced() && reflector.freshness() > maxAgeMs),
    );
  }

  /** For a health check: what could not be watched for longer than this, and why. */
  failing(maxMs: number): string | undefined {
    const failing = this.#informers.flatMap(({ name, reflector }) => {
      const outage = reflector.outage(maxMs);
      return outage === undefined ? [] : [`${name} ${outage}`];
    });
    return failing.length === 0 ? undefined : `failing: ${failing.join(', ')}`;
  }
}

function namesOf(problem: string, informers: readonly Informer[]): string | undefined {
  return informers.length === 0 ? undefined : `${problem}: ${informers.map(({ name }) => name).join(', ')}`;
}
