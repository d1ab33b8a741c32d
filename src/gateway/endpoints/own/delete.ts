import { asObject, defined, isObject, type JsonObject } from '../../../api/json.ts';
import type { LiveRecord } from '../../../credentials/record.ts';
import { isInteger } from '../../../scope/requests/list-query.ts';
import { touchedRecord } from '../../audit/trail.ts';
import { readWantedVersion } from '../shared/list-options.ts';
import { type Reply, refuse, toReply } from '../shared/reply.ts';
import { readObject } from '../shared/request-body.ts';
import { behind, type ListSelection, ownIn, readPage, untilVersion } from './list.ts';
import {
  askAsHolder,
  findOwn,
  isAboutObject,
  isSelfOrAbove,
  notFound,
  type OwnRequest,
  pathOf,
  presentUID,
  readWhole,
  unlessReplaced,
} from './request.ts';

export async function deleteOwn(request: OwnRequest): Promise<Reply> {
  const record = findOwn(request);
  if (record === undefined) throw notFound(request);
  const options = await readDeleteOptions(request);
  if (!options.isDryRun) {
    const reply = await deleteRecord(request, record, options);
    if (reply.status < 300) await untilEnded(request, [record]);
    return await unlessReplaced(request, record, reply);
  }
  // The API server shows the object only to those who may read all of them.
  const stored = await readWhole(request, record);
  if (stored === undefined) throw notFound(request);
  checkPreconditions(stored, options);
  return { status: 200, body: stored };
}

/** By its UID: another object of the name stays. */
async function deleteRecord(
  request: OwnRequest,
  record: LiveRecord,
  { preconditions, rest }: Omit<GivenDeleteOptions, 'isDryRun'>,
): Promise<Reply> {
  const { uid } = record;
  if ((preconditions['uid'] ?? uid) !== uid) return refuse('ERR_OBJECT_CONFLICT', {});
  const body = { kind: 'DeleteOptions', apiVersion: 'v1', ...rest, preconditions: { ...preconditions, uid } };
  const path = pathOf(request.kind, record);
  const mayEndCredential = isSelfOrAbove(request, record);
  const reply = toReply(await askAsHolder(request, { method: 'DELETE', path, body, mayEndCredential }));
  if (reply.status < 300) request.trail?.touched(touchedRecord(record));
  return reply;
}

function checkPreconditions(stored: JsonObject, { preconditions }: GivenDeleteOptions): void {
  const metadata = asObject(stored['metadata']);
  for (const field of ['uid', 'resourceVersion']) {
    if ((preconditions[field] ?? metadata[field]) !== metadata[field]) refuse('ERR_OBJECT_CONFLICT', {});
  }
}

/** One's own that the selectors select, one after the other. The credential of the request and those above it are the last. */
export async function deleteAllOwn(request: OwnRequest): Promise<Reply> {
  const options = await readDeleteOptions(request);
  const { limit, place, ...selection } = readPage(request);
  await untilVersion(request, readWantedVersion(request.query));
  const deleted: LiveRecord[] = [];
  for (const record of behind(ownIn(request), place)) {
    // The credential may have ended meanwhile.
    if (request.response.destroyed || deleted.length >= limit) break;
    if (!(await isSelected(request, record, selection))) continue;
    const refusal = await refusalToDelete(request, record, options);
    if (refusal !== undefined) return stopped(refusal, deleted.length, record);
    deleted.push(record);
    if (hasEnded(request, record, options)) break;
  }
  if (!options.isDryRun) await untilEnded(request, deleted);
  return { status: 200, body: success(deleted.length) };
}

/** Whether this ended the credential of the request, with which nothing more is sent then. */
const hasEnded = (request: OwnRequest, record: LiveRecord, { isDryRun }: GivenDeleteOptions): boolean =>
  !isDryRun && isSelfOrAbove(request, record);

/** Undefined: it is gone now, or would be. */
async function refusalToDelete(
  request: OwnRequest,
  record: LiveRecord,
  options: GivenDeleteOptions,
): Promise<Reply | undefined> {
  if (options.isDryRun) return undefined;
  const reply = await deleteRecord(request, record, options);
  const isOver = reply.status < 400 || (await isGone(request, record, reply));
  return isOver ? undefined : reply;
}

async function isSelected(
  request: OwnRequest,
  record: LiveRecord,
  { selects, isWhole }: Pick<ListSelection, 'selects' | 'isWhole'>,
): Promise<boolean> {
  if (isWhole) return true;
  const stored = await readWhole(request, record);
  request.held.giveBack(request.held.size);
  return stored !== undefined && selects(stored);
}

/** Somebody else deleted it; another one may have its name already. */
const isGone = async (request: OwnRequest, record: LiveRecord, reply: Reply): Promise<boolean> =>
  isAboutObject(reply) && (await presentUID(request, record)) !== record.uid;

const stopped = (reply: Reply, deleted: number, { key }: LiveRecord): Reply => ({
  ...reply,
  body: { ...reply.body, message: `deleted ${deleted}, then ${key} was refused: ${reply.body['message']}` },
});

const success = (deleted: number): JsonObject => ({
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Success',
  message: `deleted ${deleted}`,
  code: 200,
});

interface GivenDeleteOptions {
  readonly isDryRun: boolean;
  readonly preconditions: JsonObject;
  readonly rest: JsonObject;
}

/**
 * From the body, and from the query where it has none. Throws a Refusal: a dry run, and a delete of all where nothing is selected,
 * come no further than this.
 */
async function readDeleteOptions(request: OwnRequest): Promise<GivenDeleteOptions> {
  const body = (await readObject(request)) ?? {};
  const { query } = request;
  const rest = defined({
    propagationPolicy: asPolicy(body['propagationPolicy'] ?? query.get('propagationPolicy') ?? undefined),
    orphanDependents: asFlag(body, 'orphanDependents'),
    gracePeriodSeconds: asSeconds(body) ?? secondsIn(query),
  });
  if (rest.propagationPolicy !== undefined && rest.orphanDependents !== undefined)
    return refuseValue('propagationPolicy and orphanDependents exclude each other');
  const preconditions = asPart(body, 'preconditions');
  const isDryRun = isDryRunOf([...query.getAll('dryRun'), ...asList(body, 'dryRun')]);
  if (!isDryRun) request.trail?.acts('delete');
  return { isDryRun, preconditions, rest };
}

const policies: ReadonlySet<unknown> = new Set(['Foreground', 'Background', 'Orphan']);

function asPolicy(value: unknown): unknown {
  if (value === undefined || policies.has(value)) return value;
  if (typeof value !== 'string') return refuseType('propagationPolicy', 'text');
  return refuseValue('propagationPolicy must be Foreground, Background or Orphan');
}

/** A run that is neither dry nor meant is refused. */
function isDryRunOf(values: readonly unknown[]): boolean {
  const isKnown = values.every((value) => value === 'All');
  return isKnown ? values.length > 0 : refuseValue('dryRun must be All');
}

function secondsIn(query: URLSearchParams): number | undefined {
  const text = query.get('gracePeriodSeconds') ?? undefined;
  if (!isInteger(text)) return refuse('ERR_QUERY', { problem: 'gracePeriodSeconds is no number' });
  return text === undefined ? undefined : Number(text);
}

function asSeconds(options: JsonObject): number | undefined {
  const value = options['gracePeriodSeconds'] ?? undefined;
  const isFit = value === undefined || Number.isInteger(value);
  return isFit ? (value as number | undefined) : refuseType('gracePeriodSeconds', 'whole number');
}

function asFlag(options: JsonObject, name: string): boolean | undefined {
  const value = options[name] ?? undefined;
  return value === undefined || typeof value === 'boolean' ? value : refuseType(name, 'boolean');
}

/** Reads a list, or refuses any other form as an API server does: the option may ask for less than a deletion. */
function asList(options: JsonObject, name: string): readonly unknown[] {
  const value = options[name] ?? [];
  return Array.isArray(value) ? value : refuseType(name, 'list');
}

function asPart(options: JsonObject, name: string): JsonObject {
  const value = options[name] ?? {};
  return isObject(value) ? value : refuseType(name, 'object');
}

const refuseValue = (problem: string): never => refuse('ERR_QUERY_INVALID', { problem });
const refuseType = (name: string, type: string): never =>
  refuse('ERR_BODY_UNREADABLE', { problem: `its ${name} is no ${type}` });

/** A watch brings a deletion in milliseconds. */
const maxWaitMs = 1_000;

/** Waits until this gateway knows that these were deleted, so that none of them opens anything when the answer comes. */
async function untilEnded(
  { services, kind, response }: Pick<OwnRequest, 'services' | 'kind' | 'response'>,
  records: readonly LiveRecord[],
): Promise<void> {
  const store = services.index.records.ofKind[kind];
  const isThere = ({ key, uid }: LiveRecord): boolean => {
    const present = store.get(key);
    return present?.uid === uid && present.deleted === undefined;
  };
  const { promise, resolve } = Promise.withResolvers<void>();
  const check = () => {
    if (!records.some(isThere)) resolve();
  };
  const unsubscribe = store.subscribe(check);
  const timer = services.clock.setTimer(resolve, maxWaitMs);
  response.once('close', resolve);
  check();
  await promise;
  unsubscribe();
  timer.cancel();
  response.off('close', resolve);
}
