import { formatInstant } from '../../api/instant.ts';
import { asObject, defined, isSet, type JsonObject } from '../../api/json.ts';
import { apiVersion, version } from '../../api/names.ts';
import type { Identity } from '../../credentials/identity.ts';
import { checkAccessKey } from '../../credentials/keys/access-key.ts';
import { credentialHash } from '../../credentials/keys/credential-hash.ts';
import type { LiveRecord } from '../../credentials/record.ts';
import { parseKey } from '../../kube/object.ts';
import type { RequestMeaning } from '../../scope/requests/resolve-request.ts';
import { explainRefusal } from '../gate/authenticate.ts';
import { type OwnedScope, ownedScopes, type Verdict } from '../index/verdict.ts';
import { forward } from '../proxy/forward.ts';
import { type ErrorAnswer, errorAnswer } from '../server/error-answer.ts';
import { targetResources, UsableTargets } from './projects/usable-targets.ts';
import type { Endpoint, EndpointRequest, EndpointServices } from './shared/endpoint.ts';
import { answerFailure, sendObject } from './shared/reply.ts';
import { readSentObject, warningHeaders } from './shared/request-body.ts';

const kind = 'Self';

/** Says who a request comes from. `spec.accessKey` asks the same about another access key, which the client holds too. */
export function selves(services: EndpointServices): Endpoint {
  return async (request) => {
    const { asked, response, refuse } = request;
    // The API server knows no such version, and says so.
    if (asked.apiVersion !== version) return forward(request);
    if (!isCreate(asked)) return refuse(onlyCreate);
    const sent = await readSentObject(request, { kind, specFields: ['accessKey', 'targets'] }, services);
    if (response.destroyed) return;
    if ('refusal' in sent) return refuse(sent.refusal);
    const verdict = judged(request, asObject(sent.object['spec']), services);
    if ('code' in verdict) return refuse(verdict);
    try {
      const status = await statusFor(request, sent.object, { services, verdict });
      sendObject(request, 201, toSelf(sent.object, status), warningHeaders(sent.warnings));
    } catch (error) {
      answerFailure(request, error as Error);
    }
  };
}

interface Asked {
  readonly services: EndpointServices;
  readonly verdict: Verdict;
}

/** With the targets, where they are asked for: each list of them takes some questions to the platform. */
async function statusFor(
  request: EndpointRequest,
  sent: JsonObject,
  { services, verdict }: Asked,
): Promise<JsonObject> {
  const status = selfStatus(verdict, services.settings.projectNamespacePrefix);
  if (asObject(sent['spec'])['targets'] !== true) return status;
  return { ...status, targets: await targetsOf(request, services, verdict) };
}

/** The credential that the question is about. */
function judged(
  { sender, request }: EndpointRequest,
  { accessKey, targets }: JsonObject,
  { index, misses, clientAddress }: EndpointServices,
): Verdict | ErrorAnswer {
  if (isSet(targets) && typeof targets !== 'boolean') return noFlag;
  if (!isSet(accessKey)) return aboutSender(sender.verdict, accessKey);
  return judgeKey(String(accessKey), { index, misses }, clientAddress(request));
}

/** The key in the spec that was sent is left out. */
function toSelf(sent: JsonObject, status: JsonObject): JsonObject {
  const { name, labels, annotations } = asObject(sent['metadata']);
  const metadata = defined({ name, labels, annotations, creationTimestamp: null });
  return { kind, apiVersion, metadata, spec: {}, status };
}

const isCreate = ({ verb, name, namespace }: RequestMeaning): boolean =>
  verb === 'create' && name === '' && namespace === '';

/** A variable that is not set would ask about the credential of the request, and its answer pass for one about another. */
const aboutSender = (verdict: Verdict, accessKey: unknown): Verdict | ErrorAnswer =>
  accessKey === '' ? emptyKey : verdict;

/** Misses are counted: who may ask about one key could try many. */
function judgeKey(
  accessKey: string,
  { index, misses }: Pick<EndpointServices, 'index' | 'misses'>,
  address: string,
): Verdict | ErrorAnswer {
  const found = index.find(credentialHash(accessKey));
  if (found !== undefined && 'record' in found && found.record.kind === 'OwnedAccessKey') return found;
  if (misses.isTooMany(address)) return tooManyMisses;
  const isWhole = checkAccessKey(accessKey) === 'whole';
  const reason = isWhole && found !== undefined && 'reason' in found ? found.reason : undefined;
  const problem = reason === undefined ? 'no such access key is known' : explainRefusal(reason);
  return errorAnswer('ERR_SELF_ACCESS_KEY', { problem });
}

/** The targets that the credential may be used in, as lists of them show it. */
async function targetsOf(
  request: EndpointRequest,
  services: EndpointServices,
  verdict: Verdict,
): Promise<readonly JsonObject[]> {
  const found: JsonObject[] = [];
  for (const resource of targetResources.values()) {
    const asVerdict = { ...request, sender: { ...request.sender, verdict } };
    const usable = new UsableTargets(asVerdict, services, resource);
    for (const key of await usable.find('')) {
      const { namespace = '', name } = parseKey(key);
      const project = services.targetRecords.findProject(namespace);
      found.push(defined({ kind: resource.kind, project, name }));
    }
  }
  return found;
}

const noFlag = errorAnswer('ERR_OBJECT_MISMATCH', { problem: 'spec.targets must be true or false' });
const emptyKey = errorAnswer('ERR_OBJECT_MISMATCH', {
  problem: 'spec.accessKey is empty; a variable may not be set. Without this field the Self is about you',
});
const onlyCreate = errorAnswer('ERR_SELF_METHOD', {}, { headers: ['allow', 'POST'] });
const tooManyMisses = errorAnswer('ERR_TOO_MANY_UNAUTHENTICATED', {}, { headers: ['retry-after', '10'] });

/** Describes a credential for a Self: who it speaks for, what it may do, and how long. No secret. */
export function selfStatus(
  { record, ancestors, identity, end }: Pick<Verdict, 'record' | 'ancestors' | 'identity' | 'end'>,
  projectNamespacePrefix: string,
): JsonObject {
  const { kind, name, namespace, uid } = record;
  const scopes = ownedScopes(record, ancestors, projectNamespacePrefix) ?? [];
  return defined({
    ...namesOf(identity),
    subject: identity.user,
    groups: [...identity.groups, 'system:authenticated'],
    ...(kind === 'OwnedAccessKey' ? accessKeyOf(record, scopes) : {}),
    credential: defined({ kind, namespace, name, uid }),
    scopes: scopes.map(([owner, scope]) => defined({ ...objectOf(owner), scope })),
    expirationTimestamp: Number.isFinite(end) ? formatInstant(end) : undefined,
    projectNamespacePrefix,
  });
}

/** A subject is neither a user nor a team. */
function namesOf({ kind, user }: Identity): JsonObject {
  switch (kind) {
    case 'team':
      return { team: { name: user.replace(/^team:/, '') } };
    case 'subject':
      return {};
    case 'user':
    case 'requester':
      return { user: { name: user, username: user, subject: user } };
  }
}

function accessKeyOf(record: LiveRecord, scopes: readonly OwnedScope[]): JsonObject {
  const own = scopes.find(([owner]) => owner === record);
  return defined({ accessKey: record.name, accessKeyType: record.type, accessKeyScope: own?.[1] });
}

const objectOf = ({ kind, namespace, name }: LiveRecord): JsonObject => defined({ kind, namespace, name });
