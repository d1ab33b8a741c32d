import { asObject, defined, isSet, type JsonObject } from '../../api/json.ts';
import { apiVersion, version } from '../../api/names.ts';
import { checkAccessKey } from '../../credentials/keys/access-key.ts';
import { credentialHash } from '../../credentials/keys/credential-hash.ts';
import type { RequestMeaning } from '../../scope/requests/resolve-request.ts';
import { explainRefusal } from '../gate/authenticate.ts';
import type { Verdict } from '../index/verdict.ts';
import { forward } from '../proxy/forward.ts';
import { type ErrorAnswer, errorAnswer } from '../server/error-answer.ts';
import type { Endpoint, EndpointServices } from './endpoint.ts';
import { sendObject } from './object-answer.ts';
import { readSentObject, warningHeaders } from './object-form.ts';
import { selfStatus } from './self-status.ts';

const kind = 'Self';

/** Says who a request comes from. `spec.accessKey` asks the same about another access key, which the client holds too. */
export function selves(services: EndpointServices): Endpoint {
  const { index, misses, settings } = services;
  return async (request) => {
    const { asked, response, sender, refuse } = request;
    // The API server knows no such version, and says so.
    if (asked.apiVersion !== version) return forward(request);
    if (!isCreate(asked)) return refuse(onlyCreate);
    const sent = await readSentObject(request, { kind, specFields: ['accessKey'] }, services);
    if (response.destroyed) return;
    if ('refusal' in sent) return refuse(sent.refusal);
    const { accessKey } = asObject(sent.object['spec']);
    const address = request.request.socket.remoteAddress;
    const verdict = isSet(accessKey)
      ? judgeKey(String(accessKey), { index, misses }, address)
      : aboutSender(sender.verdict, accessKey);
    if ('code' in verdict) return refuse(verdict);
    const status = selfStatus(verdict, settings.projectNamespacePrefix);
    sendObject(request, 201, toSelf(sent.object, status), warningHeaders(sent.warnings));
  };
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
  address = 'unknown',
): Verdict | ErrorAnswer {
  const found = index.find(credentialHash(accessKey));
  if (found !== undefined && 'record' in found && found.record.kind === 'OwnedAccessKey') return found;
  if (misses.isTooMany(address)) return tooManyMisses;
  const isWhole = checkAccessKey(accessKey) === 'whole';
  const reason = isWhole && found !== undefined && 'reason' in found ? found.reason : undefined;
  const problem = reason === undefined ? 'no such access key is known' : explainRefusal(reason);
  return errorAnswer('ERR_SELF_ACCESS_KEY', { problem });
}

const emptyKey = errorAnswer('ERR_OBJECT_MISMATCH', {
  problem: 'spec.accessKey is empty; a variable may not be set. Without this field the Self is about you',
});
const onlyCreate = errorAnswer('ERR_SELF_METHOD', {}, { headers: ['allow', 'POST'] });
const tooManyMisses = errorAnswer('ERR_TOO_MANY_UNAUTHENTICATED', {}, { headers: ['retry-after', '10'] });
