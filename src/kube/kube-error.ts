import { defined } from '../api/json.ts';
import { type ErrorCode, errorMessage } from '../errors.ts';
import { readStatus, type StatusDetails, statusReasons } from './status.ts';

/**
 * - `ERR_KUBE_STATUS`: the API server answered with an error.
 * - `ERR_KUBE_UNREACHABLE`: no connection, or it broke; whether a write took effect is unknown.
 * - `ERR_KUBE_TIMEOUT`: no whole answer in time; whether a write took effect is unknown.
 * - `ERR_KUBE_RESPONSE`: an answer that no API server gives (not JSON, a redirect, too large).
 */
export type KubeErrorCode = Extract<
  ErrorCode,
  'ERR_KUBE_STATUS' | 'ERR_KUBE_UNREACHABLE' | 'ERR_KUBE_TIMEOUT' | 'ERR_KUBE_RESPONSE'
>;

/** The tried action: method and path, without the query. */
export interface Action {
  readonly verb: string;
  readonly path: string;
}

export interface KubeErrorInit {
  readonly code: KubeErrorCode;
  readonly message: string;
  /** HTTP status; 0 where there was no answer. */
  readonly status?: number;
  readonly reason: string;
  readonly statusMessage?: string;
  readonly details?: StatusDetails;
  readonly retryAfterSeconds?: number;
  readonly cause?: unknown;
}

/**
 * A request to the API server that failed. `message` is safe to log. `statusMessage` is the API server's own text;
 * it may quote what was sent, keys included, so it is not enumerable: show it only to who sent the request.
 */
export class KubeError extends Error {
  readonly code: KubeErrorCode;
  readonly status: number;
  readonly reason: string;
  readonly details?: StatusDetails;
  readonly retryAfterSeconds?: number;
  declare readonly statusMessage: string;

  constructor(init: KubeErrorInit) {
    super(init.message, init.cause === undefined ? undefined : { cause: init.cause });
    this.name = 'KubeError';
    this.code = init.code;
    this.status = init.status ?? 0;
    this.reason = init.reason;
    if (init.details !== undefined) this.details = init.details;
    if (init.retryAfterSeconds !== undefined) this.retryAfterSeconds = init.retryAfterSeconds;
    Object.defineProperty(this, 'statusMessage', { value: init.statusMessage ?? '', enumerable: false });
  }
}

/**
 * The error of a Status body. The seconds of a Retry-After header win over those in the body.
 * `httpStatus` is 200 for an ERROR event of a watch; the code in the body counts then.
 */
export function kubeErrorFromStatus(
  action: Action,
  httpStatus: number,
  body: unknown,
  retryAfter?: number,
): KubeError {
  const status = readStatus(body);
  const code = httpStatus >= 400 ? httpStatus : (status.code ?? 500);
  const retryAfterSeconds = retryAfter ?? status.details?.retryAfterSeconds;
  const reason = status.reason || reasonOf(code);
  const statusMessage = status.message ?? '';
  return new KubeError({
    code: 'ERR_KUBE_STATUS',
    message: describe(action, code, reason, statusMessage),
    status: code,
    reason,
    statusMessage,
    ...defined({ details: status.details, retryAfterSeconds }),
  });
}

export function unreachable({ verb, path }: Action, cause: unknown): KubeError {
  const text = `${verb} ${path}: ${cause instanceof Error ? cause.message : String(cause)}`;
  return new KubeError({
    code: 'ERR_KUBE_UNREACHABLE',
    message: errorMessage('ERR_KUBE_UNREACHABLE', { cause: text }),
    reason: 'Unreachable',
    cause,
  });
}

export function timedOut({ verb, path }: Action, milliseconds: number): KubeError {
  return new KubeError({
    code: 'ERR_KUBE_TIMEOUT',
    message: errorMessage('ERR_KUBE_TIMEOUT', { verb, resource: path, milliseconds }),
    reason: 'ClientTimeout',
  });
}

export function badAnswer({ verb, path }: Action, problem: string, status = 0): KubeError {
  return new KubeError({
    code: 'ERR_KUBE_RESPONSE',
    message: errorMessage('ERR_KUBE_RESPONSE', { verb, resource: path, problem }),
    status,
    reason: 'BadAnswer',
  });
}

/** For `.catch`: an object that is not there reads as undefined, and its deletion has succeeded. */
export function ignoreNotFound(error: unknown): undefined {
  if (!isNotFound(error)) throw error;
}

export const isNotFound = (error: unknown): error is KubeError => hasReason(error, 404, 'NotFound');
export const isAlreadyExists = (error: unknown): error is KubeError => hasReason(error, 409, 'AlreadyExists');
/**
 * A stale resourceVersion, another UID, or fields of another manager; not {@link isAlreadyExists}. The API server
 * answers a patch that names another UID with 422 about `metadata.uid`.
 */
export const isConflict = (error: unknown): error is KubeError =>
  hasReason(error, 409, 'Conflict') ||
  (isInvalid(error) && (error.details?.causes?.some(({ field }) => field === 'metadata.uid') ?? false));
/** Of a write that names the object by its UID: it is gone, or another one has its name. */
export const isGone = (error: unknown): error is KubeError => isNotFound(error) || isConflict(error);
export const isUnauthorized = (error: unknown): error is KubeError => hasStatus(error, 401);
export const isForbidden = (error: unknown): error is KubeError => hasStatus(error, 403);
export const isInvalid = (error: unknown): error is KubeError => hasStatus(error, 422);

/** Nothing can be created there any more. */
export const isNamespaceGoing = (error: unknown): error is KubeError =>
  isNotFound(error) ||
  (isForbidden(error) &&
    (error.details?.causes?.some(({ reason }) => reason === 'NamespaceTerminating') ?? false));

function hasStatus(error: unknown, status: number): error is KubeError {
  return error instanceof KubeError && error.status === status;
}

function hasReason(error: unknown, status: number, reason: string): error is KubeError {
  return hasStatus(error, status) && error.reason === reason;
}

function reasonOf(status: number): string {
  return statusReasons[status] ?? 'Unknown';
}

function describe({ verb, path }: Action, status: number, reason: string, statusMessage: string): string {
  const head = errorMessage('ERR_KUBE_STATUS', { verb, resource: path, status, reason });
  return statusMessage !== '' && mayBeShown(status, statusMessage) ? `${head}: ${statusMessage}` : head;
}

/**
 * Validation, decoding and admission messages quote rejected values, so their text stays out of logs. The API server
 * words the others itself, from names only. Of 403 that holds for authorisation, not for admission plug-ins.
 */
function mayBeShown(status: number, statusMessage: string): boolean {
  if (status === 403) return / is forbidden: User "[^"]*" cannot /.test(statusMessage);
  return [401, 404, 409, 410, 429, 503].includes(status);
}
