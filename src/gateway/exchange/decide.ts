import type { JsonObject } from '../../api/json.ts';
import type { AcceptedClaims } from '../../credentials/exchange/check-claims.ts';
import {
  childKey,
  type ExchangedToken,
  exchangedTTL,
  exchangeRecord,
  loginKey,
} from '../../credentials/exchange/exchanged-key.ts';
import { loginOf } from '../../credentials/exchange/login.ts';
import type { ExchangeRequest } from '../../credentials/exchange/request.ts';
import { parseTrust, type Trust, takesAccount, takesToken } from '../../credentials/exchange/trust.ts';
import type { KeyToBe } from '../../credentials/locks/find-lock.ts';
import { impersonationHeaders } from '../../kube/client/impersonation.ts';
import { refuse } from '../endpoints/shared/reply.ts';
import { explainRefusal } from '../gate/authenticate.ts';
import type { CredentialIndex } from '../index/credential-index.ts';
import { type AccountTokens, ReviewUnavailable } from './account-tokens.ts';
import { KeysUnavailable, type KnownIssuer } from './key-sets.ts';
import type { Maker } from './make-key.ts';
import { type ReadToken, readToken } from './read-token.ts';
import { verifyToken } from './verify-token.ts';

/** The key that a token is exchanged for, and who makes it. */
export interface Decision {
  readonly object: JsonObject;
  readonly exchange: JsonObject;
  readonly maker: Maker;
  /** Name and value in turn. */
  readonly impersonation: readonly string[];
}

export interface DecideOptions {
  /** By the claim `iss`. */
  readonly issuers: ReadonlyMap<string, KnownIssuer>;
  readonly accountTokens: Pick<AccountTokens, 'check' | 'isOf'>;
  readonly index: Pick<CredentialIndex, 'findKey' | 'used'> & {
    readonly records: Pick<CredentialIndex['records'], 'accessKey'>;
    readonly locks: Pick<CredentialIndex['locks'], 'findAhead'>;
  };
  readonly baseURL: string;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/**
 * Decides what a token is exchanged for. Throws a Refusal. A stranger does not learn which keys there are, nor what they ask for.
 */
export async function decide(request: ExchangeRequest, options: DecideOptions): Promise<Decision> {
  const token = readToken(request.subjectToken);
  if ('problem' in token) return refuse('ERR_EXCHANGE_TOKEN', token);
  const { audience } = request;
  const known = options.issuers.get(token.issuer);
  if (audience === undefined) return await decideLogin({ token, known, request }, options);
  const presentTrust = () => parseTrust(options.index.records.accessKey(audience)?.exchange?.trust);
  const accepted =
    known === undefined
      ? await acceptAccount({ token, trust: presentTrust() }, options)
      : await accept(token, known, { audience: options.baseURL, now: options.now() });
  // It may be another one by now.
  const trust = presentTrust();
  if (trust === undefined || !takes(trust, { token, known }))
    return refuse('ERR_EXCHANGE_TARGET', { audience });
  const exchanged = { ...accepted, issuer: token.issuer, text: token.text };
  return decideChild({ exchanged, trust, audience, request }, options);
}

type Presented = Pick<Person, 'token' | 'known'>;

/** A token of no trusted issuer is that of a ServiceAccount, which the API server has checked. */
const takes = (trust: Trust, { token: { issuer, claims }, known }: Presented): boolean =>
  known === undefined ? takesAccount(trust, String(claims['sub'])) : takesToken(trust, issuer, claims);

interface Pipeline {
  readonly exchanged: ExchangedToken;
  readonly trust: Trust;
  readonly audience: string;
  readonly request: ExchangeRequest;
}

function decideChild(pipeline: Pipeline, { index, now }: DecideOptions): Decision {
  const { exchanged, trust, audience, request } = pipeline;
  const verdict = index.findKey(audience);
  if (verdict === undefined) return refuse('ERR_EXCHANGE_TARGET', { audience });
  if ('reason' in verdict)
    return refuse('ERR_EXCHANGE_KEY', { audience, problem: explainRefusal(verdict.reason) });
  const { record, identity, isLimited, impersonation } = verdict;
  refuseLocked({ identity, exchanged }, index.locks, now());
  index.used(record);
  return {
    object: childKey(exchanged, audience, exchangedTTL(trust.maxTTL, request.expiresIn)),
    exchange: exchangeRecord(exchanged),
    maker: { user: identity.user, credential: `${record.name}/${record.uid}`, isLimited },
    impersonation,
  };
}

interface Person {
  readonly token: ReadToken;
  readonly known: KnownIssuer | undefined;
  readonly request: ExchangeRequest;
}

async function decideLogin({ token, known, request }: Person, options: DecideOptions): Promise<Decision> {
  const { index, now } = options;
  const login = known?.issuer.login;
  if (known === undefined || login === undefined) return refuse('ERR_EXCHANGE_ISSUER', {});
  const accepted = await accept(token, known, { audience: login.clientID, now: now() });
  const person = loginOf(token.claims, login, token.issuer);
  if ('problem' in person) return refuse('ERR_EXCHANGE_LOGIN', person);
  const { user, groups } = person;
  const exchanged = { ...accepted, issuer: token.issuer, text: token.text };
  refuseLocked({ identity: { kind: 'user', user, groups }, exchanged }, index.locks, now());
  return {
    object: loginKey(exchanged, person, exchangedTTL(login.ttl, request.expiresIn)),
    exchange: exchangeRecord(exchanged),
    maker: { user, isLimited: false },
    impersonation: impersonationHeaders({ user, groups }),
  };
}

/** The key would be refused from its first request on. */
function refuseLocked(key: KeyToBe, locks: DecideOptions['index']['locks'], now: number): void {
  if (locks.findAhead(key, now) !== undefined) refuse('ERR_EXCHANGE_LOCKED', {});
}

/** The claims of a token of a trusted issuer. Throws a Refusal. */
async function accept(
  token: ReadToken,
  known: KnownIssuer,
  expected: { readonly audience: string; readonly now: number },
): Promise<AcceptedClaims> {
  try {
    const accepted = await verifyToken(token, { ...known, ...expected });
    return 'problem' in accepted ? refuse('ERR_EXCHANGE_TOKEN', accepted) : accepted;
  } catch (error) {
    if (!(error instanceof KeysUnavailable)) throw error;
    return refuse('ERR_EXCHANGE_UNAVAILABLE', { problem: error.message }, comeBack);
  }
}

const comeBack = { headers: ['retry-after', '5'] };

/** The API server is asked about what could pass alone, and the answer is the same whether the key names the account or not. */
async function acceptAccount(
  { token, trust }: { readonly token: ReadToken; readonly trust: Trust | undefined },
  { accountTokens, now }: DecideOptions,
): Promise<AcceptedClaims> {
  const checked = accountTokens.check(token, now());
  if ('problem' in checked || trust === undefined || !takesAccount(trust, checked.subject))
    return refuse('ERR_EXCHANGE_ISSUER', {});
  try {
    if (await accountTokens.isOf(token, checked.subject)) return checked;
  } catch (error) {
    if (!(error instanceof ReviewUnavailable)) throw error;
    return refuse('ERR_EXCHANGE_UNAVAILABLE', { problem: error.message }, comeBack);
  }
  return refuse('ERR_EXCHANGE_ISSUER', {});
}
