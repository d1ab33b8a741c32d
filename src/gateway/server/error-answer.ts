import type { IncomingMessage, ServerResponse } from 'node:http';
import { defined } from '../../api/json.ts';
import { errorCatalogue } from '../../error-catalogue.ts';
import { type ErrorValues, errorMessage, type HTTPErrorCode } from '../../errors.ts';
import { renderStatus, type StatusDetails } from '../../kube/status.ts';
import { warningOf } from './warning.ts';

/** An error as it goes to the client, rendered once. */
export interface ErrorAnswer {
  readonly code: HTTPErrorCode;
  readonly status: number;
  /** Name and value in turn. */
  readonly headers: readonly string[];
  readonly body: string;
}

export interface ErrorAnswerOptions {
  /** Name and value in turn. */
  readonly headers?: readonly string[];
  readonly details?: StatusDetails;
  /** Where the status has more than one. */
  readonly reason?: string;
}

/**
 * A Kubernetes `Status` of an error of the catalogue, with its message and its advice. The same stands in a warning: while kubectl
 * finds out what there is, it shows nothing of a Status.
 */
export function errorAnswer<Code extends HTTPErrorCode>(
  code: Code,
  values: ErrorValues<Code>,
  { headers = [], details = {}, reason }: ErrorAnswerOptions = {},
): ErrorAnswer {
  const entry: { readonly httpStatus: number; readonly fix: string; readonly field?: string } =
    errorCatalogue[code];
  const { httpStatus: status, fix, field } = entry;
  const message = `${errorMessage(code, values)}. ${fix}`;
  // Of what is invalid, kubectl prints the causes alone, each text once.
  const explained = field === undefined ? {} : { field, message };
  const causes = [{ reason: code }, ...(details.causes ?? [])].map((cause) => ({ ...cause, ...explained }));
  const body = renderStatus({
    ...{ code: status, message, details: { ...details, causes } },
    ...defined({ reason }),
  });
  const length = String(Buffer.byteLength(body));
  const own = ['content-length', length, 'warning', warningOf(message)];
  return { code, status, headers: [...statusHeaders, ...own, ...headers], body };
}

/** `owner`: whose requests they are. */
export const tooManyRequests = (owner: string): ErrorAnswer =>
  errorAnswer('ERR_TOO_MANY_REQUESTS', { owner }, { headers: ['retry-after', '1'] });

const statusHeaders = [
  'content-type',
  'application/json',
  'cache-control',
  'no-store',
  'x-content-type-options',
  'nosniff',
] as const;

/**
 * Strangers, clients that speak something else, and those whose target sent what is no answer begin again. Clients that may only
 * not do this keep the connection.
 */
const ending: ReadonlySet<number> = new Set([400, 401, 502]);

/** Whose body was read to its end speaks HTTP, whatever was in it. */
const endsConnection = ({ req: { complete } }: ServerResponse, { status }: ErrorAnswer): boolean =>
  ending.has(status) && !(status === 400 && complete);

/** Ends the request with the error. */
export function sendError(response: ServerResponse, answer: ErrorAnswer): void {
  leaveRest(response);
  if (endsConnection(response, answer)) response.shouldKeepAlive = false;
  response.writeHead(answer.status, answer.headers as string[]);
  response.end(response.req.method === 'HEAD' ? undefined : answer.body);
}

/** The rest of the body of the request is not read, so nothing can follow it: the connection closes after the answer. */
export function leaveRest(response: ServerResponse): void {
  if (hasBody(response.req) && !response.req.complete) response.shouldKeepAlive = false;
}

/** A request is never complete when its head has just arrived, body or not. */
export const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;

/** The same where no parser stands between us and the socket. */
export function rawError({ status, headers, body }: ErrorAnswer): string {
  const lines = headers.map((text, index) => (index % 2 === 0 ? `${text}: ` : `${text}\r\n`)).join('');
  return `HTTP/1.1 ${status} ${reasonPhrase}\r\n${lines}connection: close\r\n\r\n${body}`;
}

/** Clients ignore it. */
const reasonPhrase = 'Refused';
