import type { IncomingMessage } from 'node:http';
import { asObject, type JsonObject, parseJSON } from '../../api/json.ts';
import { group } from '../../api/names.ts';
import { reasons } from '../../api/reasons.ts';
import { credentialHash } from '../../credentials/keys/credential-hash.ts';
import type { Clock } from '../../kube/clock.ts';
import type { CredentialIndex } from '../index/credential-index.ts';
import type { Refused, Verdict } from '../index/verdict.ts';
import { type ErrorAnswer, errorAnswer } from '../server/error-answer.ts';
import { type Bearer, type BearerProblem, readBearer } from './bearer.ts';

export interface Authenticated {
  readonly hash: string;
  readonly verdict: Verdict;
}

export interface AuthenticateOptions {
  readonly index: Pick<CredentialIndex, 'find' | 'problem'>;
  readonly clock: Pick<Clock, 'now'>;
  /** In place of words about the gateway: for all credentials that are not good here, and while that is not known. */
  readonly refusals?: { readonly credential: ErrorAnswer; readonly unknown: ErrorAnswer } | undefined;
}

/** The longest access key or token. A longer one is refused unread. */
export const maxCredentialBytes = 8_192;

type Sent = Pick<IncomingMessage, 'rawHeaders' | 'headers'>;

/** Whose request it is, or the answer to it. */
export function authenticate(
  sent: Sent,
  { index, clock, refusals }: AuthenticateOptions,
): Authenticated | ErrorAnswer {
  const read = readSent(sent);
  if ('problem' in read) return malformed[read.problem];
  if (index.problem() !== undefined) return refusals?.unknown ?? stale;
  const hash = credentialHash(read.bearer);
  const found = index.find(hash);
  if (found !== undefined && 'record' in found) return { hash, verdict: found };
  if (refusals !== undefined) return refusals.credential;
  if (!read.isAccessKey) return refusedToken(read.bearer, clock.now());
  if (found?.reason === reasons.locked) return locked;
  return found === undefined ? unknownKey : refusedKey(found.reason);
}

function readSent({ rawHeaders, headers }: Sent): Bearer {
  const isWebSocket = headers.upgrade?.toLowerCase() === 'websocket';
  return readBearer(rawHeaders, { maxBytes: maxCredentialBytes, isWebSocket });
}

/** Of what was sent as a credential, whether or not it is one; undefined where nothing was. */
export function hashOfBearer(sent: Sent): string | undefined {
  const read = readSent(sent);
  return 'bearer' in read ? credentialHash(read.bearer) : undefined;
}

const unauthenticated = (problem: string): ErrorAnswer =>
  errorAnswer('ERR_UNAUTHENTICATED', { problem }, { headers: ['www-authenticate', 'Bearer'] });

const malformed: Readonly<Record<BearerProblem, ErrorAnswer>> = {
  Missing: unauthenticated('the request carries no credential'),
  NotBearer: unauthenticated('the header Authorization is not "Bearer" and one credential'),
  Twice: unauthenticated('the request has more than one header Authorization'),
  TooLong: unauthenticated('the credential is too long'),
  MalformedKey: unauthenticated('the access key is not whole: characters are missing or wrong'),
  InTwoPlaces: errorAnswer('ERR_REQUEST_MALFORMED', {
    problem: 'it has a credential in Authorization and another one in Sec-WebSocket-Protocol',
  }),
  TwoProtocols: unauthenticated('Sec-WebSocket-Protocol offers more than one credential'),
  OnlyProtocol: unauthenticated('Sec-WebSocket-Protocol offers nothing but the credential'),
  NotBase64url: unauthenticated('the credential in Sec-WebSocket-Protocol is not base64url without padding'),
};

/** Of anything but whole access keys, which one can guess. The same answer whether it is known or not. */
function refusedToken(bearer: string, now: number): ErrorAnswer {
  const claims = claimsIn(bearer);
  const expired = expiredToken(claims, now);
  if (expired !== undefined) return expiredTokens[expired];
  if (isOfServiceAccount(claims)) return serviceAccount;
  if (kindIn(claims) === 'DirectClusterEndpointToken') return clusterToken;
  if (/^["'].*["']$/.test(bearer)) return inQuotes;
  return /^bGtf[A-Za-z0-9+/=]+$/.test(bearer) ? inBase64 : unknown;
}

const expiredTokens = {
  token: unauthenticated('the token has expired'),
  kubeconfig: unauthenticated(
    'the token in the kubeconfig has expired: fetch the kubeconfig again, or make another',
  ),
} as const;
const serviceAccount = unauthenticated(
  'a token of a ServiceAccount is for the API server that issued it: send it to the own address of that target, and not to this gateway',
);
const clusterToken = unauthenticated(
  'this gateway accepts a DirectClusterEndpointToken with the role platform-cli in its scope, while its object is Ready',
);
const inQuotes = unauthenticated('the credential is in quotes, which are no part of it: leave them out');
const inBase64 = unauthenticated(
  'the credential is an access key in base64, as `kubectl get secret -o yaml` shows it: decode it first',
);
const unknown = unauthenticated('the credential is not accepted');
const unknownKey = unauthenticated('the access key is not known: it was deleted, or replaced by another one');
/** Which lock it is, only its owner sees, in the status of the object: a thief must not learn what is known of the theft. */
const locked = errorAnswer('ERR_CREDENTIAL_LOCKED', {}, { headers: ['www-authenticate', 'Bearer'] });
const stale = errorAnswer('ERR_INDEX_STALE', {}, { headers: ['retry-after', '5'] });

/** Only who holds a whole key gets so far, so it helps the holder and no one else. One for each reason, made once. */
function refusedKey(reason: Refused['reason']): ErrorAnswer {
  const known = refusedKeys.get(reason);
  if (known !== undefined) return known;
  const answer = unauthenticated(explainRefusal(reason));
  refusedKeys.set(reason, answer);
  return answer;
}

/** For who holds the whole key. */
export const explainRefusal = (reason: Refused['reason']): string =>
  refusals[reason] ?? `the access key is not accepted: ${reason}`;

const refusedKeys = new Map<string, ErrorAnswer>();

const refusals: Readonly<Partial<Record<Refused['reason'], string>>> = {
  [reasons.disabled]: 'the access key is disabled',
  [reasons.locked]: 'the access key is stopped by a lock of the platform',
  [reasons.deleting]: 'the access key is being deleted',
  [reasons.expired]: 'the access key has expired',
  [reasons.unconfirmed]: 'the access key is not confirmed yet; wait until it is Ready',
  [reasons.accessKeyNotLive]: 'the parent of the access key is disabled, expired or not confirmed',
  [reasons.accessKeyGone]: 'the parent of the access key was deleted',
};

/**
 * Reads the claims of a bearer string where it is a signed token; empty for anything else. Nothing is granted by them, and who
 * holds the token can read it: no signature is checked.
 */
function claimsIn(bearer: string): JsonObject {
  const [, payload, signature, rest] = bearer.split('.');
  if (payload === undefined || signature === undefined || rest !== undefined) return {};
  return asObject(parseJSON(Buffer.from(payload, 'base64url').toString('utf8')));
}

/** One of ours whose own end is past. The operator forgets the hash of a token that has ended, so only the token still says so. */
function expiredToken(claims: JsonObject, now: number): 'kubeconfig' | 'token' | undefined {
  const { exp } = claims;
  if (typeof exp !== 'number' || now < exp * 1_000) return undefined;
  const kind = kindIn(claims);
  if (kind === 'VirtualClusterInstanceKubeConfig') return 'kubeconfig';
  return kind === 'DirectClusterEndpointToken' ? 'token' : undefined;
}

/** One that some API server has issued to a ServiceAccount. */
const isOfServiceAccount = ({ sub }: JsonObject): boolean =>
  typeof sub === 'string' && sub.startsWith('system:serviceaccount:');

/** Of the object that one of ours belongs to. */
const kindIn = (claims: JsonObject): unknown => asObject(asObject(claims[group])['object'])['kind'];
