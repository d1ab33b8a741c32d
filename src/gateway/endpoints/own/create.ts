import { randomBytes } from 'node:crypto';
import type { Condition } from '../../../api/conditions.ts';
import { type CredentialKind, credentialKinds } from '../../../api/credential-kinds.ts';
import { asObject, asText, isSet, type JsonObject } from '../../../api/json.ts';
import { groups, labels } from '../../../api/names.ts';
import { uidOf } from '../../../kube/object.ts';
import { collectionPath } from '../../../kube/resource-path.ts';
import type { QuotaPermit } from '../shared/quota.ts';
import { type IssuedCredential, type Reply, refuse, toReply, withWarning } from '../shared/reply.ts';
import { readObject } from '../shared/request-body.ts';
import { untilIssued } from './await-issued.ts';
import {
  refuseBySitePolicy,
  refuseLarge,
  refuseNewSecret,
  requireInstanceUse,
  requirePlatformFields,
} from './checks.ts';
import { askAsHolder, isDryRun, type OwnRequest, resourceOf, writeQuery } from './request.ts';
import {
  askerOf,
  belowMaker,
  fitToPath,
  isLeftOut,
  type SentKey,
  withMakerGroups,
  withNewKey,
  withNewRecord,
} from './sent-object.ts';
import { withChangeWarnings } from './warnings.ts';

/** Makes a credential for the holder, and shows it this once. */
export async function createOwn(request: OwnRequest): Promise<Reply> {
  request.trail?.acts('create');
  const body = (await readObject(request)) ?? {};
  const sent = prepare(request, body);
  await requireInstanceUse(request, sent.object);
  await requirePlatformFields(request, sent.object);
  const { kind, services, sender } = request;
  const { user } = sender.verdict.identity;
  const permit = services.quota.acquire(kind, user);
  const endWork = services.removals.begin();
  try {
    return await create(request, { ...sent, isAnswerOnly: isKnownByAnswerOnly(kind, body) }, permit);
  } finally {
    endWork();
    permit.release();
  }
}

function prepare(request: OwnRequest, body: JsonObject): SentKey {
  const object = belowMaker(fitToPath(request, body), request.sender.verdict);
  refuseLarge(object);
  refuseNewSecret(request.sender.verdict, object);
  if (request.kind !== 'OwnedAccessKey') return { object };
  return withNewKey(withMakerGroups(object, request.sender.verdict), randomBytes);
}

/** Without the answer no one learns the name of the object, nor gets what it holds. */
function isKnownByAnswerOnly(kind: CredentialKind, { metadata, spec }: JsonObject): boolean {
  const { key, secretRef, exchange } = asObject(spec);
  if (!isLeftOut(asObject(metadata)['name']) || !isLeftOut(secretRef)) return false;
  return kind !== 'OwnedAccessKey' || (isLeftOut(key) && !isSet(exchange));
}

interface Sent extends SentKey {
  readonly isAnswerOnly: boolean;
}

async function create(request: OwnRequest, sent: Sent, permit: QuotaPermit): Promise<Reply> {
  const { kind, asked } = request;
  const { object, plain, isAnswerOnly } = sent;
  const path = collectionPath(resourceOf({ kind }), asked.namespace) + writeQuery(request);
  const body = withNewRecord(object, kind, askerOf(request, groups.selfService));
  refuseBySitePolicy(request.services.sitePolicy(), { kind, object: body });
  await request.turn();
  const answer = await askAsHolder(request, { method: 'POST', path, body });
  const answered = toReply(answer, plain === undefined ? [] : [plain]);
  const reply = withChangeWarnings(request, answered, { object });
  permit.made(uidOf(reply.body));
  if (reply.status !== 201 || isDryRun(request)) return reply;
  try {
    return await issued(request, reply, plain);
  } finally {
    if (isAnswerOnly && isEphemeral(reply.body) && request.response.destroyed)
      await remove(request, reply.body);
  }
}

/** Takes away what no one has got, and tries again where that fails. It would fill the quota, and could work later. */
async function remove(request: OwnRequest, object: JsonObject): Promise<void> {
  const { name, namespace = '', uid } = asObject(object['metadata']);
  await request.services.removals.remove({
    resource: resourceOf(request),
    identity: request.sender.verdict.identity,
    key: { namespace: String(namespace), name: String(name) },
    uid: String(uid),
  });
}

/** How long a client waits for the operator. */
const maxWaitMs = 10_000;

/** The answer to what made an object: with its credential, as soon as that works here. */
export async function issued(request: OwnRequest, reply: Reply, plain: string | undefined): Promise<Reply> {
  const { object, problem, refusal } = await untilIssued(request, reply.body, maxWaitMs);
  if (refusal !== undefined && isEphemeral(object)) return await refuseMade(request, object, refusal);
  const credential = credentialIn(request, object, plain);
  const whole = { ...reply, body: object, issued: credential };
  const told =
    problem === undefined ? whole : withWarning(whole, `the credential does not work yet: ${problem}`);
  if (credential === undefined) return told;
  const place = `${credential.part}.${credential.field}`;
  return withWarning(
    told,
    `${place} holds the credential in this answer only; with kubectl use: create -o yaml`,
  );
}

/** No one keeps it, and the client shall not take it for one that works. What someone applied stays: its conditions say why. */
async function refuseMade(request: OwnRequest, object: JsonObject, refusal: Condition): Promise<never> {
  const { kind } = request;
  await remove(request, object);
  const { reason, message = 'the operator gives no reason' } = refusal;
  const problem = message.replace(/\.$/, '');
  return refuse('ERR_CREDENTIAL_REFUSED', { kind, reason, problem }, { details: { causes: [{ reason }] } });
}

const isEphemeral = (object: JsonObject): boolean =>
  asObject(asObject(object['metadata'])['labels'])[labels.ephemeral] === 'true';

function credentialIn(
  { kind }: OwnRequest,
  object: JsonObject,
  plain: string | undefined,
): IssuedCredential | undefined {
  const field = credentialKinds[kind].statusField;
  const part = field === undefined ? 'spec' : 'status';
  const value = field === undefined ? plain : asText(asObject(object['status'])[field]);
  return value === undefined ? undefined : { part, field: field ?? 'key', value };
}
