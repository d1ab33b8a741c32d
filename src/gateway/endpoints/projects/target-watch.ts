import { asObject, asText, defined, type JsonObject } from '../../../api/json.ts';
import type { ObjectEvent } from '../../../kube/client/watch-stream.ts';
import type { Timer } from '../../../kube/clock.ts';
import { isNewerVersion, type KubeObject, keyOf, parseKey } from '../../../kube/object.ts';
import { collectionPath } from '../../../kube/resource-path.ts';
import { ClientGone } from '../../proxy/forward.ts';
import { errorAnswer } from '../../server/error-answer.ts';
import { ConcurrencyLimit } from '../../turns/concurrency-limit.ts';
import { type EndpointRequest, type EndpointServices, holdFor, queryOf } from '../shared/endpoint.ts';
import type { Holding } from '../shared/held-bytes.ts';
import { checkListOptions, metadataOf } from '../shared/list-options.ts';
import { beginStream, Refusal } from '../shared/reply.ts';
import { writeAtPace } from '../shared/write-at-pace.ts';
import { readTarget } from './target-pages.ts';
import { targetTable } from './target-table.ts';
import { asJSON, type TargetQuestion } from './usable-targets.ts';

type Services = Pick<EndpointServices, 'reader' | 'held'>;

/** Rights change without an event about a target, milliseconds. */
const recheckMs = 30_000;
/** The API server sends bookmarks more often than that. */
const idleMs = 150_000;
const maxLineBytes = 2 ** 24;
/** Seconds. */
const maxSeconds = 3_600;
/** By user. Each is one more watch at the API server. */
const underWay = new ConcurrencyLimit({ all: 100, ofEach: 10 });

/** Sends the changes of the targets that the sender may use, until they leave or the credential ends. Throws before that. */
export async function watchTargets(
  request: EndpointRequest,
  services: Services,
  question: TargetQuestion,
): Promise<void> {
  checkListOptions(queryOf(request), true);
  const { user } = request.sender.verdict.identity;
  const watch = new TargetWatch(request, services, question);
  const leave = underWay.enter(user, () => watch.end(new Refusal(tooMany)));
  if (leave === undefined) throw new Refusal(tooMany);
  try {
    await watch.run();
  } finally {
    leave();
  }
}

const tooMany = errorAnswer(
  'ERR_TOO_MANY_REQUESTS',
  { owner: 'clients that watch targets' },
  { headers: ['retry-after', '5'] },
);

class TargetWatch {
  readonly #request: EndpointRequest;
  readonly #services: Services;
  readonly #question: TargetQuestion;
  readonly #query: URLSearchParams;
  readonly #held: Holding;
  /** Metadata of those that the client knows, by key. */
  readonly #shown = new Map<string, JsonObject>();
  readonly #end = new AbortController();
  /** Work of events and of looks at rights, one after the other. */
  #last: Promise<void> = Promise.resolve();
  /** Of the newest event: an end that the API server does not know of happens then. */
  #version = '';
  #timer: Timer | undefined;

  constructor(request: EndpointRequest, services: Services, question: TargetQuestion) {
    this.#request = request;
    this.#services = services;
    this.#question = question;
    this.#query = queryOf(request);
    this.#held = holdFor(request, services.held);
  }

  async run(): Promise<void> {
    const { response } = this.#request;
    const stop = () => this.end(new ClientGone());
    response.once('close', stop);
    const connection = this.#services.reader.overOneConnection();
    this.#recheckLater();
    try {
      await this.#rememberListed();
      const { resource } = this.#question;
      const path = collectionPath(resource, this.#request.asked.namespace);
      const options = { signal: this.#end.signal, idleMs, maxLineBytes, onOpen: () => this.#begin() };
      for await (const event of connection.watch(path, this.#upstreamQuery(), options)) {
        if (event.type === 'ERROR') return await this.#write('ERROR', asObject(event.object));
        await this.#inOrder(() => this.#onEvent(event));
      }
    } catch (error) {
      if (!this.#end.signal.aborted && !response.headersSent) throw error;
    } finally {
      this.#timer?.cancel();
      stop();
      await connection.close();
      if (response.headersSent) response.end();
    }
    if (!response.headersSent) throw this.#end.signal.reason;
  }

  /** Its client begins another one. `reason`: the answer where there is none yet. */
  end(reason: Error): void {
    this.#end.abort(reason);
    const { response } = this.#request;
    // To a client that takes nothing, a write would hold up the end.
    if (response.writableNeedDrain) response.destroy();
  }

  #recheckLater(): void {
    this.#timer = this.#request.clock.setTimer(() => {
      void this.#inOrder(async () => await this.#checkRights()).then(() => {
        if (!this.#end.signal.aborted) this.#recheckLater();
      });
    }, recheckMs);
  }

  #begin(): void {
    const { response } = this.#request;
    if (response.destroyed || response.headersSent) return;
    beginStream(this.#request);
  }

  /** A client that goes on from a list knows what stood there. */
  async #rememberListed(): Promise<void> {
    const version = this.#query.get('resourceVersion') ?? '';
    const beginsAnew =
      version === '' || /^0+$/.test(version) || this.#query.get('sendInitialEvents') === 'true';
    if (beginsAnew) return;
    this.#version = version;
    for (const key of await this.#usable()) this.#shown.set(key, parseKey(key) as unknown as JsonObject);
  }

  async #usable(): Promise<Iterable<string>> {
    const { asked } = this.#request;
    const { usable, resource } = this.#question;
    const { namespace, name } = asked;
    if (name !== '' && (namespace !== '' || !resource.namespaced)) {
      const key = keyOf(asked);
      return (await usable.includes(key)) ? [key] : [];
    }
    const found = await usable.find(namespace);
    return name === '' ? found : [...found].filter((key) => parseKey(key).name === name);
  }

  #upstreamQuery(): URLSearchParams {
    const query = new URLSearchParams({ watch: 'true', allowWatchBookmarks: 'true' });
    for (const name of passed) {
      const value = this.#query.get(name);
      if (value !== null) query.set(name, value);
    }
    const { name } = this.#request.asked;
    if (name !== '' && !query.has('fieldSelector')) query.set('fieldSelector', `metadata.name=${name}`);
    const seconds = Number(this.#query.get('timeoutSeconds') ?? 0);
    query.set('timeoutSeconds', String(seconds > 0 ? Math.min(seconds, maxSeconds) : maxSeconds));
    return query;
  }

  async #inOrder(work: () => Promise<void>): Promise<void> {
    const next = this.#last.then(async () => {
      if (!this.#end.signal.aborted) await work();
    });
    // A failed look ends the watch.
    this.#last = next.catch((error: Error) => this.end(error));
    await this.#last;
  }

  async #onEvent({ type, object }: ObjectEvent): Promise<void> {
    const { resourceVersion = '' } = object.metadata;
    if (isNewerVersion(resourceVersion, this.#version)) this.#version = resourceVersion;
    if (type === 'BOOKMARK') return await this.#sendBookmark(asJSON(object));
    const key = keyOf(object.metadata);
    const isKnown = this.#shown.has(key);
    // Of one that has gone, no record says any more whose it was.
    const isUsable = type !== 'DELETED' && (await this.#question.usable.includes(key));
    if (!isUsable) return isKnown ? await this.#sendEnd(key, this.#lastShown(key, type, object)) : undefined;
    this.#shown.set(key, tombstoneOf(asJSON(object)));
    await this.#write(isKnown ? 'MODIFIED' : 'ADDED', this.#formed(asJSON(object)));
  }

  /** The state that the client knows: who lost the right does not see what the target has become since. */
  #lastShown(key: string, type: string, object: KubeObject): JsonObject {
    return type === 'DELETED' ? asJSON(object) : { metadata: this.#shown.get(key) };
  }

  /** Targets that became usable come, and those that no longer are go. */
  async #checkRights(): Promise<void> {
    const usable = new Set(await this.#usable());
    for (const [key, metadata] of [...this.#shown]) {
      if (!usable.has(key)) await this.#sendEnd(key, { metadata });
    }
    const added = [...usable].filter((key) => !this.#shown.has(key));
    for (const key of added) await this.#sendAdded(key);
  }

  async #sendAdded(key: string): Promise<void> {
    const { namespace, name } = parseKey(key);
    const { resource } = this.#question;
    const labelSelector = this.#query.get('labelSelector') ?? '';
    const selection = { resource, name, ...defined({ namespace }), ...(labelSelector && { labelSelector }) };
    const item = await readTarget(this.#request, selection, this.#held);
    if (item !== undefined) {
      const object = asJSON(item);
      this.#shown.set(key, tombstoneOf(object));
      await this.#write('ADDED', this.#formed(object));
    }
    this.#held.giveBack(this.#held.size);
  }

  async #sendEnd(key: string, object: JsonObject): Promise<void> {
    this.#shown.delete(key);
    const { kind, version, group } = this.#question.resource;
    const metadata = { ...tombstoneOf(object), resourceVersion: this.#version };
    await this.#write('DELETED', this.#formed({ apiVersion: `${group}/${version}`, kind, metadata }));
  }

  /** A Table has no place for one, and clients that watch Tables ask for none. */
  async #sendBookmark(object: JsonObject): Promise<void> {
    const isWanted = this.#query.get('allowWatchBookmarks') === 'true' && !this.#question.form.isTable;
    if (isWanted) await this.#write('BOOKMARK', object);
  }

  #formed(object: JsonObject): JsonObject {
    const { form, resource } = this.#question;
    if (form.isMetadata) return metadataOf(object);
    if (!form.isTable) return object;
    const included = this.#query.get('includeObject');
    return targetTable([object], { plural: resource.plural, included, now: this.#request.clock.now() });
  }

  async #write(type: string, object: JsonObject): Promise<void> {
    this.#begin();
    await writeAtPace(this.#request, `${JSON.stringify({ type, object })}\n`);
  }
}

const passed = [
  ...['resourceVersion', 'resourceVersionMatch', 'sendInitialEvents'],
  ...['labelSelector', 'fieldSelector'],
];

/** As much as it takes to say that it is gone: a watch may run for hours. */
function tombstoneOf(object: JsonObject): JsonObject {
  const { name, namespace, uid, labels, creationTimestamp } = asObject(object['metadata']);
  return defined({ name, namespace: asText(namespace), uid, labels, creationTimestamp });
}
