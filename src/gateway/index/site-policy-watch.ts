import type { SitePolicy } from '../../credentials/site-policy.ts';
import { Store } from '../../kube/cache/store.ts';
import { Informers, type InformersOptions } from '../../platform/informers.ts';
import { type SitePolicyRecord, sitePolicyIn, sitePolicySource } from '../../platform/site-policy.ts';

/**
 * The site policy, as far as it is known. It is watched apart from the credentials: while it cannot be read, nothing is refused
 * here, and the operator refuses it later.
 */
export class SitePolicyWatch {
  readonly #informers: Informers;
  readonly #store = new Store<SitePolicyRecord>();

  constructor(options: InformersOptions) {
    this.#informers = new Informers(options);
    this.#informers.add('site-policy', sitePolicySource(this.#store));
  }

  /** Works until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#informers.run(signal);
  }

  readonly current = (): SitePolicy => sitePolicyIn(this.#store);
}
