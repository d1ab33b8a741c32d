import { kinds, Refused } from './api.js';
import { toCredential } from './credentials.js';

/** Between two reads of what is not watched, which also tell whether the gateway is there. */
const readMs = 20_000;
const retryMs = { first: 500, max: 15_000 };

/**
 * @typedef {object} LiveOptions
 * @property {import('./api.js').Gateway} gateway
 * @property {import('./credentials.js').Credentials} credentials
 * @property {() => void} onChange
 * @property {(problem: string | undefined) => void} onCut Undefined: the page is up to date.
 * @property {(refused: Refused) => void} onRefused The key is refused, and nothing goes on.
 */

/**
 * Keeps what the page shows up to date. Browsers open six connections to one host, for all tabs together. So only access keys are watched,
 * tokens and kubeconfigs are read now and then, and a tab in the background waits.
 */
export class Live {
  #options;
  #ended = new AbortController();
  #round = new AbortController();

  /** @param {LiveOptions} options */
  constructor(options) {
    this.#options = options;
    const { signal } = this.#ended;
    addEventListener('offline', () => this.#restart('The network is away.'), { signal });
    addEventListener('online', () => this.#restart(), { signal });
    document.addEventListener('visibilitychange', () => this.#restart(), { signal });
    void this.#run();
  }

  stop() {
    this.#ended.abort();
    this.#round.abort();
  }

  /** Reads tokens and kubeconfigs again, which are not watched. */
  async refresh() {
    await Promise.all([
      this.#list('DirectClusterEndpointToken'),
      this.#list('VirtualClusterInstanceKubeConfig'),
    ]);
  }

  /** @param {string} [problem] */
  #restart(problem) {
    if (problem !== undefined) this.#options.onCut(problem);
    this.#round.abort();
  }

  async #run() {
    const wait = { ms: retryMs.first };
    while (!this.#ended.signal.aborted) {
      this.#round = new AbortController();
      const { signal } = this.#round;
      if (document.hidden || !navigator.onLine) await sleep(retryMs.max, signal);
      else {
        const onTold = () => void Object.assign(wait, { ms: retryMs.first });
        const error = await this.#follow(signal, onTold).catch((reason) => reason);
        if (error !== undefined && !signal.aborted) await this.#failed(error, wait);
        // A watch that ends by itself is begun again, and not at once: a gateway that only ends them would be asked without a pause.
        else await sleep(retryMs.first, signal);
      }
    }
  }

  /**
   * @param {unknown} error
   * @param {{ ms: number }} wait
   */
  async #failed(error, wait) {
    const { onCut, onRefused } = this.#options;
    if (error instanceof Refused && error.status === 401) {
      this.stop();
      return onRefused(error);
    }
    onCut(error instanceof Error ? error.message : 'The gateway does not answer.');
    await sleep(wait.ms, this.#round.signal);
    wait.ms = Math.min(2 * wait.ms, retryMs.max);
  }

  /**
   * @param {AbortSignal} signal
   * @param {() => void} onTold
   */
  async #follow(signal, onTold) {
    const { gateway, onCut } = this.#options;
    const version = await this.#list('OwnedAccessKey');
    await this.refresh();
    // The network may have gone while these answers were under way: they would say that the page is up to date.
    if (signal.aborted) return;
    onCut(undefined);
    onTold();
    const timer = setInterval(() => void this.refresh().catch(() => this.#round.abort()), readMs);
    try {
      const { plural } = kinds.OwnedAccessKey;
      await gateway.watch(plural, { version, signal, onEvent: (event) => this.#onEvent(event) });
    } finally {
      clearInterval(timer);
    }
  }

  /** @param {import('./api.js').Json} event */
  #onEvent({ type, object }) {
    const { credentials, onChange } = this.#options;
    if (type === 'BOOKMARK') return;
    if (type === 'ERROR') return this.#round.abort();
    const credential = toCredential(object, 'OwnedAccessKey');
    if (type === 'DELETED') credentials.drop(credential.id);
    else credentials.put(credential);
    onChange();
    // What ends with a key is a token or a kubeconfig, too.
    if (type !== 'ADDED') void this.refresh().catch(() => undefined);
  }

  /** @param {keyof typeof kinds} kind */
  async #list(kind) {
    const { gateway, credentials, onChange } = this.#options;
    const seen = new Set();
    const version = await gateway.list(kinds[kind].plural, (items) => {
      for (const item of items) {
        const credential = toCredential(item, kind);
        seen.add(credential.id);
        credentials.put(credential);
      }
      onChange();
    });
    credentials.keep(kind, seen);
    onChange();
    return version;
  }
}

/**
 * @param {number} ms
 * @param {AbortSignal} signal Ends it early.
 * @returns {Promise<void>}
 */
const sleep = (ms, signal) =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
