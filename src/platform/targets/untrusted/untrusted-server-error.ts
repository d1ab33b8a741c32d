import { defined } from '../../../api/json.ts';
import { errorMessage, LatchkeyError } from '../../../errors.ts';
import { type Action, KubeError, type KubeErrorInit } from '../../../kube/kube-error.ts';

/**
 * A request that failed at an API server that others chose. Unlike that of our own API server, neither its text nor its
 * address may reach a log: it may send our credentials back to us, or whatever it wants people to read there.
 */
export class UntrustedServerError extends KubeError {
  /** The code of what broke the connection: of Node, OpenSSL, undici, or our error catalogue. */
  readonly causeCode: string | undefined;

  constructor(action: Action, error: KubeError) {
    const causeCode = codeOf(error.cause);
    super(initOf(action, error, causeCode));
    this.causeCode = causeCode;
  }
}

/** The same without text from outside; anything but a KubeError comes back as it is. */
export function toUntrustedServerError(action: Action, error: unknown): unknown {
  return error instanceof KubeError && !(error instanceof UntrustedServerError)
    ? new UntrustedServerError(action, error)
    : error;
}

function initOf(action: Action, error: KubeError, causeCode: string | undefined): KubeErrorInit {
  const { code, status, retryAfterSeconds } = error;
  const reason = knownReasons.has(error.reason) ? error.reason : 'Unknown';
  const { verb, path } = action;
  const resource = shorten(path);
  return {
    code,
    status,
    reason,
    message: messageOf(error, { verb, path, resource, reason, causeCode }),
    ...defined({
      details: isAboutUID(error) ? { causes: [{ field: uidField }] } : undefined,
      retryAfterSeconds,
      cause: error.cause instanceof LatchkeyError ? error.cause : undefined,
    }),
  };
}

interface MessageParts {
  readonly verb: string;
  readonly path: string;
  /** The path, cut where it is too long. */
  readonly resource: string;
  readonly reason: string;
  readonly causeCode: string | undefined;
}

function messageOf({ code, status, message }: KubeError, parts: MessageParts): string {
  const { verb, path, resource, reason, causeCode = 'no connection' } = parts;
  if (code === 'ERR_KUBE_STATUS') return errorMessage(code, { status, reason, verb, resource });
  if (code === 'ERR_KUBE_UNREACHABLE')
    return errorMessage(code, { cause: `${verb} ${resource}: ${causeCode}` });
  return message.replace(path, () => resource);
}

/** Users of a target choose names in paths, of any length. */
const shorten = (path: string): string =>
  path.length > maxPathLength ? `${path.slice(0, maxPathLength)}…` : path;
const maxPathLength = 300;

/** A conflict is known by it: see `isConflict`. */
const uidField = 'metadata.uid';

function isAboutUID({ details }: KubeError): boolean {
  return details?.causes?.some(({ field }) => field === uidField) ?? false;
}

/** Several addresses were tried: the first failure speaks for all. */
function codeOf(cause: unknown): string | undefined {
  if (!(cause instanceof Error)) return undefined;
  const { code } = cause as { code?: unknown };
  if (typeof code === 'string' && /^[A-Z][A-Z0-9_]{1,80}$/.test(code)) return code;
  // undici gives its code to some of them only.
  if (cause.name === 'HTTPParserError') return 'HPE_INVALID';
  return cause instanceof AggregateError ? codeOf(cause.errors[0]) : undefined;
}

const knownReasons = new Set([
  'AlreadyExists',
  'BadAnswer',
  'BadRequest',
  'ClientTimeout',
  'Conflict',
  'Expired',
  'Forbidden',
  'Gone',
  'InternalError',
  'Invalid',
  'MethodNotAllowed',
  'NotAcceptable',
  'NotFound',
  'RequestEntityTooLarge',
  'ServerTimeout',
  'ServiceUnavailable',
  'Timeout',
  'TooManyRequests',
  'Unauthorized',
  'Unreachable',
  'UnsupportedMediaType',
]);
