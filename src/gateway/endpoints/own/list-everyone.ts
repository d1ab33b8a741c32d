import { asObject, type JsonObject } from '../../../api/json.ts';
import { apiVersion, annotations as names } from '../../../api/names.ts';
import { credentialResources } from '../../../api/resources.ts';
import { collectionPath } from '../../../kube/resource-path.ts';
import { headersInPlace } from '../shared/ask.ts';
import { askWithin } from '../shared/ask-within.ts';
import { readLimit } from '../shared/list-options.ts';
import { type Reply, refuse, toReply } from '../shared/reply.ts';
import type { OwnRequest } from './request.ts';

/** The parameter of a list that asks for the credentials of all users. */
const parameter = 'everyone';

/** Whether a request asks for it. Throws a Refusal where it cannot: a delete of all must not leave it out and take one's own. */
export function asksForEveryone({ query, asked: { verb } }: Pick<OwnRequest, 'query' | 'asked'>): boolean {
  if (!query.has(parameter)) return false;
  if (verb !== 'list') refuse('ERR_QUERY', { problem: `${parameter} is for lists` });
  if (query.getAll(parameter).join() !== 'true')
    refuse('ERR_QUERY', { problem: `${parameter} must be true, or left out` });
  return true;
}

/** Of one page, unless the client wants fewer. */
const maxItems = 500;
/** The page reads all kinds at once, and what a user holds has room for that. */
const maxBytes = 3 * 2 ** 20;
const passed = ['continue', 'labelSelector', 'fieldSelector'];

/**
 * Credentials of all users, for who may list them at the API server of the platform. It judges each page, by the rights that the user
 * has then. No object holds more than an administrator has to know: no credential, no hash, no manifest.
 */
export async function listEveryone(request: OwnRequest): Promise<Reply> {
  const { kind, query, asked, sender, held } = request;
  // A scope says what a credential reaches. None of its lists has a word for this.
  if (sender.verdict.gates.length > 0)
    refuse('ERR_SCOPE', { problem: 'a credential with a scope lists its own credentials only' });
  const parameters = new URLSearchParams({ limit: String(Math.min(readLimit(query), maxItems)) });
  for (const name of passed) if (query.has(name)) parameters.set(name, query.get(name) ?? '');
  const path = `${collectionPath(credentialResources[kind], asked.namespace)}?${parameters}`;
  const question = { method: 'GET', path, headers: headersInPlace(request), maxBytes };
  const answer = (await askWithin(request, question, held)) ?? refuse('ERR_QUERY', { problem: tooLarge });
  const reply = toReply(answer);
  return reply.status === 200 ? { ...reply, body: summaryOf(reply.body, request) } : reply;
}

const tooLarge = 'the list is too large for one answer, so set a smaller limit';

function summaryOf({ metadata, items }: JsonObject, { kind }: OwnRequest): JsonObject {
  const { resourceVersion, continue: next, remainingItemCount } = asObject(metadata);
  const objects = Array.isArray(items) ? items : [];
  return {
    kind: `${kind}List`,
    apiVersion,
    metadata: { resourceVersion, continue: next, remainingItemCount },
    items: objects.map((item) => ({ kind, apiVersion, ...summary(asObject(item)) })),
  };
}

/** Names each field that leaves: one that is added to the schema stays here until somebody has thought about it. */
const shown = {
  metadata: ['name', 'namespace', 'uid', 'resourceVersion', 'creationTimestamp', 'deletionTimestamp'],
  annotations: [names.requester, names.createdWith],
  spec: [
    ...['displayName', 'description', 'user', 'team', 'subject', 'groups', 'type', 'disabled'],
    ...['ttl', 'certificateTTL', 'scope', 'accessKey', 'virtualClusterInstance', 'clientCert'],
  ],
  status: ['state', 'scope', 'subject', 'requester', 'expirationTimestamp', 'lastActivity', 'conditions'],
} as const;

function summary({ metadata, spec, status }: JsonObject): JsonObject {
  const annotations = pick(asObject(metadata)['annotations'], shown.annotations);
  return {
    metadata: { ...pick(metadata, shown.metadata), annotations },
    spec: pick(spec, shown.spec),
    status: pick(status, shown.status),
  };
}

function pick(value: unknown, fields: readonly string[]): JsonObject {
  const object = asObject(value);
  return Object.fromEntries(fields.filter((field) => field in object).map((field) => [field, object[field]]));
}
