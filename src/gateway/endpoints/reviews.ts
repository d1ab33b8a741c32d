import type { IncomingMessage, ServerResponse } from 'node:http';
import { parse, stringify } from 'yaml';
import { asObject, type JsonObject } from '../../api/json.ts';
import { ResponseCollector } from '../../kube/client/response-collector.ts';
import type { RequestMeaning } from '../../scope/requests/resolve-request.ts';
import { decodeAccessReview } from '../../scope/reviews/protobuf-review.ts';
import { reviewToRequest } from '../../scope/reviews/review-request.ts';
import { markIncomplete } from '../../scope/reviews/rules-review.ts';
import { explainDenial } from '../gate/authorise.ts';
import type { Verdict } from '../index/verdict.ts';
import { expectsContinue } from '../proxy/forward.ts';
import type { Upstream, UpstreamRequest } from '../proxy/upstream.ts';
import { type ErrorAnswer, errorAnswer, sendError } from '../server/error-answer.ts';

const accessReviews = 'selfsubjectaccessreviews';
const rulesReviews = 'selfsubjectrulesreviews';

/** Whether somebody asks what they may do: the API server knows their rights and nothing of scopes. */
export function isReview({ verb, apiGroup, resource, subresource }: RequestMeaning): boolean {
  if (verb !== 'create' || apiGroup !== 'authorization.k8s.io' || subresource !== '') return false;
  return resource === accessReviews || resource === rulesReviews;
}

export interface Review {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly asked: RequestMeaning;
  readonly verdict: Verdict;
  readonly spaceNamespace: string | undefined;
  readonly upstream: Upstream;
  readonly send: Omit<UpstreamRequest, 'body'>;
  /** Passes the request on with this body and these headers. */
  readonly pass: (body: Buffer, headers: UpstreamRequest['headers']) => void;
}

/** A review is a few names. */
const maxBytes = 65_536;

/** Answers `no` where the scope says no, and lets the target answer everything else. */
export async function answerReview(review: Review): Promise<void> {
  const { request, response, asked, verdict, send, pass } = review;
  if (expectsContinue(request)) response.writeContinue();
  const body = await readBody(request);
  if (response.destroyed) return;
  if (body === undefined) return sendError(response, tooLarge);
  if (asked.resource === accessReviews) return answerAccess(review, body);
  if (verdict.gates.length === 0) return pass(body, send.headers);
  await answerRules(review, body);
}

function answerAccess(review: Review, body: Buffer): void {
  const { request, response, asked, verdict, spaceNamespace, send, pass } = review;
  const read = readReview(request, body);
  if ('status' in read) return sendError(response, read);
  const question = reviewToRequest(read.spec, asked.target);
  const reason = question && explainDenial(verdict, question, spaceNamespace);
  if (reason === undefined) {
    const headers = [...withoutHeaders(send.headers, bodyHeaders), 'content-type', read.mediaType];
    return pass(read.body, headers);
  }
  const status = { allowed: false, denied: true, reason };
  const kind = 'SelfSubjectAccessReview';
  const { spec } = read;
  sendObject(review, 201, { kind, apiVersion: 'authorization.k8s.io/v1', metadata: {}, spec, status });
}

const bodyHeaders: ReadonlySet<string> = new Set(['content-type', 'content-length', 'content-encoding']);

const withoutHeaders = (headers: readonly string[], names: ReadonlySet<string>): readonly string[] =>
  headers.filter((_, index) => !names.has(headers[index - (index % 2)] ?? ''));

async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > maxBytes) return undefined;
      chunks.push(chunk);
    }
  } catch {
    return undefined;
  }
  return Buffer.concat(chunks);
}

interface ReadReview {
  readonly spec: JsonObject;
  /** For the target: it must not find another question in it than the one that was judged. */
  readonly body: Buffer;
  readonly mediaType: string;
}

const mediaTypes = {
  json: 'application/json',
  yaml: 'application/yaml',
  protobuf: 'application/vnd.kubernetes.protobuf',
} as const;

/** A text goes on as we understood it: two readers can differ about keys that stand twice, and about much in YAML. */
function readReview({ headers }: IncomingMessage, body: Buffer): ReadReview | ErrorAnswer {
  const [type = ''] = (headers['content-type'] ?? '').split(';');
  try {
    switch (type.trim().toLowerCase()) {
      case mediaTypes.protobuf: {
        const spec = decodeAccessReview(body);
        return spec === undefined ? unreadable : { spec, body, mediaType: mediaTypes.protobuf };
      }
      case mediaTypes.yaml:
        return asJSON(parse(body.toString('utf8'), yamlOptions));
      case mediaTypes.json:
      case '':
        return asJSON(JSON.parse(body.toString('utf8')));
      default:
        return unknownType;
    }
  } catch {
    return unreadable;
  }
}

/** As the API server reads and writes it. A review has no use for aliases, which can grow without bounds. */
const yamlOptions = { version: '1.1', maxAliasCount: 0, logLevel: 'error' } as const;

/** YAML holds values that become texts only here. */
function asJSON(review: unknown): ReadReview {
  const text = JSON.stringify(review);
  const spec = asObject(asObject(JSON.parse(text))['spec']);
  return { spec, body: Buffer.from(text), mediaType: mediaTypes.json };
}

/** The rules are those of the user; the scope takes away from them. */
async function answerRules(review: Review, body: Buffer): Promise<void> {
  const { response, upstream, send } = review;
  const headers = withoutHeaders(send.headers, new Set(['accept']));
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; body: string }>();
  const action = { verb: 'POST', path: rulesReviews };
  const collector = new ResponseCollector({ action, maxBytes: 2 ** 22, resolve, reject });
  const request = { ...send, headers: ['accept', 'application/json', ...headers], body };
  const sent = upstream.dispatch(request, collector);
  response.once('close', () => sent.abort(new Error('the client is gone')));
  try {
    const answer = await promise;
    const object = asObject(JSON.parse(answer.body));
    if (answer.status === 201) return sendObject(review, 201, markIncomplete(object));
    const isAboutRequest = answer.status >= 400 && answer.status < 500 && answer.status !== 401;
    if (!isAboutRequest) return sendError(response, unavailable);
    sendObject(review, answer.status, object);
  } catch {
    if (!response.destroyed) sendError(response, unavailable);
  }
}

/** In JSON, unless the client asks for YAML and not for JSON. Clients of the API read what the header says it is. */
function sendObject({ request, response }: Review, status: number, body: object): void {
  const accepted = request.headers.accept ?? '';
  const isYAML = /\bapplication\/yaml\b/i.test(accepted) && !/\/(?:json|\*)/i.test(accepted);
  const text = isYAML ? stringify(body, { version: '1.1' }) : JSON.stringify(body);
  const type = isYAML ? mediaTypes.yaml : mediaTypes.json;
  const length = Buffer.byteLength(text);
  response.writeHead(status, { 'content-type': type, 'content-length': length }).end(text);
}

const unreadable = errorAnswer('ERR_REVIEW_UNREADABLE', {
  problem: 'its body is not what its Content-Type says',
});
const unknownType = errorAnswer('ERR_REVIEW_UNREADABLE', { problem: 'its Content-Type is not served' });
const tooLarge = errorAnswer('ERR_REQUEST_MALFORMED', { problem: 'the review is too large, or cut off' });
const unavailable = errorAnswer('ERR_UPSTREAM_UNAVAILABLE', {}, { headers: ['retry-after', '1'] });
