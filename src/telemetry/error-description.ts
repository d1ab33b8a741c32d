import { defined } from '../api/json.ts';

const maxDepth = 4;
const maxErrors = 5;

/** The description of an error in a log line. */
export interface ErrorDescription {
  readonly type: string;
  readonly message: string;
  readonly code?: string | number;
  readonly status?: number;
  readonly reason?: string;
  readonly stack?: string;
  readonly cause?: ErrorDescription;
  readonly errors?: readonly ErrorDescription[];
}

/**
 * Only named fields, never the rest: errors of HTTP clients carry the headers and the body of the answer, and
 * several write both into their message, so the message of such an error is left out too.
 */
export function describeError(error: unknown, depth = 1): ErrorDescription {
  if (!(error instanceof Error))
    return { type: typeof error, message: 'a value that is no Error was thrown' };
  return {
    type: error.name,
    message: carriesAnswer(error) ? 'message withheld: it may hold the body of an answer' : error.message,
    ...plainFields(error),
    ...framesOf(error),
    ...nested(error, depth),
  };
}

function carriesAnswer(error: Error): boolean {
  return 'body' in error || 'headers' in error || 'response' in error;
}

function plainFields(error: Error): Pick<ErrorDescription, 'code' | 'status' | 'reason'> {
  const { code, status, reason } = error as { code?: unknown; status?: unknown; reason?: unknown };
  return defined({
    code: typeof code === 'string' || typeof code === 'number' ? code : undefined,
    status: typeof status === 'number' ? status : undefined,
    reason: typeof reason === 'string' ? reason : undefined,
  });
}

/** A stack begins with the message: only its frames are taken. */
function framesOf({ stack }: Error): Pick<ErrorDescription, 'stack'> {
  const frames = stack?.split('\n').filter((line) => /^\s+at /.test(line)) ?? [];
  return frames.length === 0 ? {} : { stack: frames.join('\n') };
}

function nested(error: Error, depth: number): Pick<ErrorDescription, 'cause' | 'errors'> {
  if (depth >= maxDepth) return {};
  return defined({
    cause: error.cause instanceof Error ? describeError(error.cause, depth + 1) : undefined,
    errors:
      error instanceof AggregateError
        ? error.errors.slice(0, maxErrors).map((one: unknown) => describeError(one, depth + 1))
        : undefined,
  });
}
