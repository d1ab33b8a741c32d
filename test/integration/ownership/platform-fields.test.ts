import { ownedAccessKeys } from '../../../src/api/resources.ts';
import { describeRows } from './rows.ts';
import { by, changeOf, creationOf, flavours } from './shorthand.ts';

const making = creationOf(ownedAccessKeys);
const changing = changeOf(ownedAccessKeys);

/** What only the platform sets, with a value. */
const fields = {
  identity: { email: 'alice@example.com', groups: ['board'] },
  identityRefresh: '2026-01-01T00:00:00Z',
  oidcProvider: { clientId: 'dashboard', redirectUri: 'https://dashboard.example.com' },
  oidcLogin: { idToken: 'token-of-the-login' },
  parent: 'session',
} as const;
const names = Object.keys(fields) as (keyof typeof fields)[];
const platformTypes = ['Login', 'Reset', 'OIDCRefreshToken', 'NetworkPeer', 'Workspace'];

const refusal = (field: string): readonly [403, string] => [
  403,
  `spec.${field}: set by the platform, which has the verb manage-platform-fields on ownedaccesskeys; leave it out, or as it stands`,
];
const typeRefusal = [
  403,
  'spec.type: types other than User and Other are given and taken by the platform, which has the verb manage-platform-fields on ownedaccesskeys; write User or Other, or leave it as it stands',
] as const;

describeRows('a new key with fields of the platform', [
  ...names.map((name) => making('alice', `has no ${name}`, { [name]: fields[name] }, refusal(name))),
  ...platformTypes.map((type) => making('alice', `is not of the type ${type}`, { type }, typeRefusal)),
  making(
    'root',
    'has no identity although they run the platform',
    { identity: fields.identity },
    refusal('identity'),
  ),
  by('apply', making('root', 'has no parent', { parent: 'x' }, refusal('parent'))),
  by('generateName', making('root', 'has no type of a login', { type: 'Login' }, typeRefusal)),
  making('holder', 'has no identity over a key of hers', { identity: fields.identity }, refusal('identity')),
  making(
    'carol',
    'has no identity in a key for alice',
    { user: 'alice', identity: { email: 'x' } },
    refusal('identity'),
  ),
  ...['', 'User', 'Other'].map((type) =>
    making('alice', `has the type ${JSON.stringify(type)}`, { type }, 'allowed'),
  ),
  making(
    'alice',
    'has fields without content',
    { identity: {}, oidcProvider: {}, oidcLogin: {}, parent: '', type: '' },
    'allowed',
  ),
  making('platform', 'has all of them', { user: 'alice', ...fields, type: 'Login' }, 'allowed'),
  by(
    'generateName',
    making('platform', 'has all of them', { user: 'alice', ...fields, type: 'Login' }, 'allowed'),
  ),
  making('platform', 'has no key for somebody that it may not impersonate', { user: 'bob', type: 'Login' }, [
    403,
    /^spec\.user: /,
  ]),
  by(
    'apply',
    making(
      'argocd',
      'has an identity from a manifest',
      { user: 'alice', identity: { email: 'x' } },
      'allowed',
    ),
  ),
]);

const login = { user: 'alice', identity: fields.identity, parent: 'session', type: 'Login' } as const;

describeRows('a key with fields of the platform', [
  changing('alice', 'PUT', {
    does: 'may not change who single sign-on says she is',
    before: { by: 'platform', spec: login },
    content: { spec: { identity: { email: 'boss@example.com' } } },
    answer: refusal('identity'),
  }),
  changing('alice', 'PUT', {
    does: 'may not drop it',
    before: { by: 'platform', spec: login },
    content: { spec: { identity: null } },
    answer: refusal('identity'),
  }),
  changing('alice', 'PUT', {
    does: 'may not empty it',
    before: { by: 'platform', spec: login },
    content: { spec: { identity: {} } },
    answer: refusal('identity'),
  }),
  changing('alice', 'PUT', {
    does: 'may not keep her session by taking its type',
    before: { by: 'platform', spec: login },
    content: { spec: { type: 'Other' } },
    answer: typeRefusal,
  }),
  changing('alice', 'PUT', {
    does: 'may not keep her session by dropping its type',
    before: { by: 'platform', spec: login },
    content: { spec: { type: null } },
    answer: typeRefusal,
  }),
  changing('alice', 'PUT', {
    does: 'may not give a key of hers the type of a session',
    before: { by: 'alice', spec: { type: 'User' } },
    content: { spec: { type: 'Login' } },
    answer: typeRefusal,
  }),
  ...flavours.map((flavour) =>
    changing('root', flavour, {
      does: `may not name a parent by ${flavour}`,
      before: { by: 'root', spec: {} },
      content: { spec: { parent: 'session' } },
      answer: refusal('parent'),
    }),
  ),
  changing('root', 'merge patch', {
    does: 'may not change one field of an identity',
    before: { by: 'platform', spec: { ...login, user: 'root' } },
    content: { spec: { identity: { emailVerified: true } } },
    answer: refusal('identity'),
  }),
  changing('root', 'JSON patch', {
    does: 'may not drop spec with all of them',
    before: { by: 'platform', spec: { ...login, user: 'root' } },
    patch: [{ op: 'remove', path: '/spec' }],
    answer: refusal('identity'),
  }),
  changing('alice', 'PUT', {
    does: 'limits a key of hers and leaves them as they stand',
    before: { by: 'platform', spec: login },
    content: { spec: { ttl: 60, displayName: 'session' } },
    answer: 'allowed',
  }),
  changing('alice', 'PUT', {
    does: 'disables a key of hers and leaves them as they stand',
    before: { by: 'platform', spec: login },
    content: { spec: { disabled: true } },
    answer: 'allowed',
  }),
  changing('alice', 'PUT', {
    does: 'changes one of the types that anybody may give for the other',
    before: { by: 'alice', spec: { type: 'User' } },
    content: { spec: { type: 'Other' } },
    answer: 'allowed',
  }),
  ...flavours.map((flavour) =>
    changing('platform', flavour, {
      does: `says when the identity was refreshed by ${flavour}`,
      before: { by: 'platform', spec: login },
      content: { spec: { identityRefresh: fields.identityRefresh } },
      answer: 'allowed',
    }),
  ),
  changing('operator', 'merge patch', {
    does: 'moves login data away',
    before: { by: 'platform', spec: { ...login, oidcLogin: fields.oidcLogin } },
    content: { spec: { oidcLogin: { idToken: null } } },
    answer: 'allowed',
  }),
]);
