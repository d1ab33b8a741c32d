import { isDeepStrictEqual } from 'node:util';
import {
  asObject,
  asText,
  hasInexactNumber,
  isObject,
  type JsonObject,
  maxLevels,
  nestsTooDeep,
} from '../../../api/json.ts';
import { groups } from '../../../api/names.ts';
import { actionOf } from '../../audit/trail.ts';
import { type Reply, refuse, toReply } from '../shared/reply.ts';
import { mediaTypeOf, parsePatch, readObject, readWholeBody } from '../shared/request-body.ts';
import { applyOwn } from './apply.ts';
import {
  refuseBeyondLimits,
  refuseBySitePolicy,
  refuseLarge,
  refuseNewSecret,
  requirePlatformFields,
} from './checks.ts';
import { readForChange, refuseGuessedVersion } from './read-for-change.ts';
import {
  askAsHolder,
  findOwn,
  notFound,
  type OwnRequest,
  pathOf,
  unlessReplaced,
  writeQuery,
} from './request.ts';
import { secretsIn, withoutCredentials, withStoredSecrets } from './secrets.ts';
import { askerOf, fitToPath, withHashedKey, withKeptFields, withStoredRecord } from './sent-object.ts';
import { warnOfKeptFinalizer, warnOfLostScope, withChangeWarnings } from './warnings.ts';

/** PUT: what the client sends is what is stored, but for credentials that it left as they read. */
export async function replaceOwn(request: OwnRequest): Promise<Reply> {
  const record = findOwn(request);
  if (record === undefined) throw notFound(request);
  const sent = await readObject(request);
  if (sent === undefined) return refuse('ERR_BODY_UNREADABLE', { problem: 'it is empty' });
  const changed = fitToPath(request, sent);
  const stored = await readForChange(request, record);
  return await unlessReplaced(request, record, await putOwn(request, changed, stored));
}

/** Sends a changed object, for the very one that it was made from: another one of its name must not be changed in its place. */
async function putOwn(request: OwnRequest, changed: JsonObject, stored: JsonObject): Promise<Reply> {
  refuseLarge(changed, stored);
  refuseGuessedVersion(changed, stored);
  refuseNewSecret(request.sender.verdict, changed, stored);
  const { object, plain } = withHashedKey(changed);
  const { kind } = request;
  const { metadata, ...whole } = withKeptFields(withStoredSecrets(object, stored), { kind, stored });
  const uid = asText(asObject(metadata)['uid']) ?? asObject(stored['metadata'])['uid'];
  const result = { ...whole, metadata: { ...asObject(metadata), uid } };
  const change = { kind, stored, result };
  request.trail?.acts(actionOf(stored, result));
  refuseBeyondLimits(request.sender.verdict, change);
  await requirePlatformFields(request, result, stored);
  refuseBySitePolicy(request.services.sitePolicy(), { kind, object: result, stored });
  const body = withStoredRecord(result, change, askerOf(request, groups.selfService));
  const { namespace, name } = request.asked;
  const path = pathOf(kind, { namespace, name }) + writeQuery(request);
  await request.turn();
  const answer = await askAsHolder(request, { method: 'PUT', path, body, mayEndCredential: true });
  const reply = toReply(answer, [...secretsIn(stored), ...(plain === undefined ? [] : [plain])]);
  const told = warnOfKeptFinalizer(warnOfLostScope(reply, stored), { kind, changed, stored });
  return withChangeWarnings(request, told, { object: body, stored });
}

type ApplyPatch = (shown: JsonObject, patch: unknown) => unknown;

const patches: Readonly<Record<string, ApplyPatch>> = {
  'application/json-patch+json': applyJsonPatch,
  'application/merge-patch+json': applyMergePatch,
};

export async function patchOwn(request: OwnRequest): Promise<Reply> {
  const type = mediaTypeOf(request.request.headers['content-type']);
  if (type === 'application/apply-patch+yaml') return await applyOwn(request);
  const apply = Object.hasOwn(patches, type) ? patches[type] : undefined;
  if (apply === undefined) return refuse('ERR_BODY_TYPE', {});
  if (findOwn(request) === undefined) throw notFound(request);
  const patch = await parsePatch(await readWholeBody(request), request.turn);
  return await patchStored(request, (shown) => apply(shown, patch));
}

/** Others may write at the same time. */
const maxTries = 5;

/**
 * The API server never sees a patch: one could copy a key to where everybody reads it, and a refusal would print the object. The
 * gateway applies it to what the holder may see and sends the result as a whole.
 */
async function patchStored(request: OwnRequest, patch: (shown: JsonObject) => unknown): Promise<Reply> {
  const before = request.held.size;
  for (let tries = 1; ; tries++) {
    request.held.giveBack(request.held.size - before);
    const record = findOwn(request);
    if (record === undefined) throw notFound(request);
    const stored = await readForChange(request, record);
    const patched = asPatched(withoutCredentials(stored), patch);
    const version = asText(asObject(patched['metadata'])['resourceVersion']);
    const present = asText(asObject(stored['metadata'])['resourceVersion']);
    const reply = await putOwn(request, withVersion(fitToPath(request, patched), version ?? present), stored);
    // Who names a version wants to know that there is another one.
    const isOther = version !== undefined && version !== present;
    if (reply.status !== 409 || isOther || tries === maxTries)
      return await unlessReplaced(request, record, reply);
  }
}

function asPatched(shown: JsonObject, patch: (shown: JsonObject) => unknown): JsonObject {
  try {
    const patched = patch(shown);
    if (!isObject(patched)) return refuse('ERR_PATCH', { problem: 'it leaves no object' });
    // Of the stored object, which was read here: it would be changed without a word.
    return hasInexactNumber(patched) ? refuse('ERR_PATCH', { problem: keptRoughly }) : patched;
  } catch (error) {
    if (error instanceof PatchProblem) return refuse('ERR_PATCH', { problem: error.message });
    throw error;
  }
}

const keptRoughly =
  'the object has a whole number beyond 2^53, which the patch would change; apply it instead';

const withVersion = (object: JsonObject, resourceVersion: string | undefined): JsonObject => ({
  ...object,
  metadata: { ...asObject(object['metadata']), resourceVersion },
});

/** Why a patch cannot be applied. The problem repeats no value. */
export class PatchProblem extends Error {}

/** More operations than any client sends. Each can move all items of a list, and everyone waits for it. */
const maxOperations = 1_000;
/** Copies of copies grow without bounds, and a value may take two bytes only. */
const maxBytes = 2 ** 16;

/** The result of a JSON Patch (RFC 6902). Throws a PatchProblem. */
export function applyJsonPatch(document: JsonObject, patch: unknown): JsonObject {
  if (!Array.isArray(patch)) throw new PatchProblem('a JSON patch is a list of operations');
  if (patch.length > maxOperations) throw new PatchProblem(`it has more than ${maxOperations} operations`);
  let result: unknown = copyOf(document);
  let copied = 0;
  // Later operations of a patch may change what it adds. It is applied again when somebody else wrote in between.
  for (const [index, operation] of patch.map(copyOf).entries()) {
    const { value, bytes } = applyOperation(result, readOperation(operation, index));
    result = value;
    copied += bytes;
    if (copied > maxBytes) throw new PatchProblem('it copies too much');
  }
  if (!isObject(result)) throw new PatchProblem('it leaves no object');
  if (nestsTooDeep(result)) throw new PatchProblem(tooDeep);
  return result;
}

/** Nothing of it changes with the other. `structuredClone` would write and read each text: 9 ms for one of a megabyte. */
const copyOf = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(copyOf);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, copyOf(part)]));
};

/** Each operation is shallow, and puts what it adds into what the one before has added. */
const tooDeep = `the result nests deeper than ${maxLevels} levels`;

interface Operation {
  readonly index: number;
  readonly op: string;
  readonly path: readonly string[];
  readonly from: readonly string[];
  readonly value: unknown;
}

function readOperation(given: unknown, index: number): Operation {
  if (!isObject(given)) throw new PatchProblem(`operation ${index} is no object`);
  const { op, path, from, value } = given;
  if (typeof op !== 'string' || !operations.has(op))
    throw new PatchProblem(`operation ${index} has no known op`);
  if (needsValue.has(op) && value === undefined) throw new PatchProblem(`operation ${index} has no value`);
  const hasFrom = op === 'move' || op === 'copy';
  return { index, op, path: readPointer(path, index), from: hasFrom ? readPointer(from, index) : [], value };
}

const operations: ReadonlySet<string> = new Set(['add', 'remove', 'replace', 'move', 'copy', 'test']);
const needsValue: ReadonlySet<string> = new Set(['add', 'replace', 'test']);

function readPointer(pointer: unknown, index: number): readonly string[] {
  if (typeof pointer !== 'string' || (pointer !== '' && !pointer.startsWith('/')))
    throw new PatchProblem(`operation ${index} has a path that is no JSON pointer`);
  const parts = pointer.split('/').slice(1);
  return parts.map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
}

interface Applied {
  readonly value: unknown;
  /** How much a copy added. */
  readonly bytes: number;
}

function applyOperation(document: unknown, operation: Operation): Applied {
  const { op, path, from, value, index } = operation;
  switch (op) {
    case 'test':
      if (!isDeepStrictEqual(find(document, path, index), value))
        throw new PatchProblem(`the test of operation ${index} fails`);
      return { value: document, bytes: 0 };
    case 'remove':
      return { value: removed(document, path, index), bytes: 0 };
    case 'replace':
      find(document, path, index);
      return {
        value: path.length === 0 ? value : added(removed(document, path, index), operation, value),
        bytes: 0,
      };
    case 'move': {
      if (path.length > from.length && from.every((part, place) => part === path[place]))
        throw new PatchProblem(`operation ${index} moves a value into itself`);
      const moved = find(document, from, index);
      return { value: added(removed(document, from, index), operation, moved), bytes: 0 };
    }
    case 'copy': {
      const copied = find(document, from, index);
      if (nestsTooDeep(copied)) throw new PatchProblem(tooDeep);
      const copy = copyOf(copied);
      return { value: added(document, operation, copy), bytes: JSON.stringify(copy)?.length ?? 0 };
    }
    default:
      return { value: added(document, operation, value), bytes: 0 };
  }
}

/** The container of the last part of a path, and that part. */
function containerOf(document: unknown, path: readonly string[], index: number) {
  const container = find(document, path.slice(0, -1), index);
  return { container, last: path.at(-1) ?? '' };
}

function find(document: unknown, path: readonly string[], index: number): unknown {
  return path.reduce((part, name) => {
    const isThere = Array.isArray(part)
      ? /^(?:0|[1-9]\d{0,8})$/.test(name) && Number(name) < part.length
      : isObject(part) && Object.hasOwn(part, name);
    if (!isThere) throw new PatchProblem(`operation ${index} names a path that is not there`);
    return (part as Record<string, unknown>)[name];
  }, document);
}

function removed(document: unknown, path: readonly string[], index: number): unknown {
  if (path.length === 0) throw new PatchProblem(`operation ${index} removes everything`);
  find(document, path, index);
  const { container, last } = containerOf(document, path, index);
  if (Array.isArray(container)) container.splice(Number(last), 1);
  else Reflect.deleteProperty(container as object, last);
  return document;
}

function added(document: unknown, { path, index }: Operation, value: unknown): unknown {
  if (path.length === 0) return value;
  const { container, last } = containerOf(document, path, index);
  if (Array.isArray(container)) insert(container, { last, index, value });
  else if (isObject(container)) define(container, last, value);
  else throw new PatchProblem(`operation ${index} adds to what holds nothing`);
  return document;
}

function insert(
  list: unknown[],
  { last, index, value }: { last: string; index: number; value: unknown },
): void {
  const place = last === '-' ? list.length : Number(/^(?:0|[1-9]\d{0,8})$/.test(last) ? last : Number.NaN);
  if (!(place <= list.length)) throw new PatchProblem(`operation ${index} names no place of the list`);
  list.splice(place, 0, value);
}

/** An assignment to `__proto__` would set something else. */
const define = (object: object, name: string, value: unknown): object =>
  Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true });

/** The result of a JSON merge patch (RFC 7396). */
export function applyMergePatch(document: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const result: object = isObject(document) ? { ...document } : {};
  for (const [name, value] of Object.entries(patch)) {
    const before: unknown = Object.hasOwn(result, name) ? Reflect.get(result, name) : undefined;
    if (value === null) Reflect.deleteProperty(result, name);
    else define(result, name, applyMergePatch(before, value));
  }
  return result;
}
