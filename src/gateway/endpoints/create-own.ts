import { randomBytes } from 'node:crypto';
import { credentialKinds } from '../../api/credential-kinds.ts';
import { asObject, asText, type JsonObject } from '../../api/json.ts';
import { uidOf } from '../../kube/object.ts';
import { collectionPath } from '../../kube/resource-path.ts';
import { requireInstanceUse } from './instance-use.ts';
import { untilIssued } from './issuing.ts';
import { askAsHolder, isDryRun, type OwnRequest, resourceOf, writeQuery } from './own-request.ts';
import type { QuotaPlace } from './quota.ts';
import { type IssuedCredential, type Reply, toReply, withWarning } from './reply.ts';
import { readObject } from './request-body.ts';
import { refuseNewSecret } from './secret-reference.ts';
import { fitToPath, type SentKey, withinScope, withNewKey } from './sent-object.ts';

/** Makes a credential for the holder, and shows it this once. */
export async function createOwn(request: OwnRequest): Promise<Reply> {
  const sent = prepare(request, (await readObject(request)) ?? {});
  await requireInstanceUse(request, sent.object);
  const { kind, services, sender } = request;
  const { user } = sender.verdict.identity;
  return await services.quota.during(kind, user, async (place) => await create(request, sent, place));
}

function prepare(request: OwnRequest, body: JsonObject): SentKey {
  const object = withinScope(fitToPath(request, body), request.sender.verdict);
  refuseNewSecret(request.sender.verdict, object);
  return request.kind === 'OwnedAccessKey' ? withNewKey(object, randomBytes) : { object };
}

async function create(request: OwnRequest, { object, plain }: SentKey, place: QuotaPlace): Promise<Reply> {
  const { kind, asked } = request;
  const path = collectionPath(resourceOf({ kind }), asked.namespace) + writeQuery(request);
  const answer = await askAsHolder(request, { method: 'POST', path, body: object });
  const reply = toReply(answer, plain === undefined ? [] : [plain]);
  place.uid = uidOf(reply.body);
  return reply.status === 201 && !isDryRun(request) ? await issued(request, reply, plain) : reply;
}

/** How long a client waits for the operator. */
const maxWaitMs = 10_000;

/** The answer to what made an object: with its credential, as soon as that works here. */
export async function issued(request: OwnRequest, reply: Reply, plain: string | undefined): Promise<Reply> {
  const { object, problem } = await untilIssued(request, reply.body, maxWaitMs);
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
