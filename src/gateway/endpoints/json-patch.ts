import { isDeepStrictEqual } from 'node:util';
import { isObject, type JsonObject, maxLevels, nestsTooDeep } from '../../api/json.ts';

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
  let result: unknown = structuredClone(document);
  let copied = 0;
  // What a patch adds, its later operations may change. It is applied again when somebody else wrote in between.
  for (const [index, operation] of structuredClone(patch).entries()) {
    const { value, bytes } = applyOperation(result, readOperation(operation, index));
    result = value;
    copied += bytes;
    if (copied > maxBytes) throw new PatchProblem('it copies too much');
  }
  if (!isObject(result)) throw new PatchProblem('it leaves no object');
  if (nestsTooDeep(result)) throw new PatchProblem(tooDeep);
  return result;
}

/** Each operation is shallow, and puts what it adds into what the one before has added. */
const tooDeep = `what it leaves nests deeper than ${maxLevels} levels`;

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
      const copy = structuredClone(copied);
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
