import { asObject } from '../../api/json.ts';
import { group } from '../../api/names.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import type { Clock } from '../../kube/clock.ts';
import { servedVersion } from '../../kube/served-version.ts';
import { sleep } from '../../kube/sleep.ts';
import type { Logger } from '../../logger.ts';

export interface OwnClusterOptions {
  readonly client: Pick<KubeClient, 'request'>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Before the first answer, and after it, milliseconds. */
const askAgainMs = { unknown: 1_000, known: 60_000 };
/** From this minor version on the API server can be asked to impersonate users, and no one else. */
const constrainedFrom = 36;

/**
 * The cluster that a direct endpoint runs in. On an API server that serves our kinds it serves no one: credentials there need
 * the gateway, which never shows them.
 */
export class OwnCluster {
  readonly #options: OwnClusterOptions;
  #state: 'unknown' | 'target' | 'platform' = 'unknown';
  #hasWarned = false;

  constructor(options: OwnClusterOptions) {
    this.#options = options;
  }

  /** Why it cannot be served. */
  problem(): string | undefined {
    if (this.#state === 'target') return undefined;
    return this.#state === 'unknown'
      ? 'the API server of this cluster has not answered yet'
      : 'this cluster serves management.platform.sh itself: its gateway is the way into it';
  }

  /** Works until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    while (!signal.aborted) {
      try {
        await this.#ask(signal);
      } catch (error) {
        if (!signal.aborted)
          log.warn({ err: error }, 'the API server of this cluster cannot be asked what it is');
      }
      await sleep(clock, this.#state === 'unknown' ? askAgainMs.unknown : askAgainMs.known, signal);
    }
  }

  async #ask(signal: AbortSignal): Promise<void> {
    const { client, log } = this.#options;
    const { minor } = servedVersion(await client.request<unknown>('GET', '/version', { signal }));
    // Not known counts as older: the warning asks for a look.
    if (!(minor >= constrainedFrom) && !this.#hasWarned) {
      this.#hasWarned = true;
      log.warn(
        {},
        'this Kubernetes has no constrained impersonation: who steals the token of this account is administrator',
      );
    }
    const { groups } = asObject(await client.request<unknown>('GET', '/apis', { signal }));
    if (!Array.isArray(groups)) throw new TypeError('the answer at /apis names no groups');
    const isServed = groups.some((each) => asObject(each)['name'] === group);
    this.#state = isServed ? 'platform' : 'target';
  }
}
