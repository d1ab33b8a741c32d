import { ownedAccessKeys } from '../../../src/api/resources.ts';
import type { Person } from './people.ts';
import { type Content, describeRows, type Row } from './rows.ts';
import { by, changes, creationOf, flavours, type Spec } from './shorthand.ts';

const messages = {
  user: 'spec.user: a key for another user is made and widened by those with the verb impersonate on that user; ask one of them, or make a key of your own without spec.user',
  team: 'spec.team: a key for a team is made and widened by those with the verb impersonate on the user and on the group team:<team>, which its members do not have as such; ask one of them, or make a key of your own without spec.team',
  subject:
    'spec.subject: a key for a subject is made and widened by those with the verb impersonate on the user of that name; ask one of them, or make a key of your own without spec.subject',
} as const;

type Field = keyof typeof messages;

const making = creationOf(ownedAccessKeys);
/** More than a signed number of 64 bits can be added to; as it is, because JavaScript cannot hold it. */
const forEver = (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON('9223372036854775807');

const no = (field: Field) => [403, messages[field]] as const;

const refused = (who: Person, field: Field, name: string, why = ''): Row =>
  making(who, `makes no key for the ${field} ${name}${why}`, { [field]: name }, no(field));

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
  making('mallory', 'makes no key for alice below a key', { accessKey: 'hers', user: 'alice' }, no('user')),
  making('mallory', 'makes no key for a list of users', { user: ['alice'] }, [422, /spec\.user/]),
  making('alice', 'has no key without end by too large a number', { ttl: forEver }, [422, /spec\.ttl/]),
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

const endless: Content = { spec: { ttl: forEver } };
const prolonged: Content = { spec: { displayName: 'prolonged', ttlAfterLastActivity: true } };
const on: Content = { spec: { disabled: false } };
const texts: Content = { spec: { disabled: true, displayName: 'old', description: 'not in use' } };

describeRows('what the owner changes', [
  ...changes(ownedAccessKeys, { by: 'alice', spec: { user: 'alice', ttl: 60 } }, [
    ['alice', 'PUT', 'has no key without end by a number that is too large', endless, [422, /spec\.ttl/]],
    ['alice', 'PUT', 'prolongs her own key', { spec: { ttl: 120 } }, 'allowed'],
    ['holder', 'PUT', 'limits her own key over another one of hers', { spec: { scope: {} } }, 'allowed'],
  ]),
  ...changes(ownedAccessKeys, { by: 'argocd', spec: { subject: 'root', ttl: 60 } }, [
    ['root', flavours, 'may not prolong the key of the subject that they are', prolonged, no('subject')],
  ]),
  ...changes(ownedAccessKeys, { by: 'argocd', spec: { subject: 'root', disabled: true } }, [
    ['root', 'merge patch', 'may not enable the key of the subject that they are', on, no('subject')],
  ]),
  ...changes(ownedAccessKeys, { by: 'argocd', spec: { subject: 'root' } }, [
    ['root', 'merge patch', 'renames and disables the key of the subject that they are', texts, 'allowed'],
  ]),
]);

const identities = { user: 'alice', team: 'blue', subject: 'build-farm' } as const;
const fields = ['user', 'team', 'subject'] as const;
/** Made by somebody who may do everything, and who is `demoted` now. */
const made = (field: Field, spec: Spec = {}) =>
  ({ by: 'master', spec: { [field]: identities[field], ttl: 60, ...spec } }) as const;
const ownKey: Content = { spec: { key: 'their-own-key-of-twenty-characters' } };
const open: Content = { spec: { allowedNamespaces: ['default'] } };
const renamed: Content = { spec: { disabled: true, displayName: 'old' } };
const emptied: Content = { spec: { subject: '', ttl: 90 } };
const secret = (name: string) => ({ secretRef: { namespace: 'default', name } });

describeRows('what the creator changes after the right to impersonate was taken away', [
  ...fields.flatMap((field) =>
    changes(ownedAccessKeys, made(field), [
      ['demoted', 'PUT', `may not set their own key where one speaks for a ${field}`, ownKey, no(field)],
    ]),
  ),
  ...changes(ownedAccessKeys, made('user', { scope: {} }), [
    ['demoted', flavours, 'may not widen a key', open, no('user')],
    ['demoted', 'merge patch', 'may not take a limit away', { spec: { scope: null } }, no('user')],
  ]),
  ...changes(ownedAccessKeys, made('subject'), [
    ['demoted', 'PUT', 'does not get round it by emptying the identity', emptied, no('subject')],
  ]),
  ...changes(ownedAccessKeys, made('user', { disabled: true }), [
    ['demoted', 'merge patch', 'may not enable a key that was disabled', on, no('user')],
  ]),
  ...changes(ownedAccessKeys, made('user', secret('one')), [
    [
      'demoted',
      'merge patch',
      'may not send its credential to another Secret',
      { spec: secret('two') },
      [403, /^spec\.(user|secretRef): /],
    ],
  ]),
  ...changes(ownedAccessKeys, made('user'), [
    ['demoted', flavours, 'still renames and disables it', renamed, 'allowed'],
  ]),
  ...[
    [
      'demoted',
      'does not get round it by dropping spec, with which the identity would go',
      no('team'),
    ] as const,
    ['master', 'drops spec, and the key goes on speaking for the team', 'allowed'] as const,
  ].map(
    ([who, does, answer]): Row => ({
      ...{ who, does, answer, resource: ownedAccessKeys, before: made('team') },
      attempt: { verb: 'update', flavour: 'JSON patch' },
      patch: [{ op: 'replace', path: '/spec', value: { scope: {} } }],
    }),
  ),
]);
