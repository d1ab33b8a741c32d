import { isObject, type JsonObject } from '../api/json.ts';

/** Thrown by the readers below: what an entry says cannot be read, so it must allow nothing. */
export class UnreadableEntry extends Error {}

/** The object itself, when each of its fields is known: a field that is not could be one that narrows. */
export function readFields(value: unknown, known: readonly string[]): JsonObject {
  if (!isObject(value)) throw new UnreadableEntry('it is no object');
  const unknown = Object.keys(value).find((field) => !known.includes(field));
  if (unknown !== undefined)
    throw new UnreadableEntry(`it has a field ${JSON.stringify(unknown)}, which is unknown`);
  return value;
}

/** A name that must be there. */
export function readName(entry: JsonObject, field: string): string {
  const name = readText(entry, field);
  if (name === '') throw new UnreadableEntry(`${field} is empty`);
  return name;
}

/** Empty where it is absent. */
export function readText(entry: JsonObject, field: string): string {
  const value = entry[field] ?? '';
  if (typeof value !== 'string') throw new UnreadableEntry(`${field} is no text`);
  return value;
}

/** Empty where it is absent. */
export function readList(entry: JsonObject, field: string): readonly unknown[] {
  const value = entry[field] ?? [];
  if (!Array.isArray(value)) throw new UnreadableEntry(`${field} is no list`);
  return value;
}

/** Undefined where the list is empty, which means everything. What is no text stays out, and still narrows. */
export function readTexts(entry: JsonObject, field: string): ReadonlySet<string> | undefined {
  const list = readList(entry, field);
  return list.length === 0 ? undefined : new Set(list.filter((item) => typeof item === 'string'));
}
