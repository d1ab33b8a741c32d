import { asObject, defined, isObject, type JsonObject } from '../api/json.ts';

/** The parts of the body of a refusal that matter. */
export interface Status {
  readonly message?: string;
  readonly reason?: string;
  readonly code?: number;
  readonly details?: StatusDetails;
}

/** The subject of a refusal. Never the rejected values. */
export interface StatusDetails {
  readonly name?: string;
  readonly group?: string;
  readonly kind?: string;
  readonly uid?: string;
  readonly retryAfterSeconds?: number;
  readonly causes?: readonly StatusCause[];
}

interface StatusCause {
  readonly reason?: string;
  readonly field?: string;
  /** In a refusal of our own; that of an API server quotes the rejected value. */
  readonly message?: string;
}

export function isStatus(body: unknown): body is { readonly kind: 'Status' } {
  return asObject(body)['kind'] === 'Status';
}

/**
 * Reads a Status of any sender: what is not of its type, or longer than any API server has it, is left out
 * (of a message, its end). Empty for what is no Status.
 */
export function readStatus(body: unknown): Status {
  if (!isStatus(body)) return {};
  const { message, reason, code, details } = asObject(body);
  return defined({
    message: typeof message === 'string' ? message.slice(0, maxMessageLength) : undefined,
    reason: shortText(reason),
    code: isHTTPStatus(code) ? code : undefined,
    details: isObject(details) ? readDetails(details) : undefined,
  });
}

/** A validation message has a line for each field. */
const maxMessageLength = 64 * 1024;
const maxTextLength = 1_024;
const maxCauses = 256;

function readDetails({ causes, ...details }: JsonObject): StatusDetails {
  const { name, group, kind, uid, retryAfterSeconds } = details;
  return defined({
    name: shortText(name),
    group: shortText(group),
    kind: shortText(kind),
    uid: shortText(uid),
    retryAfterSeconds: isSeconds(retryAfterSeconds) ? retryAfterSeconds : undefined,
    causes: Array.isArray(causes) ? causes.slice(0, maxCauses).map(readCause) : undefined,
  });
}

/** Messages quote the rejected values. */
function readCause(cause: unknown): StatusCause {
  const { reason, field } = asObject(cause);
  return defined({ reason: shortText(reason), field: shortText(field) });
}

const shortText = (value: unknown): string | undefined =>
  typeof value === 'string' && value.length <= maxTextLength ? value : undefined;

const isSeconds = (value: unknown): value is number =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0;

const isHTTPStatus = (value: unknown): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 100 && value <= 599;

/** An error as an API server answers it: `Status` with `Failure`. Clients show its message and act on its reason. */
export function renderStatus(status: Status & { readonly code: number; readonly message: string }): string {
  const { code, message, reason = statusReasons[code], details } = status;
  return JSON.stringify({
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message,
    ...defined({ reason, details }),
    code,
  });
}

/** The words of Kubernetes; other codes have none. */
export const statusReasons: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  409: 'Conflict',
  410: 'Gone',
  413: 'RequestEntityTooLarge',
  415: 'UnsupportedMediaType',
  422: 'Invalid',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
  504: 'Timeout',
};
