import { asObject, asText, type JsonObject } from '../../api/json.ts';
import { groups } from '../../api/names.ts';
import { warnOfKeptFinalizer, withChangeWarnings } from './change-warnings.ts';
import { refuseBeyondLimits } from './credential-limits.ts';
import { warnOfLostScope } from './lost-scope.ts';
import {
  askAsHolder,
  askerOf,
  findOwn,
  notFound,
  type OwnRequest,
  pathOf,
  writeQuery,
} from './own-request.ts';
import { requirePlatformFields } from './platform-fields.ts';
import { readWhole, unlessReplaced } from './read-own.ts';
import { refuse } from './refusal.ts';
import { type Reply, toReply } from './reply.ts';
import { readObject } from './request-body.ts';
import { withKeptFields, withStoredRecord } from './requester-record.ts';
import { refuseNewSecret } from './secret-reference.ts';
import { fitToPath, withHashedKey } from './sent-object.ts';
import { refuseBySitePolicy } from './site-policy.ts';
import { secretsIn, withStoredSecrets } from './stored-secrets.ts';

/** PUT: what the client sends is what is stored, but for credentials that it left as they read. */
export async function replaceOwn(request: OwnRequest): Promise<Reply> {
  const record = findOwn(request);
  if (record === undefined) throw notFound(request);
  const sent = await readObject(request);
  if (sent === undefined) return refuse('ERR_BODY_UNREADABLE', { problem: 'it is empty' });
  const changed = fitToPath(request, sent);
  const stored = await readWhole(request, record);
  if (stored === undefined) throw notFound(request);
  return await unlessReplaced(request, record, await putOwn(request, changed, stored));
}

/** Sends a changed object, for the very one that it was made from: another one of its name must not be changed in its place. */
export async function putOwn(request: OwnRequest, changed: JsonObject, stored: JsonObject): Promise<Reply> {
  refuseNewSecret(request.sender.verdict, changed, stored);
  const { object, plain } = withHashedKey(changed);
  const { kind } = request;
  const { metadata, ...whole } = withKeptFields(withStoredSecrets(object, stored), { kind, stored });
  const uid = asText(asObject(metadata)['uid']) ?? asObject(stored['metadata'])['uid'];
  const result = { ...whole, metadata: { ...asObject(metadata), uid } };
  const change = { kind, stored, result };
  refuseBeyondLimits(request.sender.verdict, change);
  await requirePlatformFields(request, result, stored);
  refuseBySitePolicy(request.services.sitePolicy(), { kind, object: result, stored });
  const body = withStoredRecord(result, change, askerOf(request, groups.selfService));
  const { namespace, name } = request.asked;
  const path = pathOf(kind, { namespace, name }) + writeQuery(request);
  request.finish();
  const answer = await askAsHolder(request, { method: 'PUT', path, body });
  const reply = toReply(answer, [...secretsIn(stored), ...(plain === undefined ? [] : [plain])]);
  const told = warnOfKeptFinalizer(warnOfLostScope(reply, stored), { kind, changed, stored });
  return withChangeWarnings(request, told, { object: body, stored });
}
