import { answerMs, deadline, Refused, readJSON } from './api.js';

/** @typedef {import('./api.js').Json} Json */
/** @typedef {{ issuer: string, clientID: string }} Provider */

/** What one login has to remember while the browser is at the provider. It holds no key, and is gone after one use. */
const place = 'latchkey-login';
const grant = 'urn:ietf:params:oauth:grant-type:token-exchange';
const idToken = 'urn:ietf:params:oauth:token-type:id_token';

/** @param {Uint8Array} bytes */
const base64url = (bytes) =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replace(/=+$/, '');
const random = () => base64url(crypto.getRandomValues(new Uint8Array(32)));
const redirect = () => `${location.origin}/`;

/**
 * Where people log in, by RFC 9728.
 * @param {import('./api.js').Gateway} gateway
 * @returns {Promise<readonly Provider[]>}
 */
export async function findProviders(gateway) {
  const document = await gateway.send('/.well-known/oauth-protected-resource', {}, readJSON);
  const {
    authorization_servers: issuers = [],
    latchkey_client_id: one,
    latchkey_client_ids: many,
  } = document;
  return issuers.map((/** @type {string} */ issuer) => ({ issuer, clientID: one ?? many?.[issuer] }));
}

/**
 * @param {string} url
 * @returns {Promise<Json>}
 */
async function askProvider(url, options = {}) {
  const life = deadline(answerMs);
  const asked = {
    credentials: /** @type {const} */ ('omit'),
    redirect: /** @type {const} */ ('error'),
    signal: life.signal,
    ...options,
  };
  const response = await fetch(url, asked).catch(() => {
    throw new Refused(
      0,
      `${new URL(url).host} does not answer this page. The provider must allow ${location.origin} (CORS).`,
    );
  });
  const body = await response.json().catch(() => ({}));
  life.end();
  if (life.isLate()) throw new Refused(0, `${new URL(url).host} gave no answer in time.`);
  if (response.ok) return body;
  const why = String(body.error_description ?? body.error ?? `status ${response.status}`).slice(0, 500);
  throw new Refused(response.status, `The login failed at the provider: ${why}`);
}

/** @param {string} issuer */
async function discover(issuer) {
  const document = await askProvider(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`);
  if (document['issuer'] !== issuer) throw new Refused(0, `${issuer} calls itself ${document['issuer']}.`);
  for (const name of ['authorization_endpoint', 'token_endpoint'])
    if (!String(document[name]).startsWith('https://'))
      throw new Refused(0, `${issuer} has no ${name} that begins with https://.`);
  return document;
}

/**
 * Goes to the provider, with a code challenge (PKCE). The page ends here.
 * @param {Provider} provider
 */
export async function beginLogin({ issuer, clientID }) {
  const document = await discover(issuer);
  const attempt = { issuer, clientID, state: random(), nonce: random(), verifier: random() };
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(attempt.verifier));
  const scopes = document['scopes_supported'] ?? [];
  const url = new URL(document['authorization_endpoint']);
  const query = {
    response_type: 'code',
    client_id: clientID,
    redirect_uri: redirect(),
    scope: ['openid', 'profile', 'email', ...(scopes.includes('groups') ? ['groups'] : [])].join(' '),
    state: attempt.state,
    nonce: attempt.nonce,
    code_challenge: base64url(new Uint8Array(digest)),
    code_challenge_method: 'S256',
  };
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  sessionStorage.setItem(place, JSON.stringify(attempt));
  location.assign(url);
}

/**
 * The key of a login that comes back with this address, or undefined where it is no way back. The address loses its code at once.
 * @param {import('./api.js').Gateway} gateway
 * @returns {Promise<string | undefined>}
 */
export async function finishLogin(gateway) {
  const answer = new URL(location.href).searchParams;
  if (!answer.has('state')) return undefined;
  const attempt = JSON.parse(sessionStorage.getItem(place) ?? '{}');
  sessionStorage.removeItem(place);
  history.replaceState(null, '', '/');
  if (attempt.state === undefined || answer.get('state') !== attempt.state)
    throw new Refused(0, 'This answer belongs to no login of this tab. Log in again.');
  const document = await discover(attempt.issuer);
  const namesItself = document['authorization_response_iss_parameter_supported'] === true;
  const from = answer.get('iss');
  // Also where the document says that its provider does not name itself: a provider may send people to another one.
  if (from === null ? namesItself : from !== attempt.issuer)
    throw new Refused(0, 'The answer came from another provider. Log in again.');
  const code = answer.get('code');
  if (code === null)
    throw new Refused(0, `The login failed at the provider: ${answer.get('error') ?? 'no code'}`);
  const { id_token: token } = await askProvider(document['token_endpoint'], {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      code,
      redirect_uri: redirect(),
      client_id: attempt.clientID,
      code_verifier: attempt.verifier,
    }),
  });
  if (typeof token !== 'string')
    throw new Refused(0, 'The provider gave no id_token. Its client must be allowed the scope openid.');
  if (nonceOf(token) !== attempt.nonce)
    throw new Refused(0, 'The provider answered another login. Log in again.');
  return await exchange(gateway, token);
}

/** @param {string} token The gateway checks its signature. */
function nonceOf(token) {
  const [, claims = ''] = token.split('.');
  try {
    return JSON.parse(atob(claims.replaceAll('-', '+').replaceAll('_', '/'))).nonce;
  } catch {
    return undefined;
  }
}

/**
 * By RFC 8693.
 * @param {import('./api.js').Gateway} gateway
 * @param {string} token
 * @returns {Promise<string>}
 */
async function exchange(gateway, token) {
  const form = { grant_type: grant, subject_token: token, subject_token_type: idToken };
  const asked = { method: 'POST', body: new URLSearchParams(form) };
  return (await gateway.send('/oauth/token', asked, readJSON)).access_token;
}
