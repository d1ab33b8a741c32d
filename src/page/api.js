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
   * @param {string} path Behind the base URL.
   * @param {RequestInit} [options]
   * @returns {Promise<Response>} One that is no refusal.
   */
  async send(path, { headers = {}, ...options } = {}) {
    /** @type {Record<string, string>} */
    const authorization = this.#key === undefined ? {} : { authorization: `Bearer ${this.#key}` };
    const response = await fetch(this.baseURL + path, {
      mode: 'cors',
      credentials: 'omit',
      cache: 'no-store',
      redirect: 'error',
      ...options,
      headers: { ...authorization, .../** @type {Record<string, string>} */ (headers) },
    }).catch((error) => {
      if (error.name === 'AbortError') throw error;
      throw new Refused(
        0,
        `${new URL(this.baseURL).host} does not answer this page. Is the network there, does this browser trust its certificate, and is LATCHKEY_PAGE_URL ${location.origin}?`,
      );
    });
    if (response.ok) return response;
    throw new Refused(response.status, messageOf(await response.text(), response.status));
  }

  /**
   * @param {string} path Below the management API.
   * @param {{ method?: string, body?: object, keepalive?: boolean, signal?: AbortSignal }} [options]
   * @returns {Promise<Json>}
   */
  async own(path, { method = 'GET', body, ...rest } = {}) {
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
    const sent = body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': type } };
    const response = await this.send(`${kubernetes}/${path}`, { method, ...rest, ...sent });
    return await response.json();
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
   * @param {(items: readonly Json[]) => void} onPage
   * @returns {Promise<string>} The version of the list, to watch from.
   */
  async list(plural, onPage) {
    let next = '';
    for (;;) {
      const more = next === '' ? '' : `&continue=${encodeURIComponent(next)}`;
      const { items = [], metadata } = await this.own(`${plural}?limit=500${more}`);
      onPage(items);
      next = metadata?.continue ?? '';
      if (next === '') return metadata?.resourceVersion ?? '';
    }
  }

  /**
   * Events of a kind, until the stream ends or the signal aborts.
   * @param {string} plural
   * @param {{ version: string, signal: AbortSignal, onEvent: (event: Json) => void }} options
   */
  async watch(plural, { version, signal, onEvent }) {
    const query = new URLSearchParams({
      watch: 'true',
      resourceVersion: version,
      allowWatchBookmarks: 'true',
    });
    const { body } = await this.send(`${kubernetes}/${plural}?${query}`, { signal });
    if (body === null) return;
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = '';
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const lines = (rest + value).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) if (line !== '') onEvent(JSON.parse(line));
    }
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
