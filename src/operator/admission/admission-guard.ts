import { labels } from '../../api/names.ts';
import type { Resource } from '../../api/resources.ts';
import { LatchkeyError } from '../../errors.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import type { Clock } from '../../kube/clock.ts';
import type { Logger } from '../../kube/logger.ts';
import type { KubeList, KubeObject } from '../../kube/object.ts';
import { sleep } from '../../kube/sleep.ts';
import { type PolicyKind, policyVersion, type ShippedPolicy, shippedPolicies } from './shipped-policies.ts';

export interface AdmissionGuardOptions {
  readonly client: Pick<KubeClient, 'list'>;
  readonly clock: Clock;
  readonly log: Logger;
  /** Hears after each look how many are missing. */
  readonly onLook: (missing: number) => void;
  /** Between two looks, milliseconds: while something is missing, and otherwise. */
  readonly intervals?: { readonly missing: number; readonly complete: number };
}

/** Those without which an object can name another requester than it had. */
const stampingPolicies: readonly string[] = ['latchkey-requester', 'latchkey-requester-integrity'];

const plurals: Readonly<Record<PolicyKind, string>> = {
  MutatingAdmissionPolicy: 'mutatingadmissionpolicies',
  MutatingAdmissionPolicyBinding: 'mutatingadmissionpolicybindings',
  ValidatingAdmissionPolicy: 'validatingadmissionpolicies',
  ValidatingAdmissionPolicyBinding: 'validatingadmissionpolicybindings',
};

/**
 * Watches over the policies that the operator relies on. Without them anybody who may create a key could stamp it
 * with another requester, so nothing new is confirmed while one is missing or of another version.
 */
export class AdmissionGuard {
  readonly #options: AdmissionGuardOptions;
  readonly #firstLook = Promise.withResolvers<void>();
  #missing: readonly ShippedPolicy[] = shippedPolicies;
  #looked = false;
  #since = 0;

  constructor(options: AdmissionGuardOptions) {
    this.#options = options;
  }

  /** For a health check: what is missing, or undefined. */
  problem(): string | undefined {
    if (this.#missing.length === 0) return undefined;
    return `missing or of another version: ${this.#missing.map(({ kind, name }) => `${kind}/${name}`).join(', ')}`;
  }

  /** Resolves after the first look, or when the signal aborts. */
  async looked(signal: AbortSignal): Promise<void> {
    const aborted = Promise.withResolvers<void>();
    const onAbort = () => aborted.resolve();
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
    await Promise.race([this.#firstLook.promise, aborted.promise]);
    signal.removeEventListener('abort', onAbort);
  }

  /** Throws `ERR_ADMISSION_MISSING`, which passes by itself, while something is missing. */
  assertComplete(): void {
    const missing = this.#missing.length;
    if (missing > 0) throw new LatchkeyError('ERR_ADMISSION_MISSING', { missing });
  }

  /**
   * Since when, in epoch milliseconds, every object carries stamps that nobody can forge; 0 while that is not known. One
   * that is older may have been made while a policy was missing.
   */
  trustedSince(): number {
    return this.#missing.length === 0 ? this.#since : 0;
  }

  /** Looks again and again until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log, intervals = { missing: 2_000, complete: 2_000 } } = this.#options;
    while (!signal.aborted) {
      await this.#look(signal).catch((error: unknown) =>
        log.warn({ err: error }, 'cannot read the admission policies'),
      );
      await sleep(clock, this.#missing.length > 0 ? intervals.missing : intervals.complete, signal).catch(
        () => undefined,
      );
    }
  }

  async #look(signal: AbortSignal): Promise<void> {
    const { onLook } = this.#options;
    const present = new Map<string, number>();
    for (const kind of Object.keys(plurals) as PolicyKind[]) {
      for (const { metadata } of (await this.#list(kind, signal)).items)
        present.set(`${kind}/${metadata.name}`, Date.parse(metadata.creationTimestamp));
    }
    const missing = shippedPolicies.filter(({ kind, name }) => !present.has(`${kind}/${name}`));
    const stamping = shippedPolicies.filter(({ name }) => stampingPolicies.includes(name));
    this.#since = Math.max(...stamping.map(({ kind, name }) => present.get(`${kind}/${name}`) ?? 0));
    this.#report(missing);
    this.#looked = true;
    this.#missing = missing;
    this.#firstLook.resolve();
    onLook(missing.length);
  }

  #report(missing: readonly ShippedPolicy[]): void {
    if (this.#looked && missing.length === this.#missing.length) return;
    const { log } = this.#options;
    const names = missing.map(({ kind, name }) => `${kind}/${name}`);
    if (missing.length === 0) log.info({}, 'all admission policies are there');
    else log.warn({ missing: names }, 'admission policies are missing: nothing new is confirmed');
  }

  #list(kind: PolicyKind, signal: AbortSignal): Promise<KubeList<KubeObject>> {
    const resource: Resource = {
      group: 'admissionregistration.k8s.io',
      version: 'v1',
      plural: plurals[kind],
      kind,
      namespaced: false,
    };
    return this.#options.client.list(resource, {
      labelSelector: `${labels.policyVersion}=${policyVersion}`,
      signal,
    });
  }
}
