import { randomBytes } from 'node:crypto';
import { asObject, type JsonObject } from '../../api/json.ts';
import { groups } from '../../api/names.ts';
import type { LiveRecord } from '../../credentials/record.ts';
import { keyOf, uidOf } from '../../kube/object.ts';
import { issued } from './create-own.ts';
import { requireInstanceUse } from './instance-use.ts';
import {
  askAsHolder,
  findOwn,
  isDryRun,
  notFound,
  type OwnRequest,
  pathOf,
  writeQuery,
} from './own-request.ts';
import type { QuotaPlace } from './quota.ts';
import { isAboutObject, presentUID, readWhole, unlessReplaced } from './read-own.ts';
import { refuse } from './refusal.ts';
import { type Reply, toReply } from './reply.ts';
import { parseObject, readWholeBody, yamlSourceOf } from './request-body.ts';
import { refuseNewSecret } from './secret-reference.ts';
import { fitToPath, type SentKey, withHashedKey, withinScope, withNewKey } from './sent-object.ts';
import { secretsIn, withStoredSecrets } from './stored-secrets.ts';

/** Server-side apply: makes the object, or sets the fields that the manifest names. */
export async function applyOwn(request: OwnRequest): Promise<Reply> {
  const sent = fitToPath(request, await readManifest(request));
  const record = findOwn(request);
  if (record !== undefined) return await applyToStored(request, sent, record);
  const { services, kind, asked } = request;
  // The name is taken. The API server would say the same, of an object that only its owner may know of.
  if (services.index.records.ofKind[kind].get(keyOf(asked)) !== undefined) throw notFound(request);
  return await applyNew(request, sent);
}

const readManifest = async (request: OwnRequest): Promise<JsonObject> =>
  await parseObject(await readWholeBody(request), 'yaml', yamlSourceOf(request));

async function applyNew(request: OwnRequest, sent: JsonObject): Promise<Reply> {
  const { kind, services, sender } = request;
  const { verdict } = sender;
  const { user } = verdict.identity;
  const object = withinScope(sent, verdict);
  refuseNewSecret(verdict, object);
  await requireInstanceUse(request, object);
  // The index may be behind: a new key would end the one that was made a moment ago through another replica.
  if (await isTaken(request)) return refuse('ERR_OBJECT_CONFLICT', {});
  const made = kind === 'OwnedAccessKey' ? withNewKey(object, randomBytes) : { object };
  return await services.quota.during(kind, user, async (place) => await make(request, made, place));
}

async function make(request: OwnRequest, made: SentKey, place: QuotaPlace): Promise<Reply> {
  const reply = await sendApply(request, made);
  place.uid = uidOf(reply.body);
  // Someone was faster, and the refusal is about an object that may be somebody else's.
  if (isAboutObject(reply) && (await isTaken(request))) return refuse('ERR_OBJECT_CONFLICT', {});
  // 200: someone was faster, and the object has this key now.
  const isMade = reply.status === 201 || (reply.status === 200 && made.plain !== undefined);
  return isMade && !isDryRun(request) ? await issued(request, reply, made.plain) : reply;
}

const isTaken = async (request: OwnRequest): Promise<boolean> =>
  (await presentUID(request, request.asked)) !== undefined;

async function applyToStored(request: OwnRequest, sent: JsonObject, record: LiveRecord): Promise<Reply> {
  const stored = await readWhole(request, record);
  if (stored === undefined) throw notFound(request);
  const { verdict } = request.sender;
  refuseNewSecret(verdict, sent, stored);
  const object = record.accessKey === verdict.record.name ? withinScope(sent, verdict) : sent;
  const { object: hashed, plain } = withHashedKey(object);
  const applied = isKeyNamed(hashed) || ownsKey(stored, request) ? withStoredSecrets(hashed, stored) : hashed;
  // Another object of this name must not be changed in its place.
  const metadata = { ...asObject(applied['metadata']), uid: record.uid };
  const known = [...secretsIn(stored), ...(plain === undefined ? [] : [plain])];
  const reply = await sendApply(request, { object: { ...applied, metadata }, known });
  return await unlessReplaced(request, record, reply);
}

const isKeyNamed = (object: JsonObject): boolean => Boolean(asObject(object['spec'])['key']);

/** Who applied the key before would drop it by leaving it out. */
function ownsKey(stored: JsonObject, { query }: OwnRequest): boolean {
  const managers = asObject(stored['metadata'])['managedFields'];
  return (Array.isArray(managers) ? managers : []).map(asObject).some(({ manager, operation, fieldsV1 }) => {
    const isIts = manager === query.get('fieldManager') && operation === 'Apply';
    return isIts && asObject(asObject(fieldsV1)['f:spec'])['f:key'] !== undefined;
  });
}

async function sendApply(
  request: OwnRequest,
  {
    object,
    plain,
    known = plain === undefined ? [] : [plain],
  }: SentKey & { readonly known?: readonly string[] },
): Promise<Reply> {
  const { namespace, name } = request.asked;
  const path = pathOf(request.kind, { namespace, name }) + writeQuery(request);
  const contentType = 'application/apply-patch+yaml';
  request.finish();
  const group = groups.selfServiceApply;
  const answer = await askAsHolder(request, { method: 'PATCH', path, body: object, contentType, group });
  return toReply(answer, known);
}
