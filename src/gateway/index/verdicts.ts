import { allCredentialKinds, type CredentialKind } from '../../api/credential-kinds.ts';
import { reasons } from '../../api/reasons.ts';
import type { LiveRecord } from '../../credentials/record.ts';
import type { StoreChange } from '../../kube/cache/store.ts';
import { type CredentialRecords, hashesOf } from './credential-records.ts';
import { type JudgeOptions, judge, type Refused, type Verdict } from './verdict.ts';

export interface VerdictsOptions extends Omit<JudgeOptions, 'records'> {
  readonly records: CredentialRecords;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Called with each hash whose verdict no longer counts. */
  readonly onDropped: (hash: string) => void;
}

/**
 * The verdicts on credentials in use. Each is made at its first use and kept until something changes that it rests on: asking
 * again at each request would cost more than the rest of it. Only credentials that are good have one, so strangers fill no memory.
 */
export class Verdicts {
  readonly #options: VerdictsOptions;
  readonly #byHash = new Map<string, Verdict>();
  /** Hashes of verdicts by what they rest on: `key/<name>` of an ancestor, `instance/<namespace>/<name>`. */
  readonly #dependents = new Map<string, Set<string>>();

  constructor(options: VerdictsOptions) {
    this.#options = options;
    const { targets, records } = options;
    for (const kind of allCredentialKinds)
      records.ofKind[kind].subscribe((change) => this.#onCredential(kind, change));
    targets.instances.subscribe(({ key }) => this.#dropDependents(`instance/${key}`));
  }

  /** How many credentials are in use. */
  get size(): number {
    return this.#byHash.size;
  }

  /** The verdict on the credential with this hash; `undefined` when there is none. */
  find(hash: string): Verdict | Refused | undefined {
    const known = this.#byHash.get(hash);
    if (known !== undefined && this.#options.now() < known.end) return known;
    if (known !== undefined) this.#forget(hash, known);
    return this.#judge(hash);
  }

  /** The verdict on an access key without its secret: for what is made below it at its own wish. It is not kept. */
  findKey(name: string): Verdict | Refused | undefined {
    const record = this.#options.records.accessKey(name);
    return record && this.#judgeClaim(record, record.status.credentialHash ?? '');
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
      return judge(record, hash, this.#options.now(), this.#options);
    } catch {
      return { reason: reasons.identityInvalid };
    }
  }

  #keep(hash: string, verdict: Verdict): void {
    this.#byHash.set(hash, verdict);
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
    const verdict = this.#byHash.get(hash);
    if (verdict === undefined) return;
    this.#forget(hash, verdict);
    this.#options.onDropped(hash);
  }
}

function dependenciesOf({ record, ancestors }: Verdict): readonly string[] {
  const keys = ancestors.map(({ name }) => `key/${name}`);
  const { kubeConfig, namespace = '' } = record;
  return kubeConfig === undefined ? keys : [...keys, `instance/${namespace}/${kubeConfig.instance}`];
}
