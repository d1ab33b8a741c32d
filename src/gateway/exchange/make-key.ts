import { randomBytes } from 'node:crypto';
import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { asObject, asText, type JsonObject } from '../../api/json.ts';
import { groups } from '../../api/names.ts';
import { ownedAccessKeys } from '../../api/resources.ts';
import { credentialHash, keyIDOf } from '../../credentials/keys/credential-hash.ts';
import { collectionPath, objectPath } from '../../kube/resource-path.ts';
import { touchedObject } from '../audit/trail.ts';
import { type Issuing, untilIssued } from '../endpoints/own/await-issued.ts';
import { refuseBySitePolicy } from '../endpoints/own/checks.ts';
import { toAsker, withNewKey, withNewRecord } from '../endpoints/own/sent-object.ts';
import { ask, headersInPlace } from '../endpoints/shared/ask.ts';
import type { EndpointServices } from '../endpoints/shared/endpoint.ts';
import { refuse, toReply } from '../endpoints/shared/reply.ts';

/** Who a key is made as. */
export interface Maker {
  readonly user: string;
  /** `name/uid` of the access key above; absent: there is none. */
  readonly credential?: string;
  readonly isLimited: boolean;
}

/** A request that is about to make a key. `send` says who makes it. */
export interface Making extends Issuing {
  readonly services: Pick<EndpointServices, 'clock' | 'quota' | 'sitePolicy'> &
    Issuing['services'] &
    FoundKeys;
}

interface FoundKeys {
  readonly index: Pick<EndpointServices['index'], 'records' | 'find'>;
}

export interface MadeKey {
  readonly key: string;
  /** Epoch milliseconds. */
  readonly end: number;
}

/** How long a client waits for the operator. */
const maxWaitMs = 10_000;

/**
 * Makes a key as somebody, and returns it once this gateway takes it. The API server takes its name once, so of two requests
 * with one token one gets the key, whatever replica they came to. Throws a Refusal.
 */
export async function makeKey(
  making: Making,
  object: JsonObject,
  { maker, exchange }: { readonly maker: Maker; readonly exchange: JsonObject },
): Promise<MadeKey> {
  const { services, kind } = making;
  const sent = withNewKey(object, randomBytes);
  const asker = toAsker(making.send.headers, maker, groups.selfService);
  const body = withNewRecord(sent.object, kind, asker, exchange);
  refuseBySitePolicy(services.sitePolicy(), { kind, object: body });
  const permit = services.quota.acquire(kind, maker.user);
  try {
    const created = await create(making, body);
    permit.made(asText(asObject(created['metadata'])['uid']));
    making.trail?.touched({
      ...touchedObject(kind, created),
      keyID: keyIDOf(credentialHash(sent.plain ?? '')),
    });
    return await whenIssued(making, created, sent.plain ?? '');
  } finally {
    permit.release();
  }
}

async function create(making: Making, body: JsonObject): Promise<JsonObject> {
  const headers = headersInPlace(making, { group: groups.selfService, contentType: 'application/json' });
  const path = `${collectionPath(ownedAccessKeys)}?fieldManager=latchkey-gateway&fieldValidation=Strict`;
  const answer = await ask(making, {
    method: 'POST',
    path,
    headers,
    body: Buffer.from(JSON.stringify(body)),
  });
  const { status, body: object } = toReply(answer);
  if (status === 201) return object;
  const { message, reason } = object;
  if (status === 409 && reason === 'AlreadyExists') return refuse('ERR_EXCHANGE_USED', {});
  const problem = asText(message) ?? `the API server answered with ${status}`;
  return status === 429 || status >= 500
    ? refuse('ERR_EXCHANGE_UNAVAILABLE', { problem }, comeBack)
    : refuse('ERR_EXCHANGE_REFUSED', { problem });
}

const comeBack = { headers: ['retry-after', '5'] };

async function whenIssued(making: Making, created: JsonObject, plain: string): Promise<MadeKey> {
  const { problem, refusal } = await untilIssued(making, created, maxWaitMs);
  const found = making.services.index.find(credentialHash(plain));
  if (problem === undefined && found !== undefined && 'record' in found)
    return { key: plain, end: found.end };
  await remove(making, created);
  const why = (problem ?? 'the key was taken back at once').replace(/\.$/, '');
  if (refusal !== undefined) return refuse('ERR_EXCHANGE_REFUSED', { problem: why });
  return refuse('ERR_EXCHANGE_UNAVAILABLE', { problem: why }, comeBack);
}

/** No one will ever know it. Where the client has left, its answer is over, and what is asked for that would end with it. */
async function remove(making: Making, created: JsonObject): Promise<void> {
  const { name, uid } = asObject(created['metadata']);
  const response = Object.assign(new EventEmitter(), { destroyed: false }) as unknown as ServerResponse;
  await ask(making.response.destroyed ? { ...making, response } : making, {
    method: 'DELETE',
    path: objectPath(ownedAccessKeys, { namespace: '', name: String(name) }),
    headers: headersInPlace(making, { group: groups.selfService, contentType: 'application/json' }),
    body: Buffer.from(JSON.stringify({ kind: 'DeleteOptions', apiVersion: 'v1', preconditions: { uid } })),
  });
}
