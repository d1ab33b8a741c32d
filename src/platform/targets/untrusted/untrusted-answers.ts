import { isObject } from '../../../api/json.ts';
import type { AnswerGuard, Asked } from '../../../kube/client/answer-guard.ts';
import {
  createKubeClient,
  type KubeClient,
  type UntrustedClientOptions,
} from '../../../kube/client/client.ts';
import { type Action, badAnswer } from '../../../kube/kube-error.ts';
import { isUntrustedList, isUntrustedObject } from './untrusted-object.ts';
import { toUntrustedServerError, UntrustedServerError } from './untrusted-server-error.ts';

/** Every error is an UntrustedServerError, which holds no text of the server, and an answer that is no object of Kubernetes is one too. */
const untrustedAnswers: AnswerGuard = {
  check: checkUntrusted,
  watch: withUntrustedErrors,
  make: makeForUntrusted,
};

/** The client of an API server that others chose. Close it to end its connections. */
export const createUntrustedClient = (options: Omit<UntrustedClientOptions, 'answers'>): KubeClient =>
  createKubeClient({ ...options, answers: untrustedAnswers });

/**
 * The answer of an API server that is not trusted, when it has the shape that was asked for: what reads it takes
 * `metadata` and `items` for granted. The types of all other fields are the caller's to check.
 */
async function checkUntrusted(
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

async function* withUntrustedErrors<T>(
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

/** The result of the work, which makes a request out of a possible answer before. */
function makeForUntrusted<T>(action: Action, make: () => T): T {
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
