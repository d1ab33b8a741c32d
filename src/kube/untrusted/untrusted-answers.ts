import { isObject } from '../../api/json.ts';
import type { Resource } from '../../api/resources.ts';
import { type Action, badAnswer } from '../kube-error.ts';
import { isUntrustedList, isUntrustedObject, type ListBounds } from './untrusted-object.ts';
import { toUntrustedServerError, UntrustedServerError } from './untrusted-server-error.ts';

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly resource?: Resource;
  /** Absent: one object was asked for. */
  readonly list?: ListBounds;
}

/**
 * The answer of an API server that is not trusted, when it has the shape that was asked for: what reads it takes
 * `metadata` and `items` for granted. The types of all other fields are the caller's to check.
 */
export async function checkUntrusted(
  answer: Promise<unknown>,
  asked: Asked,
  signal: AbortSignal | undefined,
): Promise<unknown> {
  const action = { verb: asked.method, path: asked.path };
  try {
    const value = await answer;
    if (!hasShape(value, asked)) throw badAnswer(action, 'JSON of another shape', 200);
    return value;
  } catch (error) {
    if (signal?.aborted && error === signal.reason) throw error;
    throw untrustedFailure(action, error);
  }
}

export async function* withUntrustedErrors<T>(
  action: Action,
  events: AsyncIterable<T>,
  signal: AbortSignal,
): AsyncGenerator<T> {
  try {
    yield* events;
  } catch (error) {
    if (signal.aborted && error === signal.reason) throw error;
    throw untrustedFailure(action, error);
  }
}

/** What the work returns, which makes a request out of what may have been an answer before. */
export function makeForUntrusted<T>(action: Action, make: () => T): T {
  try {
    return make();
  } catch (error) {
    throw untrustedFailure(action, error);
  }
}

/** An answer whose content cannot be used, as the error that it would have been at the request. */
export function unusableAnswer(action: Action, problem: string): UntrustedServerError {
  return new UntrustedServerError(action, badAnswer(action, problem, 200));
}

/**
 * An exception of the language means that something was not as an API server sends it: this answer, or an earlier one
 * that the request was made from. As an exception it would count as our own failure, and be tried again for ever.
 */
function untrustedFailure(action: Action, error: unknown): unknown {
  return isOfLanguage(error)
    ? unusableAnswer(action, 'values of other types')
    : toUntrustedServerError(action, error);
}

const isOfLanguage = (error: unknown): boolean =>
  [TypeError, RangeError, URIError, SyntaxError, ReferenceError].some((type) => error instanceof type);

function hasShape(value: unknown, { method, resource, list }: Asked): boolean {
  if (resource === undefined || method === 'DELETE') return isObject(value);
  return list === undefined ? isUntrustedObject(value, resource) : isUntrustedList(value, resource, list);
}
