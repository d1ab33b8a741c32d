import type { IncomingMessage } from 'node:http';
import { asObject, type JsonObject, parseJSON } from '../../api/json.ts';
import { version } from '../../api/names.ts';
import type { RawResponse } from '../../kube/client/response-collector.ts';
import { badAnswer } from '../../kube/kube-error.ts';
import { keyOf } from '../../kube/object.ts';
import { readProject } from '../../scope/gate/project-reads.ts';
import type { RequestMeaning } from '../../scope/requests/resolve-request.ts';
import { decodeAccessReview } from '../../scope/reviews/protobuf-review.ts';
import { reviewToRequest } from '../../scope/reviews/review-request.ts';
import { isTargetRead } from '../gate/answered-reads.ts';
import { maxCredentialBytes } from '../gate/authenticate.ts';
import { explainDenial } from '../gate/authorise.ts';
import { readBearer } from '../gate/bearer.ts';
import { isOwnRequest } from '../gate/own-objects.ts';
import { forward } from '../proxy/forward.ts';
import { withoutHeaders } from '../proxy/request-headers.ts';
import { type ErrorAnswer, errorAnswer } from '../server/error-answer.ts';
import { mayReadProject } from './projects/project-rights.ts';
import { targetResources, UsableTargets } from './projects/usable-targets.ts';
import { ask } from './shared/ask.ts';
import type { Endpoint, EndpointRequest, EndpointServices } from './shared/endpoint.ts';
import { answerFailure, sendObject } from './shared/reply.ts';
import {
  type BodyLimit,
  mediaTypeOf,
  readBody,
  readJSON,
  tooManyBytes,
  type YAMLSource,
} from './shared/request-body.ts';

const accessReviews = 'selfsubjectaccessreviews';
const rulesReviews = 'selfsubjectrulesreviews';

/** A review is a few names. */
const limit: BodyLimit = {
  maxBytes: 65_536,
  tooLarge: errorAnswer('ERR_REQUEST_MALFORMED', { problem: 'the review is too large, or cut off' }),
};

type ReviewServices = Pick<EndpointServices, 'yaml' | 'permissions' | 'settings' | 'targetRecords'>;

/**
 * When somebody asks what they may do: the API server knows their rights and nothing of scopes. Answers `no` where the scope
 * says no, and lets the target answer everything else.
 */
export function answerReview({ yaml, ...services }: ReviewServices): Endpoint {
  return async (review) => {
    const { response, asked, sender, send, refuse, turn } = review;
    const body = await readBody(review, limit);
    if (response.destroyed) return;
    if ('status' in body) return refuse(body);
    const source = { yaml, user: sender.verdict.identity.user, turn };
    if (asked.resource === accessReviews) return await answerAccess(review, body, { ...source, ...services });
    if (sender.verdict.gates.length === 0) return pass(review, body, send.headers);
    await answerRules(review, body);
  };
}

const pass = (review: EndpointRequest, body: Buffer, headers: readonly string[]): void =>
  forward({ ...review, send: { ...review.send, headers }, body });

async function answerAccess(
  review: EndpointRequest,
  body: Buffer,
  source: YAMLSource & Omit<ReviewServices, 'yaml'>,
): Promise<void> {
  const { request, response, asked, sender, place, send, refuse } = review;
  const read = await readReview(request, body, source);
  if (response.destroyed) return;
  if ('status' in read) return refuse(read);
  const question = reviewToRequest(read.spec, asked.target);
  // A review may leave the version out.
  if (question !== undefined && isOwnRequest({ ...question, apiVersion: version }, sender.verdict))
    return sendVerdict(review, read.spec, { allowed: true, reason: ownObjects });
  // Everyone may send one: it shows the targets that they may use.
  if (question !== undefined && (await seesTarget(review, question, source)))
    return sendVerdict(review, read.spec, { allowed: true, reason: usableTargets });
  const reason = question && explainDenial(sender.verdict, question, place);
  const project = question === undefined ? undefined : projectIn(question);
  if (reason === undefined && project !== undefined)
    return await answerAboutProject(review, read.spec, { project, ...source });
  if (reason === undefined) {
    const headers = [
      ...withoutHeaders(send.headers, (name) => bodyHeaders.has(name)),
      'content-type',
      read.mediaType,
    ];
    return pass(review, read.body, headers);
  }
  sendVerdict(review, read.spec, { allowed: false, denied: true, reason });
}

/** Whether the gateway shows it by itself. Where it cannot be asked, the API server answers what it knows. */
async function seesTarget(
  review: EndpointRequest,
  question: RequestMeaning,
  services: Omit<ReviewServices, 'yaml'>,
): Promise<boolean> {
  const resource = targetResources.get(question.resource);
  if (resource === undefined || !isTargetRead({ ...question, apiVersion: version })) return false;
  if (question.verb !== 'get') return true;
  const usable = new UsableTargets(review, services, resource);
  return await usable.includes(keyOf(question)).catch(() => false);
}

/** Undefined where a review is about something else, or about another target. */
const projectIn = (question: RequestMeaning): string | undefined =>
  question.target.kind === 'management' ? readProject(question) : undefined;

/** The API server knows no projects. */
async function answerAboutProject(
  review: EndpointRequest,
  spec: JsonObject,
  { project, ...services }: Omit<ReviewServices, 'yaml'> & { readonly project: string },
): Promise<void> {
  try {
    const { identity } = review.sender.verdict;
    sendVerdict(review, spec, { allowed: await mayReadProject(identity, project, services) });
  } catch (error) {
    answerFailure(review, error as Error);
  }
}

const ownObjects = 'the gateway serves your own objects';
const usableTargets = 'the gateway shows the targets that you may use';

function sendVerdict(review: EndpointRequest, spec: JsonObject, status: object): void {
  const kind = 'SelfSubjectAccessReview';
  sendObject(review, 201, { kind, apiVersion: 'authorization.k8s.io/v1', metadata: {}, spec, status });
}

const bodyHeaders: ReadonlySet<string> = new Set(['content-type', 'content-length', 'content-encoding']);

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
async function readReview(
  { headers }: IncomingMessage,
  body: Buffer,
  source: YAMLSource,
): Promise<ReadReview | ErrorAnswer> {
  switch (mediaTypeOf(headers['content-type'])) {
    case mediaTypes.protobuf: {
      const spec = decodeAccessReview(body);
      return spec === undefined ? unreadable : { spec, body, mediaType: mediaTypes.protobuf };
    }
    case mediaTypes.yaml:
      return await readYAMLReview(body.toString('utf8'), source);
    case mediaTypes.json:
    case '':
      return asJSON(body.toString('utf8'));
    default:
      return unknownType;
  }
}

async function readYAMLReview(text: string, { yaml, user }: YAMLSource): Promise<ReadReview | ErrorAnswer> {
  const reading = await yaml.read(user, text);
  if (reading === undefined) return tooManyBytes;
  return 'problem' in reading ? unreadable : asJSON(reading.json);
}

function asJSON(text: string): ReadReview | ErrorAnswer {
  const read = readJSON(text);
  if ('problem' in read) return unreadable;
  const body = Buffer.from(JSON.stringify(read.value));
  return { spec: asObject(asObject(read.value)['spec']), body, mediaType: mediaTypes.json };
}

/** One user may have hundreds of such requests under way, and each answer is kept in memory until it is whole. */
const maxRulesBytes = 2 ** 19;
const rulesAction = { verb: 'POST', path: rulesReviews };
/** The target answers to us, in plain JSON. */
const answerHeaders: ReadonlySet<string> = new Set(['accept', 'accept-encoding']);

/** The rules are those of the user; the scope takes away from them. */
async function answerRules(review: EndpointRequest, body: Buffer): Promise<void> {
  try {
    const answer = await askForRules(review, body);
    sendObject(review, answer.status, readRules(answer));
  } catch (error) {
    answerFailure(review, error as Error);
  }
}

async function askForRules(review: EndpointRequest, body: Buffer): Promise<RawResponse> {
  const { method, path, headers: sent } = review.send;
  const headers = ['accept', 'application/json', ...withoutHeaders(sent, (name) => answerHeaders.has(name))];
  return await ask(review, { method, path, headers, body, maxBytes: maxRulesBytes });
}

/** Reads the target's answer, where that is about the request. */
function readRules({ status, body }: RawResponse): JsonObject {
  if (status >= 500 && status < 600) throw new Error(`the target answered with ${status}`);
  if (status !== 201 && (status < 400 || status > 499)) throw badAnswer(rulesAction, `status ${status}`);
  const object = parseObject(body);
  return status === 201 ? markIncomplete(object) : object;
}

/** They are the rights of the user: they know nothing of scopes. */
export function markIncomplete(review: JsonObject): JsonObject {
  const status = asObject(review['status']);
  const evaluationError = 'the scope of the credential allows less than these rules';
  return { ...review, status: { ...status, incomplete: true, evaluationError } };
}

function parseObject(text: string): JsonObject {
  try {
    return asObject(JSON.parse(text));
  } catch {
    throw badAnswer(rulesAction, 'it is not JSON');
  }
}

const unreadable = errorAnswer('ERR_REVIEW_UNREADABLE', {
  problem: 'its body is not what its Content-Type says',
});
const unknownType = errorAnswer('ERR_REVIEW_UNREADABLE', { problem: 'its Content-Type is not served' });

/**
 * A client library may ask the API server whose its credential is. One of ours is for this gateway alone, so it goes no further: the
 * target judges another text in its place, and says that it does not know it. Who may ask at all is up to the target.
 */
export const tokenReviews =
  ({ settings }: Pick<EndpointServices, 'settings'>): Endpoint =>
  async (review) => {
    const { request, response, refuse } = review;
    if ((request.headers['content-encoding'] ?? 'identity') !== 'identity') return refuse(encoded);
    const body = await readBody(review, limit);
    if (response.destroyed) return;
    if ('status' in body) return refuse(body);
    const read = readBearer(request.rawHeaders, {
      maxBytes: maxCredentialBytes,
      isWebSocket: false,
    });
    const bearer = 'bearer' in read ? read.bearer : '';
    forward({ ...review, body: withoutCredentials(body, { bearer, issuer: settings.baseURL }) });
  };

interface OwnCredentials {
  /** The one that the request came with, which may have any form. */
  readonly bearer: string;
  /** Of our tokens. */
  readonly issuer: string;
}

/** With as many letters in place of each credential of ours: so it stays what it was in JSON, YAML and protobuf. */
export function withoutCredentials(body: Buffer, { bearer, issuer }: OwnCredentials): Buffer {
  const text = body.toString('latin1');
  const blank = (found: string): string => 'x'.repeat(found.length);
  const cleaned = (bearer === '' ? text : text.replaceAll(bearer, blank))
    .replace(/lk_[0-9A-Za-z]+/g, blank)
    .replace(/eyJ[\w-]+\.[\w-]+\.[\w-]+/g, (token) => (issuerOf(token) === issuer ? blank(token) : token));
  return Buffer.from(cleaned, 'latin1');
}

/** Undefined for a text that is no JWT. */
function issuerOf(token: string): unknown {
  const [, payload = ''] = token.split('.');
  return asObject(parseJSON(Buffer.from(payload, 'base64url').toString('utf8')))['iss'];
}

const encoded = errorAnswer('ERR_BODY_TYPE', {});
