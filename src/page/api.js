const group = 'management.platform.sh';
const kubernetes = '/kubernetes/management/apis/management.platform.sh/v1';

/** @typedef {Readonly<Record<string, any>>} Json */

/** A refusal of the gateway, in its own words; status 0: no answer came. */
export class Refused extends Error {
  /**
   * @param {number} status
   * @param {string} message
   */
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** Of the largest objects, as many as fit into an answer. */
const fewItems = 5;
/** The gateway reads each from the API server: a page of more may take longer than an answer may. */
const manyItems = 100;
/** It waits up to ten seconds for the operator, and may have others to serve first. */
export const answerMs = 30_000;
/** A gateway sends a bookmark every 60 seconds. A connection that is silent for longer is dead. */
const silenceMs = 75_000;

/**
 * Aborts with `outer`, and after some time of which no one said that it goes on.
 * @param {number} ms
 * @param {AbortSignal | null} [outer]
 */
export function deadline(ms, outer) {
  const late = new AbortController();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const end = () => clearTimeout(timer);
  const extend = () => {
    end();
    timer = setTimeout(() => late.abort(new DOMException('no answer in time', 'TimeoutError')), ms);
  };
  extend();
  const signal = outer ? AbortSignal.any([late.signal, outer]) : late.signal;
  return { signal, extend, end, isLate: () => late.signal.aborted };
}

/** The gateway, for the holder of a key. The key is in this object alone, and goes with the tab. */
export class Gateway {
  #key;

  /**
   * @param {string} baseURL
   * @param {string} [key]
   */
  constructor(baseURL, key) {
    this.baseURL = baseURL;
    this.#key = key;
  }

  /** @param {string} key */
  as(key) {
    return new Gateway(this.baseURL, key);
  }

  /**
   * @template T
   * @param {string} path Behind the base URL.
   * @param {RequestInit} options
   * @param {(response: Response) => Promise<T>} read
   * @returns {Promise<T>} What was read of an answer that is no refusal.
   */
  async send(path, options, read) {
    const life = deadline(answerMs, options.signal);
    try {
      return await read(await this.#fetch(path, { ...options, signal: life.signal }));
    } catch (error) {
      throw this.#toRefused(error, life.isLate());
    } finally {
      life.end();
    }
  }

  /**
   * @param {string} path
   * @param {RequestInit} options
   */
  async #fetch(path, { headers = {}, ...options }) {
    /** @type {Record<string, string>} */
    const authorization = this.#key === undefined ? {} : { authorization: `Bearer ${this.#key}` };
    // Without `cache`: with "no-store" browsers ask before each request whether they may send it. Answers of the gateway are not kept anyway.
    const response = await fetch(this.baseURL + path, {
      mode: 'cors',
      credentials: 'omit',
      redirect: 'error',
      ...options,
      headers: { ...authorization, .../** @type {Record<string, string>} */ (headers) },
    });
    if (response.ok) return response;
    throw new Refused(response.status, messageOf(await response.text(), response.status));
  }

  /**
   * @param {any} error
   * @param {boolean} isLate
   */
  #toRefused(error, isLate) {
    const { host } = new URL(this.baseURL);
    // First: browsers end the reading of a body with errors of other names.
    if (isLate) return new Refused(0, `${host} gave no answer in time.`);
    if (error instanceof Refused || error.name === 'AbortError') return error;
    return new Refused(
      0,
      `${host} does not answer this page. Is the network there, does this browser trust its certificate, and is LATCHKEY_PAGE_URL ${location.origin}?`,
    );
  }

  /**
   * @param {string} path Below the management API.
   * @param {{ method?: string, body?: object } & Pick<RequestInit, 'cache' | 'keepalive' | 'signal'>} [options]
   * @returns {Promise<Json>}
   */
  async own(path, { method = 'GET', body, ...rest } = {}) {
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
    const sent = body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': type } };
    return await this.send(`${kubernetes}/${path}`, { method, ...rest, ...sent }, readJSON);
  }

  /**
   * @param {object} [spec]
   * @returns {Promise<Json>} The status.
   */
  async self(spec = {}) {
    return (await this.own('selves', { method: 'POST', body: { spec } })).status;
  }

  /**
   * All objects of a kind, page by page.
   * @param {string} plural
   * @param {{ query?: string, onPage: (items: readonly Json[]) => void } & Pick<RequestInit, 'cache' | 'signal'>} options
   * @returns {Promise<string>} The version of the list, to watch from.
   */
  async list(plural, { query = '', onPage, ...rest }) {
    let next = '';
    // Few at first: they are shown while the others are read.
    let limit = 50;
    const readPage = async () => {
      const more = next === '' ? '' : `&continue=${encodeURIComponent(next)}`;
      return await this.own(`${plural}?limit=${limit}${query}${more}`, rest);
    };
    for (;;) {
      const { items = [], metadata } = await readPage().catch(async (error) => {
        // Somebody has made objects so large that the page is too large for one answer.
        if (limit === fewItems || (error.status !== 400 && error.status !== 502)) throw error;
        limit = fewItems;
        return await readPage();
      });
      rest.signal?.throwIfAborted();
      onPage(items);
      if (limit !== fewItems) limit = manyItems;
      next = metadata?.continue ?? '';
      if (next === '') return metadata?.resourceVersion ?? '';
    }
  }

  /**
   * Events of a kind, until the stream ends, says that its version is too old, or the signal aborts.
   * @param {string} plural
   * @param {{ version: string, signal: AbortSignal, onEvent: (event: Json) => void }} options
   */
  async watch(plural, { version, signal, onEvent }) {
    const query = new URLSearchParams({
      watch: 'true',
      resourceVersion: version,
      allowWatchBookmarks: 'true',
    });
    const life = deadline(silenceMs, signal);
    try {
      const { body } = await this.#fetch(`${kubernetes}/${plural}?${query}`, { signal: life.signal });
      if (body !== null) await readEvents(body, { extend: life.extend, onEvent });
    } catch (error) {
      throw this.#toRefused(error, life.isLate());
    } finally {
      life.end();
    }
  }
}

/** @param {Response} response */
export const readJSON = async (response) => await response.json();

/**
 * @param {ReadableStream<Uint8Array<ArrayBuffer>>} body
 * @param {{ extend: () => void, onEvent: (event: Json) => void }} options
 */
async function readEvents(body, { extend, onEvent }) {
  for await (const line of linesOf(body, extend)) {
    const event = JSON.parse(line);
    if (event.type === 'ERROR') return;
    if (event.type !== 'BOOKMARK') onEvent(event);
  }
}

/**
 * @param {ReadableStream<Uint8Array<ArrayBuffer>>} body
 * @param {() => void} onData
 */
async function* linesOf(body, onData) {
  let rest = '';
  for await (const text of body.pipeThrough(new TextDecoderStream())) {
    onData();
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    yield* lines.filter((line) => line !== '');
  }
}

/**
 * The words of a Status, or of an answer of RFC 6749.
 * @param {string} text
 * @param {number} status
 */
function messageOf(text, status) {
  try {
    const { message, error_description: description, error } = JSON.parse(text);
    return String(message ?? description ?? error ?? `status ${status}`).slice(0, 2_000);
  } catch {
    return `The answer has status ${status}.`;
  }
}

export const kinds = /** @type {const} */ ({
  OwnedAccessKey: { plural: 'ownedaccesskeys', word: 'key' },
  DirectClusterEndpointToken: { plural: 'directclusterendpointtokens', word: 'token' },
  VirtualClusterInstanceKubeConfig: { plural: 'virtualclusterinstancekubeconfigs', word: 'kubeconfig' },
});
export const createdWith = `${group}/created-with`;
export const requester = `${group}/requester`;
export const rotateAnnotation = `${group}/rotate`;

/**
 * The path of an object below the management API.
 * @param {{ kind: string, namespace: string, name: string }} object
 */
export function pathOf({ kind, namespace, name }) {
  const { plural } = kinds[/** @type {keyof typeof kinds} */ (kind)];
  const one = `${plural}/${encodeURIComponent(name)}`;
  return namespace === '' ? one : `namespaces/${encodeURIComponent(namespace)}/${one}`;
}
