import { hash } from 'node:crypto';
import { byCredentialKind, credentialKinds } from '../../../api/credential-kinds.ts';
import { asObject, asText, asTexts, type JsonObject, parseJSON } from '../../../api/json.ts';
import { apiVersion } from '../../../api/names.ts';
import type { LiveRecord } from '../../../credentials/record.ts';
import { isNewerVersion } from '../../../kube/object.ts';
import { readListQuery } from '../../../scope/requests/list-query.ts';
import { findAllOwn, type Holder } from '../../index/ownership.ts';
import { errorAnswer } from '../../server/error-answer.ts';
import {
  type AcceptedForm,
  checkListOptions,
  fieldFilter,
  labelFilter,
  metadataOf,
  type ObjectFilter,
  readAccept,
  readLimit,
  readOldestVersion,
  readWantedVersion,
  rowsOf,
  type WantedVersion,
  withIncluded,
} from '../shared/list-options.ts';
import { Refusal, type Reply, refuse } from '../shared/reply.ts';
import {
  type Found,
  findOwn,
  isSelfOrAbove,
  notFound,
  type OwnRequest,
  readInForm,
  shownAs,
} from './request.ts';

/** One object of one's own. */
export async function getOwn(request: OwnRequest): Promise<Reply> {
  await untilVersion(request, readOldestVersion(request.query));
  const record = findOwn(request);
  if (record === undefined) throw notFound(request);
  const form = formFor(request);
  const found = await readInForm(request, record, form);
  if (found === undefined) throw notFound(request);
  return { status: 200, body: shownAs(found, form, request.query) };
}

/** The form that the client takes. Throws a Refusal. */
const formFor = ({ request }: OwnRequest): AcceptedForm =>
  readAccept(request.headers.accept) ?? refuse('ERR_NOT_ACCEPTABLE', {});

export interface ListSelection {
  readonly form: AcceptedForm;
  readonly selects: ObjectFilter;
  /** No selector leaves anything out. */
  readonly isWhole: boolean;
}

interface Page extends ListSelection {
  /** Objects at most. */
  readonly limit: number;
  readonly place: ListPosition;
}

/**
 * All of one's own, or a page of them, in the order of names. The credential of the request and those above it are the last: `kubectl
 * delete --all` deletes one after the other in the order of the list, and after the first of these it would get no further.
 */
export async function listOwn(request: OwnRequest): Promise<Reply> {
  const page = readPage(request);
  const { sender, services } = request;
  await untilVersion(request, readWantedVersion(request.query));
  const resourceVersion = services.changes.position(request.kind);
  const records = behind(ownIn(request), page.place);
  const { found, last } = await readPageOf(request, records, page);
  const isEnd = last === undefined || last === records.at(-1)?.key;
  const next = isEnd
    ? {}
    : { continue: writeContinue({ ...page.place, after: last }, sender.verdict, services.clock.now()) };
  return { status: 200, body: listOf(request, found, { page, metadata: { resourceVersion, ...next } }) };
}

/** Selects the records behind that place, in order. */
export function behind(own: readonly LiveRecord[], { after, last }: ListPosition): readonly LiveRecord[] {
  const place = last.indexOf(after);
  const byKey = new Map(own.map((record) => [record.key, record]));
  const atEnd = last.slice(place + 1).flatMap((key) => byKey.get(key) ?? []);
  if (place !== -1) return atEnd;
  return [...own.filter(({ key }) => key > after && !last.includes(key)), ...atEnd];
}

/** One's own in the namespace of the path, if it names one. */
export function ownIn({ services, kind, sender, asked }: OwnRequest): readonly LiveRecord[] {
  const all = findAllOwn(services.index.records, kind, sender.verdict);
  return asked.namespace === '' ? all : all.filter(({ namespace }) => namespace === asked.namespace);
}

/** Which of them a list or a delete of all is about. Throws a Refusal. */
export function readPage(request: OwnRequest): Page {
  const { query, sender, services } = request;
  const selection = readSelection(request);
  const limit = readLimit(query);
  const token = query.get('continue') ?? '';
  const place = token === '' ? beginning(request) : readContinue(token, sender.verdict, services.clock.now());
  if (place === undefined) return refuse('ERR_CONTINUE_EXPIRED', {});
  return { ...selection, limit, place };
}

/** Without one that stands above, those below it work no longer either: so the highest comes first. */
function beginning(request: OwnRequest): ListPosition {
  const { record, ancestors } = request.sender.verdict;
  const chain = [record, ...ancestors].map(({ uid }) => uid).reverse();
  const last = ownIn(request)
    .filter((own) => isSelfOrAbove(request, own))
    .sort((one, other) => chain.indexOf(one.uid) - chain.indexOf(other.uid));
  return { after: '', last: last.map(({ key }) => key) };
}

/** Reads what a list or a watch is about, and in what form. */
export function readSelection(own: OwnRequest): ListSelection {
  const { query, kind } = own;
  checkListOptions(query, own.asked.verb === 'watch');
  checkName(own);
  const [labelSelector, fieldSelector] = [query.get('labelSelector') ?? '', query.get('fieldSelector') ?? ''];
  const ofLabels = labelFilter(labelSelector);
  if (ofLabels === undefined) return invalid('labelSelector cannot be read');
  const ofFields = fieldFilter(fieldSelector, selectableFields[kind]);
  if (ofFields === undefined)
    return invalid('fieldSelector names a field that objects cannot be selected by');
  return {
    form: formFor(own),
    selects: (object) => ofLabels(object) && ofFields(object),
    isWhole: labelSelector === '' && fieldSelector === '',
  };
}

/** A path may name the object as well. */
function checkName({ asked: { name }, query }: OwnRequest): void {
  const isNarrowed = name !== '' && (query.get('fieldSelector') ?? '') !== '';
  if (isNarrowed && readListQuery(`?${query}`)?.name !== name)
    invalid('fieldSelector is about another name than the path');
}

const selectableFields = byCredentialKind(
  (kind) => new Set(['metadata.name', 'metadata.namespace', ...credentialKinds[kind].selectableFields]),
);

/** Read at once. */
const batchSize = 8;
/** Texts of one answer: a page ends there. */
const maxPageBytes = 4 * 2 ** 20;

/** Reads from the beginning until the page is full; `last` is the key that it got to. */
async function readPageOf(
  request: OwnRequest,
  records: readonly LiveRecord[],
  { form, selects, limit }: Page,
) {
  const found: Found[] = [];
  // Each question listens for the end of the connection.
  request.response.setMaxListeners(2 * batchSize + 8);
  let last: string | undefined;
  for (let index = 0; index < records.length; index += batchSize) {
    const batch = records.slice(index, index + batchSize);
    const read = await Promise.all(batch.map((record) => readInForm(request, record, form)));
    for (const [place, one] of read.entries()) {
      if (found.length >= limit) return { found, last };
      last = batch[place]?.key;
      if (isSelected(request, one, selects)) found.push(one);
    }
    if (request.held.size > maxPageBytes) return endEarly({ found, last }, limit);
  }
  return { found, last };
}

/** Gives back the memory of an object that is not selected. */
function isSelected({ held }: OwnRequest, one: Found | undefined, selects: ObjectFilter): one is Found {
  if (one === undefined || selects(one.object)) return one !== undefined;
  held.giveBack(one.bytes);
  return false;
}

/** A client that asked for no pages would take the first one for everything. */
const endEarly = <T>(page: T, limit: number): T =>
  Number.isFinite(limit) ? page : invalid('the list is too large for one answer, so set limit');

interface ListHead {
  readonly page: ListSelection;
  readonly metadata: JsonObject;
}

function listOf(
  { kind, query }: OwnRequest,
  found: readonly Found[],
  { page: { form }, metadata }: ListHead,
): JsonObject {
  if (form.isTable) {
    const rows = found.flatMap(({ body }) => rowsOf(body));
    const columnDefinitions = found[0]?.body['columnDefinitions'] ?? [];
    const table = { kind: 'Table', apiVersion: 'meta.k8s.io/v1', metadata, columnDefinitions, rows };
    return withIncluded(table, query.get('includeObject'));
  }
  const items = found.map(({ object }) => (form.isMetadata ? metadataOf(object) : object));
  if (!form.isMetadata) return { kind: `${kind}List`, apiVersion, metadata, items };
  return { kind: 'PartialObjectMetadataList', apiVersion: 'meta.k8s.io/v1', metadata, items };
}

const invalid = (problem: string): never => refuse('ERR_QUERY', { problem });

/** API servers keep theirs about as long. */
const lifeMs = 300_000;

/** Where a list has got to. */
interface ListPosition {
  /** The key that the page before ended with. */
  readonly after: string;
  /** Keys of what comes behind everything else. */
  readonly last: readonly string[];
}

/**
 * Where the next page of a list begins. It names an object of the holder and gives nothing: each page is judged again. It is good
 * for this holder and for some minutes.
 */
export function writeContinue(place: ListPosition, holder: Holder, now: number): string {
  const token = { v: 2, ...place, holder: markOf(holder), until: now + lifeMs };
  return Buffer.from(JSON.stringify(token)).toString('base64url');
}

/** Undefined for a token that is too old, or of another holder. */
export function readContinue(text: string, holder: Holder, now: number): ListPosition | undefined {
  const token = parse(text);
  const until = Number(token['until']);
  const isGood =
    token['v'] === 2 && token['holder'] === markOf(holder) && until > now && until <= now + lifeMs;
  const after = asText(token['after']);
  return isGood && after !== undefined ? { after, last: asTexts(token['last']) } : undefined;
}

const parse = (text: string) => asObject(parseJSON(Buffer.from(text, 'base64url').toString('utf8')));

/** With a scope it is good for the one credential. */
const markOf = ({ identity, gates, record }: Holder): string =>
  hash('sha256', JSON.stringify([identity.user, gates.length === 0 ? '' : record.uid]), 'base64url');

type Source = Pick<OwnRequest, 'services' | 'kind' | 'response'>;

/** As long as the API server waits. */
const maxWaitMs = 3_000;
/** A bookmark moves the position without a change that could be heard of. */
const pauseMs = 25;

/**
 * Waits until this gateway is as far as the client wants, so that a list at another replica never goes back in time. Throws a Refusal
 * where that takes too long, or the version has passed.
 */
export async function untilVersion(source: Source, wanted: WantedVersion | undefined): Promise<void> {
  if (wanted === undefined) return;
  const { services, kind, response } = source;
  const { resourceVersion, isExact } = wanted;
  const end = services.clock.monotonic() + maxWaitMs;
  while (isNewerVersion(resourceVersion, services.changes.position(kind))) {
    if (response.destroyed || services.clock.monotonic() >= end) throw tooLarge(source, resourceVersion);
    await pause(source);
  }
  if (isExact && services.changes.position(kind) !== resourceVersion) refuse('ERR_VERSION_NOT_KEPT', {});
}

async function pause({ services: { clock } }: Source): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  clock.setTimer(resolve, pauseMs);
  await promise;
}

/** Clients know it by its cause, and list again without a version. */
function tooLarge({ services, kind }: Source, asked: string): Refusal {
  const details = { retryAfterSeconds: 1, causes: [{ reason: 'ResourceVersionTooLarge' }] };
  const values = { asked, present: services.changes.position(kind) };
  return new Refusal(
    errorAnswer('ERR_VERSION_TOO_LARGE', values, { headers: ['retry-after', '1'], details }),
  );
}
