import { kinds, Refused } from './api.js';
import { toCredential } from './credentials.js';

/** Between two signs of life of the gateway, and two reads of kinds that this tab does not watch. */
const checkMs = 20_000;
/** A round that lasted as long was a good one: the next pause is the shortest again. */
const settledMs = 10_000;
const pauseMs = { first: 100, max: 15_000 };
/** Between two reads of a kind that another tab has seen changes of. */
const rereadMs = 100;

/** @typedef {keyof typeof kinds} Kind */
/** Of these one tab alone has streams: see {@link Live}. */
const shared = /** @type {const} */ (['DirectClusterEndpointToken', 'VirtualClusterInstanceKubeConfig']);
/** The name of the lock of the browser, and of the channel between tabs, that say which tab that is, and what it saw. */
const streams = 'latchkey-streams';

/**
 * @typedef {object} LiveOptions
 * @property {import('./api.js').Gateway} gateway
 * @property {string} ownPath Of the key of the page.
 * @property {import('./credentials.js').Credentials} credentials
 * @property {() => void} onChange
 * @property {(problem: string | undefined) => void} onCut Undefined: the page is up to date.
 * @property {(refused: Refused) => void} onRefused The key is refused, and nothing goes on.
 */

/**
 * Keeps what the page shows up to date. Browsers open six connections to one host, for all tabs together. So each tab that is seen watches
 * access keys, and one of them tokens and kubeconfigs, too. It tells the others of changes, without a word of what they are.
 */
export class Live {
  #options;
  #ended = new AbortController();
  /** What goes on now: a round, or the pause before the next one. */
  #phase = new AbortController();
  /** The last read of each kind, which gives its version. One follows the other: an older answer never comes over a newer one. */
  #reads = /** @type {Record<Kind, Promise<string>>} */ ({});
  /** Whether this tab has the streams of all kinds. */
  #hasStreams = false;

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
    this.#phase.abort();
  }

  /** Reads again what this tab does not watch. */
  async refresh() {
    if (this.#hasStreams) return;
    await Promise.all(shared.map((kind) => this.#read(kind, this.#ended.signal)));
  }

  /** @param {string} [problem] */
  #restart(problem) {
    if (problem !== undefined) this.#options.onCut(problem);
    this.#phase.abort();
  }

  /** The signal of the next round or pause. */
  #begin() {
    this.#phase = new AbortController();
    return this.#phase.signal;
  }

  async #run() {
    let pause = pauseMs.first;
    while (!this.#ended.signal.aborted) {
      if (document.hidden || !navigator.onLine) {
        await sleep(pauseMs.max, this.#begin());
        continue;
      }
      const begun = performance.now();
      const error = await this.#follow(this.#begin()).catch((reason) => reason);
      // Ended by an event of the browser, which says that something is different now.
      if (this.#phase.signal.aborted) continue;
      this.#phase.abort();
      if (error !== undefined) this.#onFailed(error);
      if (performance.now() - begun > settledMs) pause = pauseMs.first;
      // Never at once: a gateway that only ends watches would be asked without a pause.
      await sleep(pause * (0.75 + Math.random() / 2), this.#begin());
      pause = Math.min(2 * pause, pauseMs.max);
    }
  }

  /** @param {unknown} error */
  #onFailed(error) {
    const { onCut, onRefused } = this.#options;
    // So many changes came at once that the gateway no longer has them all: they are read again.
    if (error instanceof Refused && error.status === 410) return;
    if (!(error instanceof Refused) || error.status !== 401)
      return onCut(error instanceof Error ? error.message : 'The gateway does not answer.');
    this.stop();
    onRefused(error);
  }

  /**
   * One round: reads everything, then follows it until a watch ends or something fails.
   * @param {AbortSignal} signal
   */
  async #follow(signal) {
    await Promise.all([
      this.#read('OwnedAccessKey', signal),
      ...shared.map((kind) => this.#read(kind, signal)),
    ]);
    // The network may have gone while the last of these answers was under way: it would say that the page is up to date.
    signal.throwIfAborted();
    this.#options.onCut(undefined);
    const channel = new BroadcastChannel(streams);
    try {
      await Promise.race([
        this.#watch('OwnedAccessKey', signal),
        this.#watchShared(channel, signal),
        this.#hear(channel, signal),
        this.#check(signal),
      ]);
    } finally {
      channel.close();
    }
  }

  /**
   * As soon as no other tab does.
   * @param {BroadcastChannel} channel
   * @param {AbortSignal} signal
   */
  async #watchShared(channel, signal) {
    await navigator.locks.request(streams, { signal }, async () => {
      this.#hasStreams = true;
      try {
        await Promise.race(shared.map((kind) => this.#watch(kind, signal, () => channel.postMessage(kind))));
      } finally {
        this.#hasStreams = false;
      }
    });
  }

  /**
   * Reads a kind again that another tab has seen a change of. Rejects where that fails.
   * @param {BroadcastChannel} channel
   * @param {AbortSignal} signal
   */
  async #hear(channel, signal) {
    const { promise, reject } = /** @type {PromiseWithResolvers<never>} */ (Promise.withResolvers());
    /** @type {Set<Kind>} */
    const changed = new Set();
    let isReading = false;
    const reread = async () => {
      isReading = true;
      for (const kind of changed) {
        changed.delete(kind);
        await this.#read(kind, signal);
        await sleep(rereadMs, signal);
      }
      isReading = false;
    };
    channel.onmessage = ({ data }) => {
      if (!shared.includes(data) || this.#hasStreams) return;
      changed.add(data);
      if (!isReading) reread().catch(reject);
    };
    await promise;
  }

  /**
   * Rejects when the gateway is away. The tab with the streams may be that of another person, so this one reads all that it does not watch.
   * @param {AbortSignal} signal
   */
  async #check(signal) {
    for (;;) {
      await sleep(checkMs, signal);
      signal.throwIfAborted();
      const { gateway, ownPath } = this.#options;
      await Promise.all([gateway.own(ownPath, { signal }), this.refresh()]);
    }
  }

  /**
   * @param {Kind} kind
   * @param {AbortSignal} signal
   * @param {() => void} [onSeen]
   */
  async #watch(kind, signal, onSeen) {
    const { gateway, credentials, onChange } = this.#options;
    const version = await this.#reads[kind];
    /** @param {import('./api.js').Json} event */
    const onEvent = ({ type, object }) => {
      const credential = toCredential(object, kind);
      if (type === 'DELETED') credentials.drop(credential.id);
      else credentials.put(credential);
      onChange();
      onSeen?.();
    };
    await gateway.watch(kinds[kind].plural, { version, signal, onEvent });
  }

  /**
   * @param {Kind} kind
   * @param {AbortSignal} signal
   */
  #read(kind, signal) {
    const read = async () => await this.#list(kind, signal);
    this.#reads[kind] = Promise.resolve(this.#reads[kind]).then(read, read);
    return this.#reads[kind];
  }

  /**
   * @param {Kind} kind
   * @param {AbortSignal} signal
   */
  async #list(kind, signal) {
    const { gateway, credentials, onChange } = this.#options;
    const seen = new Set();
    signal.throwIfAborted();
    const version = await gateway.list(kinds[kind].plural, {
      signal,
      onPage: (items) => {
        for (const item of items) {
          const credential = toCredential(item, kind);
          seen.add(credential.id);
          credentials.put(credential);
        }
        onChange();
      },
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
    if (signal.aborted) return resolve();
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
