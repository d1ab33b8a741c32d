import { expect, it } from 'vitest';
import { readExchangeRequest } from './request.ts';

const type = (name: string) => `urn:ietf:params:oauth:token-type:${name}`;
const good = {
  grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
  subject_token: 'a.b.c',
  subject_token_type: type('jwt'),
};
const read = (changes: Record<string, string | undefined>) => {
  const parameters = Object.entries({ ...good, ...changes }).filter(([, value]) => value !== undefined);
  return readExchangeRequest(new URLSearchParams(parameters as [string, string][]).toString());
};

it.each<[string, Record<string, string>, object]>([
  ['a login', {}, {}],
  ['an ID token', { subject_token_type: type('id_token') }, {}],
  ['a pipeline', { audience: 'ci-shop' }, { audience: 'ci-shop' }],
  ['an end', { expires_in: '600' }, { expiresIn: 600 }],
  ['what is wanted back', { requested_token_type: type('access_token') }, {}],
  ['a client, as public clients do', { client_id: 'cli' }, {}],
  ['empty parameters, which count as left out', { audience: '', scope: '', actor_token: '' }, {}],
])('a request says %s', (_, changes, expected) => {
  expect(read(changes)).toEqual({ request: { subjectToken: 'a.b.c', ...expected } });
});

it.each<[string, Record<string, string | undefined>, string]>([
  ['no grant', { grant_type: undefined }, 'invalid_request'],
  ['another grant', { grant_type: 'password' }, 'unsupported_grant_type'],
  ['the grant of a code', { grant_type: 'authorization_code' }, 'unsupported_grant_type'],
  ['the grant in capitals', { grant_type: good.grant_type.toUpperCase() }, 'unsupported_grant_type'],
  ['no token', { subject_token: undefined }, 'invalid_request'],
  ['an empty token', { subject_token: '' }, 'invalid_request'],
  ['no type', { subject_token_type: undefined }, 'invalid_request'],
  ['an access token', { subject_token_type: type('access_token') }, 'invalid_request'],
  ['a refresh token', { subject_token_type: type('refresh_token') }, 'invalid_request'],
  ['SAML', { subject_token_type: type('saml2') }, 'invalid_request'],
  ['an actor', { actor_token: 'x' }, 'invalid_request'],
  ['the type of an actor', { actor_token_type: type('jwt') }, 'invalid_request'],
  ['another type of answer', { requested_token_type: type('refresh_token') }, 'invalid_request'],
  ['a resource', { resource: 'https://a.example' }, 'invalid_target'],
  ['an audience that is a URL', { audience: 'https://a.example' }, 'invalid_target'],
  ['an audience with a slash', { audience: '../x' }, 'invalid_target'],
  ['an audience in capitals', { audience: 'CI' }, 'invalid_target'],
  ['a very long audience', { audience: 'a'.repeat(254) }, 'invalid_target'],
  ['a scope', { scope: 'openid' }, 'invalid_scope'],
  ['an end of zero', { expires_in: '0' }, 'invalid_request'],
  ['a negative end', { expires_in: '-1' }, 'invalid_request'],
  ['an end with a fraction', { expires_in: '1.5' }, 'invalid_request'],
  ['an end that is a word', { expires_in: '1h' }, 'invalid_request'],
  ['an endless end', { expires_in: '99999999999' }, 'invalid_request'],
])('a request with %s is refused', (_, changes, error) => {
  expect(read(changes)).toMatchObject({ error });
});

it.each([
  ['two tokens', `${new URLSearchParams(good)}&subject_token=x.y.z`],
  ['a parameter twice, once empty', `${new URLSearchParams(good)}&audience=&audience=a`],
  ['hundreds of parameters', Array.from({ length: 33 }, (_, index) => `p${index}=1`).join('&')],
  ['nothing', ''],
  ['JSON', JSON.stringify(good)],
])('a form with %s is refused, and the problem quotes nothing of it', (_, form) => {
  const reading = readExchangeRequest(form);
  expect(reading).toMatchObject({ error: 'invalid_request' });
  expect(JSON.stringify(reading)).not.toMatch(/x\.y\.z|a\.b\.c/);
});
