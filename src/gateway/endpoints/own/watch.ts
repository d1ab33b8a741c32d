import { asObject, type JsonObject } from '../../../api/json.ts';
import { apiVersion } from '../../../api/names.ts';
import type { LiveRecord } from '../../../credentials/record.ts';
import type { StoreChange } from '../../../kube/cache/store.ts';
import { isNewerVersion, isVersion, type KubeObject, parseKey, uidOf } from '../../../kube/object.ts';
import { type Holder, isOwn } from '../../index/ownership.ts';
import { metadataOf, rowsOf, wholeObject } from '../shared/list-options.ts';
import { beginStream, refuse } from '../shared/reply.ts';
import { writeAtPace } from '../shared/write-at-pace.ts';
import { type ListSelection, ownIn, readSelection } from './list.ts';
import { type Found, foundInArrival, type OwnRequest, readInForm, shownAs } from './request.ts';
import { withoutCredentials } from './secrets.ts';

/** Sends changes of one's own until the client leaves, the time is over, or the credential ends. Throws a Refusal before that. */
export async function watchOwn(request: OwnRequest): Promise<void> {
  const watch = new OwnWatch(request, readSelection(request), readStart(request));
  await watch.run();
}

interface Start {
  /** Whether all that is there comes first. */
  readonly withInitial: boolean;
  /** Whether the client waits for the end of that. */
  readonly isAnnounced: boolean;
  /** The changes after the version that the client names. */
  readonly missed: readonly StoreChange<LiveRecord>[];
  readonly resourceVersion: string;
}

function readStart({ query, services, kind }: OwnRequest): Start {
  const resourceVersion = query.get('resourceVersion') ?? '';
  const isAnnounced = query.get('sendInitialEvents') === 'true';
  if (!/^\d{0,30}$/.test(resourceVersion)) return refuse('ERR_QUERY', { problem: 'resourceVersion is none' });
  const isAnywhere = resourceVersion === '' || /^0+$/.test(resourceVersion);
  const withInitial = isAnnounced || (isAnywhere && query.get('sendInitialEvents') !== 'false');
  const isResumed = !isAnywhere && !isAnnounced;
  const missed = isResumed ? services.changes.since(kind, resourceVersion) : [];
  if (missed === undefined) return refuse('ERR_VERSION_EXPIRED', {});
  return { withInitial, isAnnounced, missed, resourceVersion: isAnywhere ? '0' : resourceVersion };
}

/** Between two signs of life, milliseconds. */
const bookmarkMs = 60_000;
/** As long as the API server lets watches run, seconds. */
const defaultSeconds = 1_800;
const maxSeconds = 86_400;

class OwnWatch {
  readonly #request: OwnRequest;
  readonly #selection: ListSelection;
  readonly #start: Start;
  /** Changes not sent yet, by key; with the object that arrived, where no other waits: it may be large, and clients slow. */
  readonly #changed = new Map<string, KubeObject | undefined>();
  /** Objects that the client knows, by key, as it is to be told of their end. */
  readonly #shown = new Map<string, JsonObject>();
  #next = Promise.withResolvers<void>();
  #isBookmarkDue = false;
  #isOver = false;

  constructor(request: OwnRequest, selection: ListSelection, start: Start) {
    this.#request = request;
    this.#selection = selection;
    this.#start = start;
  }

  async run(): Promise<void> {
    const { services, kind, response } = this.#request;
    const unsubscribe = services.index.records.ofKind[kind].subscribe((change) => this.#onChange(change));
    const timer = services.clock.setTimer(() => this.#end(), this.#seconds() * 1_000);
    response.once('close', () => this.#end());
    beginStream(this.#request);
    try {
      await this.#begin();
      await this.#sendChanged();
      if (this.#start.isAnnounced) await this.#sendBookmark({ 'k8s.io/initial-events-end': 'true' });
      await this.#follow();
      response.end();
    } finally {
      this.#end();
      timer.cancel();
      unsubscribe();
    }
  }

  #seconds(): number {
    const given = Number(this.#request.query.get('timeoutSeconds') ?? 0);
    if (Number.isSafeInteger(given) && given > 0) return Math.min(given, maxSeconds);
    return defaultSeconds * (1 + Math.random());
  }

  /** Handles what is there already: the client has it from a list, or gets it now. */
  async #begin(): Promise<void> {
    const own = ownIn(this.#request).filter(({ key }) => this.#isNamed(key));
    if (this.#start.withInitial) {
      for (const { key } of own) this.#changed.set(key, undefined);
      return;
    }
    const { missed } = this.#start;
    const first = new Map([...missed].reverse().map((change) => [change.key, change]));
    for (const record of own)
      if (first.get(record.key)?.type !== 'added' && (await this.#mayBeListed(record)))
        this.#remember(record.key);
    for (const change of missed) {
      if (
        change.previous !== undefined &&
        this.#isNamed(change.key) &&
        first.get(change.key)?.type !== 'added' &&
        this.#isOwn(change.previous)
      )
        this.#remember(change.key, change.previous.uid);
      this.#onChange(change);
    }
  }

  /** Whether the list of the client may hold it: what its selectors do not select is not there. */
  async #mayBeListed(record: LiveRecord): Promise<boolean> {
    const { held } = this.#request;
    if (this.#isOver || this.#selection.isWhole) return true;
    const found = await readInForm(this.#request, record, wholeObject);
    if (found === undefined) return true;
    held.giveBack(found.bytes);
    // An object that has changed since then may have been selected.
    const version = String(asObject(found.object['metadata'])['resourceVersion']);
    return isNewerVersion(version, this.#start.resourceVersion) || this.#selection.selects(found.object);
  }

  /** A watch of one name, of the path or of a selector, is never about another. */
  #isNamed(key: string): boolean {
    const { name } = this.#request.asked;
    return name === '' || name === parseKey(key).name;
  }

  async #follow(): Promise<void> {
    const { clock } = this.#request.services;
    const wantsBookmarks = this.#request.query.get('allowWatchBookmarks') === 'true';
    const tick = () => {
      this.#isBookmarkDue = wantsBookmarks;
      this.#next.resolve();
      timer = clock.setTimer(tick, bookmarkMs);
    };
    let timer = clock.setTimer(tick, bookmarkMs);
    try {
      while (!this.#isOver) {
        await this.#next.promise;
        this.#next = Promise.withResolvers();
        await this.#sendChanged();
        if (this.#isBookmarkDue) await this.#sendBookmark();
      }
    } finally {
      timer.cancel();
    }
  }

  #onChange({ key, previous, current }: StoreChange<LiveRecord>): void {
    const isAbout = this.#shown.has(key) || this.#isOwn(current) || this.#isOwn(previous);
    if (!isAbout || !this.#isNamed(key)) return;
    this.#changed.set(
      key,
      this.#changed.size === 0 && current !== undefined ? this.#arrived(current) : undefined,
    );
    this.#next.resolve();
  }

  /** The credential may have been given a scope meanwhile. */
  #holder(): Holder | undefined {
    const { services, sender } = this.#request;
    const verdict = services.index.find(sender.hash);
    return verdict !== undefined && 'record' in verdict ? verdict : undefined;
  }

  #isOwn(record: LiveRecord | undefined): record is LiveRecord {
    const holder = this.#holder();
    const { namespace } = this.#request.asked;
    if (record === undefined || holder === undefined) return false;
    return (namespace === '' || record.namespace === namespace) && isOwn(record, holder);
  }

  async #sendChanged(): Promise<void> {
    for (const [key, arrived] of this.#changed) {
      if (this.#isOver) return;
      this.#changed.delete(key);
      await this.#sendState(key, arrived);
    }
  }

  /** The API server alone makes a Table. */
  #arrived(record: LiveRecord): KubeObject | undefined {
    const { services, kind } = this.#request;
    return this.#selection.form.isTable ? undefined : services.index.records.arrivals[kind].present(record);
  }

  /** As it arrived; read where it has changed since then. */
  async #read(record: LiveRecord, arrived: KubeObject | undefined): Promise<Found | undefined> {
    return isVersion(arrived, record)
      ? foundInArrival(this.#request, arrived)
      : await readInForm(this.#request, record, this.#selection.form);
  }

  async #sendState(key: string, arrived: KubeObject | undefined): Promise<void> {
    const { services, kind, query } = this.#request;
    const { form, selects } = this.#selection;
    const record = services.index.records.ofKind[kind].get(key);
    const found = this.#isOwn(record) ? await this.#read(record, arrived) : undefined;
    const shown = this.#shown.get(key);
    const shownUID = uidOf(shown);
    const isAnother = shownUID !== undefined && record?.uid !== shownUID;
    const isSelected = found !== undefined && selects(found.object);
    if (shown !== undefined && (isAnother || !isSelected)) await this.#sendEnd(key, shown);
    if (!isSelected) return this.#request.held.giveBack(found?.bytes ?? 0);
    const type = this.#shown.has(key) ? 'MODIFIED' : 'ADDED';
    const body = shownAs(found, form, query);
    this.#shown.set(key, form.isTable ? tableTombstone(body, found.object) : tombstone(body));
    await this.#write(type, body);
    this.#request.held.giveBack(found.bytes);
  }

  #remember(key: string, uid = ''): void {
    const metadata = { ...parseKey(key), ...(uid === '' ? {} : { uid }) };
    this.#shown.set(key, { apiVersion, kind: this.#request.kind, metadata });
  }

  async #sendEnd(key: string, shown: JsonObject): Promise<void> {
    this.#shown.delete(key);
    const metadata = { ...asObject(shown['metadata']), resourceVersion: this.#position() };
    await this.#write('DELETED', { ...shown, metadata });
  }

  async #sendBookmark(annotations?: JsonObject): Promise<void> {
    this.#isBookmarkDue = false;
    const metadata = {
      resourceVersion: this.#position(),
      creationTimestamp: null,
      ...(annotations && { annotations }),
    };
    await this.#write('BOOKMARK', { apiVersion, kind: this.#request.kind, metadata });
  }

  /** Another replica may have been further when the client began. */
  #position(): string {
    const position = this.#request.services.changes.position(this.#request.kind);
    const { resourceVersion } = this.#start;
    return isNewerVersion(resourceVersion, position) ? resourceVersion : position;
  }

  async #write(type: string, object: JsonObject): Promise<void> {
    const { response } = this.#request;
    if (this.#isOver || response.destroyed) return;
    await writeAtPace(this.#request, `${JSON.stringify(withoutCredentials({ type, object }))}\n`);
  }

  #end(): void {
    this.#isOver = true;
    this.#next.resolve();
  }
}

/** The row, with as much of the object. */
function tableTombstone(table: JsonObject, object: JsonObject): JsonObject {
  const { metadata } = tombstone(object);
  const rows = rowsOf(table).map(({ cells }) => ({ cells, object: metadataOf({ metadata }) }));
  return {
    kind: table['kind'],
    apiVersion: table['apiVersion'],
    columnDefinitions: table['columnDefinitions'],
    rows,
  };
}

/** Characters of JSON. An object may have a hundred times as much, and one user many watches. */
const maxLabels = 4_096;

/** As much as it takes to say that it is gone: a watch may run for hours. */
function tombstone(object: JsonObject): JsonObject {
  const { name, namespace, uid, labels } = asObject(metadataOf(object)['metadata']);
  const { apiVersion: version, kind } = object;
  const isShort = JSON.stringify(labels ?? {}).length <= maxLabels;
  return { apiVersion: version, kind, metadata: { name, namespace, uid, ...(isShort && { labels }) } };
}
