import type { Resource } from '../api/resources.ts';
import { ForeignKubeError, toForeign } from './foreign-kube-error.ts';
import { type Action, badAnswer } from './kube-error.ts';

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly resource?: Resource;
  /** Of a list: the most objects that may come. Absent: one object was asked for. */
  readonly answer?: { readonly limit: number | undefined };
}

/**
 * The answer of an API server that is not trusted, when it has the shape that was asked for: what reads it takes
 * `metadata` and `items` for granted. The types of all other fields are the caller's to check.
 */
export async function checkedForeign(answer: Promise<unknown>, asked: Asked): Promise<unknown> {
  const action = { verb: asked.method, path: asked.path };
  try {
    const value = await answer;
    if (!hasShape(value, asked)) throw badAnswer(action, 'JSON of another shape', 200);
    return value;
  } catch (error) {
    throw toForeign(action, error);
  }
}

export async function* withForeignErrors<T>(action: Action, events: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* events;
  } catch (error) {
    throw toForeign(action, error);
  }
}

/** An answer whose content cannot be used, as the error that it would have been at the request. */
export function unusableAnswer(action: Action, problem: string): ForeignKubeError {
  return new ForeignKubeError(action, badAnswer(action, problem, 200));
}

function hasShape(value: unknown, { method, resource, answer }: Asked): boolean {
  if (!isObject(value)) return false;
  if (resource === undefined || method === 'DELETE') return true;
  if (answer !== undefined) return isObject(value.metadata) && isListOfObjects(value.items, answer.limit);
  return isKubeObject(value);
}

/** A server that overlooks the limit would decide how much of its list is held at once. */
function isListOfObjects(items: unknown, limit = Number.POSITIVE_INFINITY): boolean {
  if (!Array.isArray(items) || items.length > limit) return false;
  return items.every((item) => isObject(item) && isKubeObject(item));
}

function isKubeObject({ metadata }: { readonly metadata?: unknown }): boolean {
  if (!isObject(metadata)) return false;
  const { name, namespace, uid, resourceVersion } = metadata;
  return [name, namespace, uid, resourceVersion].every((text) =>
    ['string', 'undefined'].includes(typeof text),
  );
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
