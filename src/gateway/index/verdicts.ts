import { allCredentialKinds, type CredentialKind } from '../../api/credential-kinds.ts';
import { reasons } from '../../api/reasons.ts';
import type { LiveRecord } from '../../credentials/record.ts';
import type { StoreChange } from '../../kube/cache/store.ts';
import type { Locks } from '../../platform/locks.ts';
import { type CredentialRecords, hashesOf } from './credential-records.ts';
import { type JudgeOptions, judge, type Refused, type Verdict } from './verdict.ts';

export interface VerdictsOptions extends Omit<JudgeOptions, 'records' | 'locks'> {
  readonly records: CredentialRecords;
  readonly locks: Pick<Locks, 'find' | 'store' | 'version'>;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Called with each hash whose verdict no longer counts. */
  readonly onDropped: (hash: string) => void;
  /** Default: for requests to the gateway. */
  readonly judge?: typeof judge;
}

interface Kept {
  readonly verdict: Verdict;
  /** {@link Locks.version} by which no lock stops it. */
  locks: number;
}

/** Locks that verdicts are compared with. */
interface SweepGoal {
  readonly version: number;
  readonly position: string | undefined;
}

/** How many verdicts are compared with new locks before others have their turn: about a millisecond. */
const turnSize = 250;

/**
 * The verdicts on credentials in use. Each is made at its first use and kept until something changes that it rests on: asking
 * again at each request would cost more than the rest of it. Only credentials that are good have one, so strangers fill no memory.
 */
export class Verdicts {
  readonly #options: VerdictsOptions;
  readonly #byHash = new Map<string, Kept>();
  /** Hashes of verdicts by what they rest on: `key/<name>` of an ancestor, `instance/<namespace>/<name>`. */
  readonly #dependents = new Map<string, Set<string>>();
  #isSweeping = false;
  /** Of the locks that all verdicts were compared with, while newer ones are. */
  #comparedTo: string | undefined;

  constructor(options: VerdictsOptions) {
    this.#options = options;
    const { targets, records, locks } = options;
    for (const kind of allCredentialKinds)
      records.ofKind[kind].subscribe((change) => this.#onCredential(kind, change));
    targets.instances.subscribe(({ key }) => this.#dropDependents(`instance/${key}`));
    locks.store.subscribe(() => this.#startSweep());
  }

  /** Up to which resourceVersion locks have done their work. While verdicts are compared with newer ones, these are not part of it. */
  get locksPosition(): string | undefined {
    return this.#isSweeping ? this.#comparedTo : this.#options.locks.store.position;
  }

  /** How many credentials are in use. */
  get size(): number {
    return this.#byHash.size;
  }

  /** The verdict on the credential with this hash; `undefined` when there is none. */
  find(hash: string): Verdict | Refused | undefined {
    const known = this.#byHash.get(hash);
    if (known === undefined) return this.#judge(hash);
    if (this.#options.now() >= known.verdict.end) this.#forget(hash, known.verdict);
    else if (this.#isUnlocked(hash, known)) return known.verdict;
    // The sweep would not find it any more, and streams would stay open.
    else this.#drop(hash);
    return this.#judge(hash);
  }

  /** The verdict on an access key without its secret: for what is made below it at its own wish. It is not kept. */
  findKey(name: string): Verdict | Refused | undefined {
    const record = this.#options.records.accessKey(name);
    return record && this.#judgeClaim(record, record.status.credentialHash ?? '');
  }

  /** A new lock counts for the very next request, whether or not the sweep has come so far. */
  #isUnlocked(hash: string, kept: Kept): boolean {
    const { locks, now } = this.#options;
    if (kept.locks === locks.version) return true;
    const { record, ancestors } = kept.verdict;
    if (locks.find(record, ancestors, { now: now(), hash }) !== undefined) return false;
    kept.locks = locks.version;
    return true;
  }

  /** For what is under way. */
  #startSweep(): void {
    if (this.#isSweeping) return;
    this.#isSweeping = true;
    this.#comparedTo = this.#options.locks.store.position;
    setImmediate(() => this.#beginSweep());
  }

  #beginSweep(): void {
    const { version, store } = this.#options.locks;
    this.#sweep({ version, position: store.position }, this.#byHash.entries());
  }

  #sweep(to: SweepGoal, left: Iterator<[string, Kept]>): void {
    for (let count = 0; count < turnSize; count += 1) {
      const { done, value } = left.next();
      if (done === true) return this.#endSweep(to);
      const [hash, kept] = value;
      if (!this.#isUnlocked(hash, kept)) this.#drop(hash);
    }
    setImmediate(() => this.#sweep(to, left));
  }

  /** Locks may come faster than all verdicts are compared: each round proves that those before it have done their work. */
  #endSweep({ version, position }: SweepGoal): void {
    this.#comparedTo = position;
    if (version === this.#options.locks.version) this.#isSweeping = false;
    else setImmediate(() => this.#beginSweep());
  }

  #judge(hash: string): Verdict | Refused | undefined {
    const claims = this.#options.records.withHash(hash);
    const results = claims.map((record) => this.#judgeClaim(record, hash));
    const verdicts = results.filter((result) => 'record' in result);
    const [verdict, another] = verdicts;
    // Two objects that both are good for it: no one knows whose it is.
    if (another !== undefined) return { reason: reasons.duplicateKey };
    if (verdict === undefined) return results[0];
    this.#keep(hash, verdict);
    return verdict;
  }

  /** A credential that throws here, as one with an identity that may not be impersonated, grants nothing. */
  #judgeClaim(record: LiveRecord, hash: string): Verdict | Refused {
    try {
      return (this.#options.judge ?? judge)(record, hash, this.#options.now(), this.#options);
    } catch {
      return { reason: reasons.identityInvalid };
    }
  }

  #keep(hash: string, verdict: Verdict): void {
    this.#byHash.set(hash, { verdict, locks: this.#options.locks.version });
    for (const dependency of dependenciesOf(verdict)) {
      const hashes = this.#dependents.get(dependency);
      if (hashes === undefined) this.#dependents.set(dependency, new Set([hash]));
      else hashes.add(hash);
    }
  }

  #forget(hash: string, verdict: Verdict): void {
    this.#byHash.delete(hash);
    for (const dependency of dependenciesOf(verdict)) {
      const hashes = this.#dependents.get(dependency);
      hashes?.delete(hash);
      if (hashes?.size === 0) this.#dependents.delete(dependency);
    }
  }

  #onCredential(kind: CredentialKind, { key, previous, current }: StoreChange<LiveRecord>): void {
    for (const record of [previous, current]) {
      if (record !== undefined) for (const hash of hashesOf(record)) this.#drop(hash);
    }
    if (kind === 'OwnedAccessKey') this.#dropDependents(`key/${key}`);
  }

  #dropDependents(dependency: string): void {
    for (const hash of [...(this.#dependents.get(dependency) ?? [])]) this.#drop(hash);
  }

  #drop(hash: string): void {
    const kept = this.#byHash.get(hash);
    if (kept === undefined) return;
    this.#forget(hash, kept.verdict);
    this.#options.onDropped(hash);
  }
}

function dependenciesOf({ record, ancestors }: Verdict): readonly string[] {
  const keys = ancestors.map(({ name }) => `key/${name}`);
  const { kubeConfig, namespace = '' } = record;
  return kubeConfig === undefined ? keys : [...keys, `instance/${namespace}/${kubeConfig.instance}`];
}
