import { LatchkeyError } from '../../errors.ts';
import { BackOff } from '../../kube/back-off.ts';
import { Reflector } from '../../kube/cache/reflector.ts';
import type { ReflectorClient } from '../../kube/cache/reflector-options.ts';
import { Store, type StoreChange } from '../../kube/cache/store.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import type { Clock, Timer } from '../../kube/clock.ts';
import { sleep } from '../../kube/sleep.ts';
import type { Logger } from '../../logger.ts';
import { type PolicyKind, type ShippedPolicy, shippedPolicies } from './generated/shipped-policies.ts';
import { policyDigest, policyKinds, policyResource, readDigestOf, readPolicies } from './policy-digest.ts';
import { allGuarded, type Guarded, PolicyHistory } from './policy-history.ts';
import { type PolicyRecord, toPolicyRecord } from './policy-record.ts';

export interface AdmissionGuardOptions {
  readonly client: ReflectorClient & Pick<KubeClient, 'get' | 'metadataOnly'>;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly log: Logger;
  readonly onCheck: (result: AdmissionCheck) => void;
  /** Called when the policies are known again after they could not be read, or were others than the watches have brought. */
  readonly onKnown: () => void;
}

/** How many are missing, and how many of ours there are that this release does not have. */
export interface AdmissionCheck {
  /** Of those that protect security. */
  readonly missing: number;
  /** Of those for comfort, for which nothing waits. */
  readonly comfortMissing: number;
  readonly unknown: number;
}

const securityPolicies = shippedPolicies.filter(({ protects }) => protects === 'security');
const comfortPolicies = shippedPolicies.filter(({ protects }) => protects === 'comfort');

const stamping: readonly string[] = ['latchkey-requester', 'latchkey-requester-integrity'];

/** While one of these is missing or edited, it is a time without policies. What all others refuse is asked again, or gives nothing. */
const guarding: Readonly<Record<Guarded, readonly string[]>> = {
  records: stamping,
  changes: [...stamping, 'latchkey-ownership', 'latchkey-secret-reference'],
  targets: ['latchkey-target-secrets'],
};

const piecesFor = (what: Guarded) => shippedPolicies.filter(({ name }) => guarding[what].includes(name));
const pieces = {
  records: piecesFor('records'),
  changes: piecesFor('changes'),
  targets: piecesFor('targets'),
};
/** API servers act on a policy some time after it was written; milliseconds. */
const actsAfterMs = 5_000;

/** Changes come in bursts: an apply of all policies is reported once. */
const debounceMs = 500;
/** Between questions to the API server that found other policies than the watches have brought. */
const proofBackOff = { initialMs: 200, maxMs: 10_000 };

/**
 * Watches the policies that the operator relies on. Without them anybody who may create a key could stamp it with
 * another requester, so nothing new is confirmed while one that protects security is missing, older or edited. One of a newer release
 * counts: it belongs to the operator that comes next. For one that is for comfort, nothing waits.
 */
export class AdmissionGuard {
  readonly #options: AdmissionGuardOptions;
  readonly #stores: ReadonlyMap<PolicyKind, Store<PolicyRecord>>;
  readonly #reflectors: readonly Reflector<PolicyRecord>[];
  /** When there were times without policies, in this process. */
  readonly history: PolicyHistory;
  /** Policies that were found edited and have not been as they should be since, by `kind/name`. */
  readonly #distrusted = new Set<string>();
  /** Since when one that was distrusted is as it should be again. */
  readonly #restored = new Map<string, number>();
  #hasChecked = false;
  #isRunning = false;
  #planned: Timer | undefined;
  readonly #proofBackOff: BackOff;
  #changed = Promise.withResolvers<void>();
  /** Asked at every reconcile; absent after a change. */
  #missingNow: readonly string[] | undefined;
  #reported: string | undefined;

  constructor(options: AdmissionGuardOptions) {
    this.#options = options;
    this.#proofBackOff = new BackOff({ ...proofBackOff, random: options.random });
    this.history = new PolicyHistory({
      clock: options.clock,
      onKnown: options.onKnown,
      readAll: () => readPolicies(options.client),
      digestOfAll: () => this.digest(),
      readGuarding: (what) => readDigestOf(options.client, pieces[what]),
      digestOfGuarding: (what) => this.#digestOf(pieces[what]),
      isGuarded: (what, since) => this.#isThere(what) && since >= this.#guardedSince(what),
    });
    this.#stores = new Map(policyKinds.map((kind) => [kind, new Store<PolicyRecord>()]));
    this.#reflectors = [...this.#stores].map(([kind, store]) => this.#reflector(kind, store));
  }

  /** For a health check: what is missing, or undefined. */
  problem(): string | undefined {
    const missing = this.#missing();
    if (missing.length > 0) return `missing, older or edited: ${missing.join(', ')}`;
    return this.isUnguarded('changes') || this.isUnguarded('targets')
      ? 'new or restored just now: objects made at this moment do not count'
      : undefined;
  }

  /** Resolves when all are known, or when the signal aborts. */
  async firstCheck(signal: AbortSignal): Promise<void> {
    const known = Promise.all(this.#reflectors.map((reflector) => reflector.synced(signal)));
    await known.catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
    if (!this.hasSynced() || this.#hasChecked) return;
    this.#hasChecked = true;
    const now = this.#options.clock.now();
    for (const what of allGuarded)
      if (!this.#isThere(what) || now < this.#guardedSince(what)) this.history.begin(what);
  }

  /** Throws `ERR_ADMISSION_MISSING`, which passes by itself, while something is missing. */
  assertComplete(): void {
    const missing = this.#missing().length;
    if (missing > 0) throw new LatchkeyError('ERR_ADMISSION_MISSING', { missing });
  }

  /**
   * Since when, in epoch milliseconds, every object carries records of its requester that no one can forge; 0 while that is not known.
   * One that is older may have been made while a policy was missing or edited.
   */
  trustedSince(): number {
    return this.#missing().length > 0 ? 0 : this.#guardedSince('records');
  }

  /** Whether this is a time without policies: one that guards this is missing or edited, or was until just now. */
  isUnguarded(what: Guarded): boolean {
    return this.history.isOpen(what);
  }

  /** One of an older release judges as well as it can; its upgrade must not distrust everyone. */
  #isThere(what: Guarded): boolean {
    return pieces[what].every(({ kind, name }) => {
      const state = this.#find(kind, name)?.state;
      return state !== undefined && state !== 'edited';
    });
  }

  /** Of all policies as they are known; undefined before they are. */
  digest(): string | undefined {
    if (!this.hasSynced()) return undefined;
    return policyDigest([...this.#stores.values()].flatMap((store) => [...store.values()]));
  }

  #digestOf(policies: readonly ShippedPolicy[]): string | undefined {
    if (!this.hasSynced()) return undefined;
    return policyDigest(policies.flatMap(({ kind, name }) => this.#find(kind, name) ?? []));
  }

  /** Times of objects are whole seconds, too: one that was made in the second of its policy may have been made before it. */
  #guardedSince(what: Guarded): number {
    const times = pieces[what].map(({ kind, name }) => {
      const { createdAt = 0 } = this.#find(kind, name) ?? {};
      return Math.max(createdAt + actsAfterMs, this.#restored.get(`${kind}/${name}`) ?? 0);
    });
    return Math.max(...times);
  }

  /** True once all were known at one moment. */
  hasSynced(): boolean {
    return this.#reflectors.every((reflector) => reflector.hasSynced());
  }

  /** Milliseconds since the API server last showed that what is known is up to date. */
  freshness(): number {
    return Math.max(...this.#reflectors.map((reflector) => reflector.freshness()));
  }

  /** For a health check: how long the policies could not be watched, and why, where that is longer than this. */
  outage(maxMs: number): string | undefined {
    return this.#reflectors
      .map((reflector) => reflector.outage(maxMs))
      .find((outage) => outage !== undefined);
  }

  /** Ends the pauses after failures. */
  retryNow(): void {
    for (const reflector of this.#reflectors) reflector.retryNow();
  }

  /** Works until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const watching = this.#reflectors.map((reflector) => reflector.run(signal));
    await this.firstCheck(signal);
    this.#isRunning = !signal.aborted;
    this.#planProof();
    while (!signal.aborted) {
      this.#report();
      await this.#nextChange(signal).catch(() => undefined);
    }
    this.#isRunning = false;
    this.#planned?.cancel();
    await Promise.all(watching);
  }

  /**
   * Plans the next question to the API server: what the leader says in the Lease must not be older than a change, and only an answer says
   * from when on the policies guard again.
   */
  #planProof(atLeastMs = debounceMs): void {
    this.#planned?.cancel();
    if (!this.#isRunning) return;
    const now = this.#options.clock.now();
    const ends = allGuarded.filter((what) => this.isUnguarded(what) && this.#isThere(what));
    const isChanged = this.history.proven?.digest !== this.digest();
    const dues = [...ends.map((what) => this.#guardedSince(what) - now), ...(isChanged ? [0] : [])];
    if (dues.length === 0) return;
    const delayMs = Math.max(Math.min(...dues), atLeastMs);
    this.#planned = this.#options.clock.setTimer(() => void this.#prove(), delayMs);
  }

  async #prove(): Promise<void> {
    try {
      await this.history.prove();
      this.#proofBackOff.reset();
      this.#planProof();
    } catch (error) {
      this.#options.log.debug({ err: error }, 'the state of the admission policies is not known for certain');
      this.#planProof(this.#proofBackOff.next());
    }
  }

  /** Resolves some time after the next change, with those that follow it. */
  async #nextChange(signal: AbortSignal): Promise<void> {
    const ended = Promise.withResolvers<void>();
    const onAbort = () => ended.resolve();
    signal.addEventListener('abort', onAbort, { once: true });
    await Promise.race([this.#changed.promise, ended.promise]);
    signal.removeEventListener('abort', onAbort);
    await sleep(this.#options.clock, debounceMs, signal);
    this.#changed = Promise.withResolvers<void>();
  }

  /** Of those that protect security. */
  #missing(): readonly string[] {
    if (!this.hasSynced()) return securityPolicies.map(({ kind, name }) => `${kind}/${name}`);
    this.#missingNow ??= this.#missingOf(securityPolicies);
    return this.#missingNow;
  }

  #missingOf(policies: readonly ShippedPolicy[]): readonly string[] {
    return policies.flatMap(({ kind, name }) => {
      const record = this.#find(kind, name);
      if (isPresent(record)) return [];
      return record?.edited === undefined ? [`${kind}/${name}`] : [`${kind}/${name} (${record.edited})`];
    });
  }

  #unknown(): readonly string[] {
    const records = [...this.#stores.values()].flatMap((store) => [...store.values()]);
    return records.filter(({ state }) => state === 'unknown').map(({ kind, key }) => `${kind}/${key}`);
  }

  #report(): void {
    const { log, onCheck } = this.#options;
    const [missing, unknown] = [this.#missing(), this.#unknown()];
    const comfortMissing = this.#missingOf(comfortPolicies);
    const result = JSON.stringify([missing, comfortMissing, unknown]);
    if (result === this.#reported) return;
    this.#reported = result;
    if (missing.length > 0) log.warn({ missing }, 'admission policies are missing: nothing new is confirmed');
    if (comfortMissing.length > 0)
      log.warn(
        { missing: comfortMissing },
        'admission policies for comfort are missing: nothing waits for them',
      );
    if (missing.length + comfortMissing.length === 0) log.info({}, 'all admission policies are there');
    if (unknown.length > 0) log.warn({ unknown }, 'admission policies of another release are still judging');
    const counts = { missing: missing.length, comfortMissing: comfortMissing.length };
    onCheck({ ...counts, unknown: unknown.length });
  }

  #reflector(kind: PolicyKind, store: Store<PolicyRecord>): Reflector<PolicyRecord> {
    const { client, clock, random, log } = this.#options;
    store.subscribe((change) => this.#onChange(kind, change));
    const toRecord = (object: Parameters<typeof toPolicyRecord>[0]) => toPolicyRecord(object, kind);
    return new Reflector({ client, clock, random, log, resource: policyResource(kind), store, toRecord });
  }

  #onChange(kind: PolicyKind, { key, previous, current }: StoreChange<PolicyRecord>): void {
    const id = `${kind}/${key}`;
    const isNew = previous === undefined && this.hasSynced();
    const isDoubtful = isNew || current?.state === 'edited' || isUnseenEdit(previous, current);
    if (isDoubtful) this.#distrusted.add(id);
    if (current !== undefined && isPresent(current) && this.#distrusted.delete(id))
      this.#restored.set(id, current.writtenAt + actsAfterMs);
    if (this.hasSynced() && (isDoubtful || current === undefined)) this.#beginTimes(kind, key);
    this.#missingNow = undefined;
    this.#planProof();
    this.#changed.resolve();
  }

  #beginTimes(kind: PolicyKind, name: string): void {
    for (const what of allGuarded)
      if (pieces[what].some((piece) => piece.kind === kind && piece.name === name))
        this.history.begin(what, this.#stores.get(kind)?.position);
  }

  #find(kind: PolicyKind, name: string): PolicyRecord | undefined {
    return this.#stores.get(kind)?.get(name);
  }
}

const isPresent = (record: PolicyRecord | undefined): boolean =>
  record?.state === 'shipped' || record?.state === 'newer';

/**
 * Between two versions that count the spec may have been anything: one of a newer release is not compared, and a watch
 * that was away brings only the last of several changes.
 */
function isUnseenEdit(previous: PolicyRecord | undefined, current: PolicyRecord | undefined): boolean {
  if (previous === undefined || current?.state !== 'shipped') return false;
  return (
    previous.state === 'newer' || (previous.state === 'shipped' && previous.generation !== current.generation)
  );
}
