import type { IncomingMessage, ServerResponse } from 'node:http';
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
import { errorAnswer, sendError } from '../server/error-answer.ts';

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
  /** Passes the request on with this body. */
  readonly pass: (body: Buffer) => void;
}

/** A review is a few names. */
const maxBytes = 65_536;

/** Answers `no` where the scope says no, and lets the target answer everything else. */
export async function answerReview(review: Review): Promise<void> {
  const { request, response, asked, verdict, spaceNamespace, pass } = review;
  if (expectsContinue(request)) response.writeContinue();
  const body = await readBody(request);
  if (response.destroyed) return;
  if (body === undefined) return sendError(response, tooLarge);
  if (asked.resource === rulesReviews && verdict.gates.length > 0) return await answerRules(review, body);
  const spec = asked.resource === accessReviews ? readSpec(request, body) : undefined;
  const question = reviewToRequest(spec, asked.target);
  const reason = question && explainDenial(verdict, question, spaceNamespace);
  if (reason === undefined) return pass(body);
  const status = { allowed: false, denied: true, reason };
  const kind = 'SelfSubjectAccessReview';
  sendJSON(response, 201, { kind, apiVersion: 'authorization.k8s.io/v1', metadata: {}, spec, status });
}

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

/** Undefined for what is no review: the target says what is wrong with it. */
function readSpec({ headers }: IncomingMessage, body: Buffer): JsonObject | undefined {
  const [type = ''] = (headers['content-type'] ?? '').split(';');
  if (type.trim() === 'application/vnd.kubernetes.protobuf') return decodeAccessReview(body);
  try {
    return asObject(asObject(JSON.parse(body.toString('utf8')))['spec']);
  } catch {
    return undefined;
  }
}

/** The rules are those of the user; the scope takes away from them. */
async function answerRules({ response, upstream, send }: Review, body: Buffer): Promise<void> {
  const headers = send.headers.filter((_, index) => send.headers[index - (index % 2)] !== 'accept');
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; body: string }>();
  const action = { verb: 'POST', path: rulesReviews };
  const collector = new ResponseCollector({ action, maxBytes: 2 ** 22, resolve, reject });
  response.once('close', () => collector.abort(new Error('the client is gone')));
  upstream.dispatch({ ...send, headers: ['accept', 'application/json', ...headers], body }, collector);
  try {
    const answer = await promise;
    if (answer.status !== 201) return sendError(response, unavailable);
    sendJSON(response, 201, markIncomplete(asObject(JSON.parse(answer.body))));
  } catch {
    if (!response.destroyed) sendError(response, unavailable);
  }
}

function sendJSON(response: ServerResponse, status: number, body: object): void {
  const text = JSON.stringify(body);
  const length = Buffer.byteLength(text);
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': length }).end(text);
}

const tooLarge = errorAnswer('ERR_REQUEST_MALFORMED', { problem: 'the review is too large, or cut off' });
const unavailable = errorAnswer('ERR_UPSTREAM_UNAVAILABLE', {}, { headers: ['retry-after', '1'] });
