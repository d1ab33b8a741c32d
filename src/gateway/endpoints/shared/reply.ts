import type { IncomingMessage } from 'node:http';
import { stringify } from 'yaml';
import { asObject, type JsonObject } from '../../../api/json.ts';
import type { ErrorValues, HTTPErrorCode } from '../../../errors.ts';
import { type JsonBounds, withinJsonBounds } from '../../../kube/client/json-bounds.ts';
import type { RawResponse } from '../../../kube/client/response-collector.ts';
import { badAnswer } from '../../../kube/kube-error.ts';
import { renderStatus } from '../../../kube/status.ts';
import { answerTo } from '../../proxy/forward.ts';
import {
  type ErrorAnswer,
  type ErrorAnswerOptions,
  errorAnswer,
  leaveRest,
  sendError,
} from '../../server/error-answer.ts';
import { warningOf } from '../../server/warning.ts';
import type { EndpointRequest, Exchange } from './endpoint.ts';
import { type PacedResponse, writeAtPace } from './write-at-pace.ts';

/** Ends an operation with an answer of the gateway. Thrown, because what clients send could look like an answer. */
export class Refusal extends Error {
  readonly answer: ErrorAnswer;

  constructor(answer: ErrorAnswer) {
    super(answer.code);
    this.answer = answer;
  }
}

export function refuse<Code extends HTTPErrorCode>(
  code: Code,
  values: ErrorValues<Code>,
  options?: ErrorAnswerOptions,
): never {
  throw new Refusal(errorAnswer(code, values, options));
}

/** A credential that this very request made. */
export interface IssuedCredential {
  readonly part: 'spec' | 'status';
  readonly field: string;
  readonly value: string;
}

/** The answer for the client once credentials are taken out. */
export interface Reply {
  readonly status: number;
  readonly body: JsonObject;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  /** Plain credentials that went to the API server, which its answer could quote. */
  readonly known?: readonly string[];
  readonly issued?: IssuedCredential | undefined;
}

/** An answer of the API server, with what clients act on. */
export function toReply(answer: RawResponse, known: readonly string[] = []): Reply {
  const { status, headers } = answer;
  const passed = Object.entries({ warning: headers['warning'], 'retry-after': retryAfterOf(answer) });
  const kept = passed.filter((header): header is [string, string] => header[1] !== undefined);
  const body = status < 400 ? parseAnswer(answer) : parseRefusal(answer);
  return { status, body, headers: Object.fromEntries(kept), known };
}

/** Who is told to come back is told when. */
export function retryAfterOf({ status, headers }: RawResponse): string | undefined {
  return headers['retry-after'] ?? (status === 429 || status === 503 ? '1' : undefined);
}

/** Also where it is no Status: an API server that has too much to do says so in plain text, and so may what stands before it. */
export function parseRefusal(answer: RawResponse): JsonObject {
  const { status: code, headers, body } = answer;
  try {
    return parseAnswer(answer);
  } catch (error) {
    if (code > 599) throw error;
    // In an error of its own, what stands before the API server may name addresses inside.
    const isText = code < 500 && /^text\/plain\b/i.test(headers['content-type'] ?? '');
    const message = isText ? body.trim().slice(0, maxTextLength) : `the API server answered with ${code}`;
    return asObject(JSON.parse(renderStatus({ code, message })));
  }
}

const maxTextLength = 1_024;

/** Any JSON object that the API server answers. */
export function parseAnswer({ status, body }: Pick<RawResponse, 'status' | 'body'>): JsonObject {
  try {
    if (status < 200 || status > 599 || (status > 299 && status < 400)) throw new Error('no such answer');
    return asObject(JSON.parse(body));
  } catch {
    throw badAnswer({ verb: 'REQUEST', path: 'credentials' }, `status ${status} without an object`);
  }
}

export const issueInto = (object: JsonObject, { part, field, value }: IssuedCredential): JsonObject => ({
  ...object,
  [part]: { ...asObject(object[part]), [field]: value },
});

/** One more text for people; kubectl prints it. */
export function withWarning({ headers = {}, ...reply }: Reply, text: string): Reply {
  const others = headers['warning'] ?? [];
  const warning = [...(typeof others === 'string' ? [others] : others), warningOf(text)];
  return { ...reply, headers: { ...headers, warning } };
}

/** Answers a request that was refused, or that a target could not be asked for, or did not answer. */
export function answerFailure({ response, refuse, onFailure }: EndpointRequest, error: Error): void {
  if (response.destroyed) return;
  if (error instanceof Refusal) return refuse(error.answer);
  const failure = causeOf(error);
  const refusal = answerTo(failure);
  onFailure(failure, refusal);
  sendError(response, refusal);
}

/** Unwraps the error of a pool, which comes as the cause of one of ours. */
const causeOf = (error: Error): Error => (error.cause instanceof Error ? error.cause : error);

/** The head of a watch or another stream of JSON. What follows is written by the caller. */
export function beginStream({ response, trail }: Pick<EndpointRequest, 'response' | 'trail'>): void {
  leaveRest(response);
  response.writeHead(200, { 'content-type': 'application/json', ...notKept });
  response.flushHeaders();
  trail?.began();
}

/** Neither caches nor the disk of a browser keep an answer: it may hold a credential. */
const notKept = { 'cache-control': 'no-store' } as const;

/** An object in JSON, unless the client asks for YAML and not for JSON. Clients of the API read what the header says it is. */
export function sendObject(
  exchange: Exchange & PacedResponse,
  status: number,
  body: object,
  headers: Readonly<Record<string, string | readonly string[]>> = {},
): void {
  const { request, response } = exchange;
  if (response.destroyed) return;
  const isYAML = prefersYAML(request);
  const json = JSON.stringify(body, null, isPretty(request));
  const text = isYAML && isShort(json) ? stringify(body, yamlForm) : json;
  leaveRest(response);
  response.writeHead(status, {
    'content-type': isYAML ? 'application/yaml' : 'application/json',
    'content-length': Buffer.byteLength(text),
    ...notKept,
    ...(headers as Record<string, string>),
  });
  void writeAtPace(exchange, request.method === 'HEAD' ? '' : text).then(() => response.end());
}

/** Folded lines would be hard to read in a kubeconfig, and to take out of it. */
const yamlForm = { version: '1.1', lineWidth: 0 } as const;

/** To write more in this way takes long, and everyone waits for it. Each JSON text is one of YAML, too. */
const isShort = (json: string): boolean => json.length <= maxYAMLLength && withinJsonBounds(json, yamlBounds);
const maxYAMLLength = 32_768;
const yamlBounds: JsonBounds = { maxLevels: 100, maxValues: 512 };

const prefersYAML = ({ headers: { accept = '' } }: IncomingMessage): boolean =>
  /\bapplication\/yaml\b/i.test(accept) && !/\/(?:json|\*)/i.test(accept);

const isPretty = ({ url = '' }: IncomingMessage): number | undefined =>
  /[?&]pretty=(?:true|1)(?:&|$)/.test(url) ? 2 : undefined;
