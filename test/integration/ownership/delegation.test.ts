import { ownedAccessKeys } from '../../../src/api/resources.ts';
import type { Person } from './people.ts';
import { describeRows, type Row } from './rows.ts';
import { by, changeOf, creationOf, flavours, type Spec } from './shorthand.ts';

const messages = {
  user: 'spec.user: a key for another user is made and widened by those with the verb impersonate on that user; ask one of them, or make a key of your own without spec.user',
  team: 'spec.team: a key for a team is made and widened by those with the verb impersonate on the user and on the group team:<team>, which its members do not have as such; ask one of them, or make a key of your own without spec.team',
  subject:
    'spec.subject: a key for a subject is made and widened by those with the verb impersonate on the user of that name; ask one of them, or make a key of your own without spec.subject',
} as const;

type Field = keyof typeof messages;

const making = creationOf(ownedAccessKeys);
const changing = changeOf(ownedAccessKeys);
/** More than a signed number of 64 bits can be added to; as it is, because JavaScript cannot hold it. */
const forEver = (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON('9223372036854775807');

const refused = (who: Person, field: Field, name: string, why = ''): Row =>
  making(who, `makes no key for the ${field} ${name}${why}`, { [field]: name }, [403, messages[field]]);

const allowed = (who: Person, what: string, spec: Spec): Row => making(who, `makes ${what}`, spec, 'allowed');

describeRows('a key for somebody else', [
  refused('alice', 'user', 'bob'),
  refused('alice', 'user', 'Alice', ', which is another user'),
  refused('alice', 'user', 'alic'),
  refused('alice', 'user', '*'),
  refused('holder', 'user', 'bob', ' over a key of hers'),
  refused('mallory', 'user', 'alice'),
  refused('root', 'user', 'alice', ' although they run the platform'),
  refused('carol', 'user', 'bob', ', who she may not impersonate'),
  by('generateName', refused('mallory', 'user', 'alice')),
  by('generateName', refused('root', 'user', 'alice')),
  by('apply', refused('root', 'user', 'alice')),
  refused('tina', 'team', 'blue', ' although she is in it'),
  by('generateName', refused('tina', 'team', 'blue')),
  refused('mallory', 'team', 'blue'),
  refused('holder', 'team', 'blue'),
  refused('root', 'team', 'blue'),
  by('apply', refused('root', 'team', 'blue')),
  refused('carol', 'team', 'red', ' with the right to impersonate the user alone'),
  refused('carol', 'team', 'green', ' with the right to impersonate the group alone'),
  refused('mallory', 'subject', 'build-farm'),
  refused('alice', 'subject', 'alice', ' although that is her name'),
  refused('holder', 'subject', 'alice'),
  refused('root', 'subject', 'build-farm'),
  by('apply', refused('root', 'subject', 'root')),
  making('mallory', 'makes no key for alice below a key', { accessKey: 'hers', user: 'alice' }, [
    403,
    messages.user,
  ]),
  making('alice', 'has no key without end by a number that is too large', { ttl: forEver }, [
    422,
    /spec\.ttl/,
  ]),
  allowed('carol', 'a key for a user that she may impersonate', { user: 'alice' }),
  by('generateName', allowed('carol', 'a key for a user', { user: 'alice' })),
  allowed('carol', 'a key for a team that she may impersonate', { team: 'blue' }),
  allowed('carol', 'a key for a subject that she may impersonate', { subject: 'build-farm' }),
  allowed('argocd', 'a key for a user', { user: 'alice' }),
  by('apply', allowed('argocd', 'a key for a team', { team: 'blue' })),
  by('apply', allowed('argocd', 'a key for a subject', { subject: 'build-farm' })),
  allowed('master', 'a key for a subject', { subject: 'build-farm' }),
]);

describeRows('a key of the requester', [
  allowed('alice', 'a key that names no one', {}),
  allowed('alice', 'a key that names her', { user: 'alice' }),
  allowed('alice', 'a key with empty names', { user: '', team: '', subject: '' }),
  by('generateName', allowed('mallory', 'a key of her own', {})),
  by('apply', allowed('root', 'a key of their own', {})),
  allowed('holder', 'a key of her own over a key of hers', { user: 'alice' }),
  allowed('mallory', 'a key below another key, which the operator judges', { accessKey: 'hers' }),
]);

const hers = { by: 'alice', spec: { user: 'alice', ttl: 60 } } as const;
const huge: Row['answer'] = [422, /spec\.ttl/];

describeRows('what the owner changes', [
  changing('alice', 'PUT', {
    does: 'has no key without end by a number that is too large',
    before: hers,
    content: { spec: { ttl: forEver } },
    answer: huge,
  }),
  changing('alice', 'PUT', {
    does: 'prolongs her own key',
    before: hers,
    content: { spec: { ttl: 120 } },
    answer: 'allowed',
  }),
  changing('holder', 'PUT', {
    does: 'limits her own key over another one of hers',
    before: hers,
    content: { spec: { scope: {} } },
    answer: 'allowed',
  }),
  ...flavours.map((flavour) =>
    changing('root', flavour, {
      does: `may not prolong the key of the subject that they are by ${flavour}`,
      before: { by: 'argocd', spec: { subject: 'root', ttl: 60 } },
      content: { spec: { displayName: 'prolonged', ttlAfterLastActivity: true } },
      answer: [403, messages.subject],
    }),
  ),
  changing('root', 'merge patch', {
    does: 'may not enable the key of the subject that they are',
    before: { by: 'argocd', spec: { subject: 'root', disabled: true } },
    content: { spec: { disabled: false } },
    answer: [403, messages.subject],
  }),
  changing('root', 'merge patch', {
    does: 'renames and disables the key of the subject that they are',
    before: { by: 'argocd', spec: { subject: 'root' } },
    content: { spec: { disabled: true, displayName: 'old', description: 'not in use' } },
    answer: 'allowed',
  }),
]);

const identities = { user: 'alice', team: 'blue', subject: 'build-farm' } as const;
const fields = ['user', 'team', 'subject'] as const;
/** Made by somebody who may do everything, and who is `demoted` now. */
const made = (field: Field, spec: Spec = {}) =>
  ({ by: 'master', spec: { [field]: identities[field], ttl: 60, ...spec } }) as const;

describeRows('what the creator changes after the right to impersonate was taken away', [
  ...fields.map((field) =>
    changing('demoted', 'PUT', {
      does: `may not set their own key where one speaks for a ${field}`,
      before: made(field),
      content: { spec: { key: 'their-own-key-of-twenty-characters' } },
      answer: [403, messages[field]],
    }),
  ),
  ...flavours.map((flavour) =>
    changing('demoted', flavour, {
      does: `may not widen a key by ${flavour}`,
      before: made('user', { scope: {} }),
      content: { spec: { allowedNamespaces: ['default'] } },
      answer: [403, messages.user],
    }),
  ),
  changing('demoted', 'JSON patch', {
    does: 'does not get round it by dropping spec, with which the identity would go',
    before: made('team'),
    patch: [{ op: 'replace', path: '/spec', value: { scope: {} } }],
    answer: [403, messages.team],
  }),
  changing('demoted', 'PUT', {
    does: 'does not get round it by emptying the identity',
    before: made('subject'),
    content: { spec: { subject: '', ttl: 90 } },
    answer: [403, messages.subject],
  }),
  changing('demoted', 'merge patch', {
    does: 'may not take a limit away',
    before: made('user', { scope: {} }),
    content: { spec: { scope: null } },
    answer: [403, messages.user],
  }),
  changing('demoted', 'merge patch', {
    does: 'may not enable a key that was disabled',
    before: made('user', { disabled: true }),
    content: { spec: { disabled: false } },
    answer: [403, messages.user],
  }),
  changing('demoted', 'merge patch', {
    does: 'may not send its credential to another Secret',
    before: made('user', { secretRef: { namespace: 'default', name: 'one' } }),
    content: { spec: { secretRef: { namespace: 'default', name: 'two' } } },
    answer: [403, /^spec\.(user|secretRef): /],
  }),
  ...flavours.map((flavour) =>
    changing('demoted', flavour, {
      does: `still renames and disables it by ${flavour}`,
      before: made('user'),
      content: { spec: { disabled: true, displayName: 'old' } },
      answer: 'allowed',
    }),
  ),
  changing('master', 'JSON patch', {
    does: 'drops spec, and the key goes on speaking for the team',
    before: made('team'),
    patch: [{ op: 'replace', path: '/spec', value: { scope: {} } }],
    answer: 'allowed',
  }),
]);
