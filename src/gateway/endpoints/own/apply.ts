import { randomBytes } from 'node:crypto';
import { asObject, asText, type JsonObject } from '../../../api/json.ts';
import { groups } from '../../../api/names.ts';
import type { LiveRecord } from '../../../credentials/record.ts';
import { keyOf, uidOf } from '../../../kube/object.ts';
import { actionOf } from '../../audit/trail.ts';
import type { QuotaPermit } from '../shared/quota.ts';
import { type Reply, refuse, toReply } from '../shared/reply.ts';
import { parseObject, readWholeBody, yamlSourceOf } from '../shared/request-body.ts';
import {
  refuseBeyondLimits,
  refuseBySitePolicy,
  refuseLarge,
  refuseNewSecret,
  requireInstanceUse,
  requirePlatformFields,
} from './checks.ts';
import { issued } from './create.ts';
import { readForChange, refuseGuessedVersion } from './read-for-change.ts';
import {
  askAsHolder,
  findOwn,
  isAboutObject,
  isDryRun,
  notFound,
  type OwnRequest,
  pathOf,
  presentUID,
  unlessReplaced,
  writeQuery,
} from './request.ts';
import { secretsIn, withStoredSecrets } from './secrets.ts';
import {
  askerOf,
  belowMaker,
  fitToPath,
  type SentKey,
  withFixedFields,
  withHashedKey,
  withNewKey,
  withNewRecord,
  withStoredRecord,
} from './sent-object.ts';
import { warnOfLostScope, withChangeWarnings } from './warnings.ts';

/** Server-side apply: makes the object, or sets the fields that the manifest names. */
export async function applyOwn(request: OwnRequest): Promise<Reply> {
  const sent = fitToPath(request, await readManifest(request));
  const record = findOwn(request);
  if (record !== undefined) return await applyToStored(request, sent, record);
  const { services, kind, asked } = request;
  // The name is taken. The API server would say the same, of an object that only its owner may know of.
  if (services.index.records.ofKind[kind].get(keyOf(asked)) !== undefined) throw notFound(request);
  request.trail?.acts('create');
  return await applyNew(request, sent);
}

const readManifest = async (request: OwnRequest): Promise<JsonObject> =>
  await parseObject(await readWholeBody(request), 'yaml', yamlSourceOf(request));

async function applyNew(request: OwnRequest, sent: JsonObject): Promise<Reply> {
  const { kind, services, sender } = request;
  const { verdict } = sender;
  const { user } = verdict.identity;
  const object = belowMaker(sent, verdict);
  refuseLarge(object);
  refuseNewSecret(verdict, object);
  await requireInstanceUse(request, object);
  await requirePlatformFields(request, object);
  // The index may be behind: a new key would end the one that was made a moment ago through another replica.
  if (await isTaken(request)) return refuse('ERR_OBJECT_CONFLICT', {});
  const made = kind === 'OwnedAccessKey' ? withNewKey(object, randomBytes) : { object };
  const permit = services.quota.acquire(kind, user);
  try {
    return await make(request, made, permit);
  } finally {
    permit.release();
  }
}

async function make(request: OwnRequest, made: SentKey, permit: QuotaPermit): Promise<Reply> {
  const { kind, services } = request;
  const object = withNewRecord(made.object, kind, askerOf(request, groups.selfServiceApply));
  refuseBySitePolicy(services.sitePolicy(), { kind, object });
  await request.turn();
  const known = made.plain === undefined ? [] : [made.plain];
  const answered = await askToApply(request, { object, known });
  const reply = withChangeWarnings(request, answered, { object });
  permit.made(uidOf(reply.body));
  // Someone was faster, and the refusal is about an object that may be somebody else's.
  if (isAboutObject(reply) && (await isTaken(request))) return refuse('ERR_OBJECT_CONFLICT', {});
  // 200: someone was faster, and the object has this key now.
  const isMade = reply.status === 201 || (reply.status === 200 && made.plain !== undefined);
  return isMade && !isDryRun(request) ? await issued(request, reply, made.plain) : reply;
}

const isTaken = async (request: OwnRequest): Promise<boolean> =>
  (await presentUID(request, request.asked)) !== undefined;

/** Others may write at the same time. */
const maxTries = 5;

async function applyToStored(request: OwnRequest, sent: JsonObject, record: LiveRecord): Promise<Reply> {
  const before = request.held.size;
  for (let tries = 1; ; tries++) {
    request.held.giveBack(request.held.size - before);
    const stored = await readForChange(request, record);
    const applied = withWhatIsStored(request, sent, stored);
    const { reply, isOvertaken } = await sendRecorded(request, applied, stored);
    if (!isOvertaken || tries === maxTries) return await unlessReplaced(request, record, reply);
  }
}

interface AppliedManifest {
  readonly object: JsonObject;
  /** Plain credentials that an answer could quote. */
  readonly known: readonly string[];
  readonly mayEndCredential?: boolean;
}

function withWhatIsStored(request: OwnRequest, sent: JsonObject, stored: JsonObject): AppliedManifest {
  const { verdict } = request.sender;
  refuseLarge(sent, stored);
  refuseGuessedVersion(sent, stored);
  refuseNewSecret(verdict, sent, stored);
  const isChild = asObject(stored['spec'])['accessKey'] === verdict.record.name;
  const { object: hashed, plain } = withHashedKey(isChild ? belowMaker(sent, verdict) : sent);
  const object = isKeyNamed(hashed) || ownsKey(stored, request) ? withStoredSecrets(hashed, stored) : hashed;
  // Another object of this name must not be changed in its place.
  const { uid } = asObject(stored['metadata']);
  const metadata = { ...asObject(object['metadata']), uid };
  const known = [...secretsIn(stored), ...(plain === undefined ? [] : [plain])];
  return { object: withFixedFields({ ...object, metadata }, stored), known };
}

/**
 * Only the API server knows what an apply leads to, so it says that first. The record of who asks belongs to no field manager: it takes
 * over what another one holds of it. Nothing else can be in conflict, because the object is still the one that was asked about.
 */
async function sendRecorded(request: OwnRequest, { object, known }: AppliedManifest, stored: JsonObject) {
  const { kind, services } = request;
  const { verdict } = request.sender;
  refuseBeyondLimits(verdict, { kind, stored, result: stored });
  const asker = askerOf(request, groups.selfServiceApply);
  const unrecorded = withStoredRecord(object, { kind, stored, result: stored }, asker);
  const tried = await askToApply(request, { object: unrecorded, known }, { dryRun: 'All' });
  if (tried.status !== 200) return { reply: tried, isOvertaken: false };
  const change = { kind, stored, result: tried.body };
  request.trail?.acts(actionOf(stored, tried.body));
  refuseBeyondLimits(verdict, change);
  await requirePlatformFields(request, tried.body, stored);
  refuseBySitePolicy(services.sitePolicy(), { kind, object: tried.body, stored });
  const { metadata, ...recorded } = withStoredRecord(object, change, asker);
  const { resourceVersion } = asObject(stored['metadata']);
  const named = asObject(metadata)['resourceVersion'];
  const body = {
    ...recorded,
    metadata: { ...asObject(metadata), resourceVersion: named ?? resourceVersion },
  };
  await request.turn();
  const answered = await askToApply(
    request,
    { object: body, known, mayEndCredential: true },
    { force: 'true' },
  );
  const told = warnOfLostScope(answered, stored);
  const reply = withChangeWarnings(request, told, { object: answered.body, stored });
  return { reply, isOvertaken: reply.status === 409 && named === undefined };
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

async function askToApply(
  request: OwnRequest,
  { object, known, mayEndCredential = false }: AppliedManifest,
  options: Readonly<Record<string, string>> = {},
): Promise<Reply> {
  const { namespace, name } = request.asked;
  const query = new URLSearchParams(writeQuery(request));
  for (const [option, value] of Object.entries(options)) query.set(option, value);
  const path = `${pathOf(request.kind, { namespace, name })}?${query}`;
  const contentType = 'application/apply-patch+yaml';
  const group = groups.selfServiceApply;
  const question = { method: 'PATCH', path, body: object, contentType, group, mayEndCredential };
  const answer = await askAsHolder(request, question);
  const reply = toReply(answer, known);
  return isWrongManifest(reply) ? { ...reply, status: 400, body: { ...reply.body, ...badRequest } } : reply;
}

/** Fields and types that the schema does not know are an error of the API server's own to it, which clients would repeat. */
const isWrongManifest = ({ status, body }: Reply): boolean =>
  status === 500 && asText(body['message'])?.startsWith('failed to create typed patch object') === true;

const badRequest = { code: 400, reason: 'BadRequest' };
