import {
  directClusterEndpointTokens,
  ownedAccessKeys,
  type Resource,
  virtualClusterInstanceKubeConfigs,
} from '../../../src/api/resources.ts';
import { notTheirsNorPermitted } from './answers.ts';
import type { Person } from './people.ts';
import { type Content, describeRows, type Flavour, type Row } from './rows.ts';

const flavours: readonly Flavour[] = ['PUT', 'merge patch', 'JSON patch', 'apply', 'forced apply'];
const key = 'lk_plainplainplainplainplainplainplainplainplainplai';
const hash = `sha256:${'0123456789abcdef'.repeat(4)}`;

const alices = { by: 'alice', spec: { user: 'alice' } } as const;
const withKey = { by: 'alice', spec: { user: 'alice', key } } as const;
const forAlice = { by: 'carol', spec: { user: 'alice' } } as const;
const ofTheTeam = { by: 'carol', spec: { team: 'blue', scope: {} } } as const;
const tokenOfAlice = { by: 'alice', spec: {} } as const;
const kubeConfigOfAlice = { by: 'alice', spec: { virtualClusterInstance: 'usable' } } as const;
const described: Content = { spec: { description: 'changed' } };

const update = (who: Person, flavour: Flavour, row: Omit<Row, 'who' | 'attempt' | 'does'>): Row => ({
  who,
  does: `${row.answer === 'allowed' ? 'changes' : 'does not change'} the ${row.resource.kind} by ${flavour}`,
  attempt: { verb: 'update', flavour },
  ...row,
});

/** Makes a row for every flavour, or for those that the person may send. */
const everyFlavour = (
  who: Person,
  row: Omit<Row, 'who' | 'attempt' | 'does'>,
  only: readonly Flavour[] = flavours,
): readonly Row[] => only.map((flavour) => update(who, flavour, row));

describeRows('the description of a key that is not theirs', [
  ...(['mallory', 'tina', 'blue', 'carol'] as const).map((who) =>
    update(who, 'PUT', {
      resource: ownedAccessKeys,
      before: alices,
      content: described,
      answer: 'not theirs',
    }),
  ),
  ...(['root', 'master', 'argocd', 'warden'] as const).flatMap((who) =>
    everyFlavour(who, {
      resource: ownedAccessKeys,
      before: alices,
      content: described,
      answer: 'not theirs',
    }),
  ),
]);

/** Changes that take the rights to make the result, too. */
const wider: readonly (readonly [string, Content])[] = [
  ['a key of their own', { spec: { key: hash } }],
  ['more groups', { spec: { groups: ['devs'], scope: {} } }],
  ['a longer life', { spec: { ttl: 3_153_600_000 } }],
  ['a shorter life', { spec: { ttl: 1 } }],
  ['a scope', { spec: { scope: {} } }],
  ['an invitation', { spec: { allowedNamespaces: ['default'] } }],
  ['disabled: false', { spec: { disabled: false } }],
];

const changes: readonly (readonly [string, Content])[] = [
  ['a label', { metadata: { labels: { 'example.com/team': 'mine' } } }],
  ['an annotation', { metadata: { annotations: { 'example.com/note': 'mine' } } }],
  ['a rotation', { metadata: { annotations: { 'management.platform.sh/rotate': 'now' } } }],
  ['a finalizer that no one takes off', { metadata: { finalizers: ['example.com/mine'] } }],
  [
    'an owner that lives longer',
    {
      metadata: {
        ownerReferences: [
          {
            apiVersion: 'v1',
            kind: 'Namespace',
            name: 'default',
            uid: '0b9a3f0e-59a5-4f5a-8f4e-0a6f3a1f1c11',
          },
        ],
      },
    },
  ],
];

/** The answer of the schema. Readers of the object meet it first, and it shows them nothing new. */
const keyAndSecret = [422, /spec\.key and spec\.secretRef exclude each other/] as const;
const toSecret: Content = { spec: { secretRef: { namespace: 'default', name: 'mine' } } };

describeRows('a change of a key that is not theirs', [
  ...[...wider, ...changes].map(
    ([name, content]): Row => ({
      who: 'root',
      does: `sets ${name} and is refused`,
      resource: ownedAccessKeys,
      attempt: { verb: 'update', flavour: 'merge patch' },
      before: alices,
      content,
      answer: content.spec === undefined ? 'not theirs' : notTheirsNorPermitted,
    }),
  ),
  ...(['root', 'argocd'] as const).map((who) =>
    update(who, 'merge patch', {
      resource: ownedAccessKeys,
      before: alices,
      content: toSecret,
      answer: keyAndSecret,
    }),
  ),
  update('warden', 'merge patch', {
    resource: ownedAccessKeys,
    before: alices,
    content: toSecret,
    answer: 'not theirs',
  }),
  ...[...wider, ...changes].map(
    ([name, content]): Row => ({
      who: 'argocd',
      does: `applies ${name} with force to a name that somebody took first, and is refused`,
      resource: ownedAccessKeys,
      attempt: { verb: 'update', flavour: 'forced apply' },
      before: { by: 'mallory', spec: { user: 'mallory' } },
      content,
      answer: 'not theirs',
    }),
  ),
  {
    who: 'mallory',
    does: 'empties somebody else’s key by a PUT without spec and is refused',
    resource: ownedAccessKeys,
    attempt: { verb: 'update', flavour: 'PUT' },
    before: withKey,
    content: { spec: { user: null, key: null, description: 'x' } },
    answer: 'not theirs',
  },
  {
    who: 'mallory',
    does: 'reads nothing by a PUT that changes nothing',
    resource: directClusterEndpointTokens,
    attempt: { verb: 'update', flavour: 'PUT' },
    before: tokenOfAlice,
    answer: 'not theirs',
  },
  {
    who: 'root',
    does: 'sends back what is there',
    resource: ownedAccessKeys,
    attempt: { verb: 'update', flavour: 'PUT' },
    before: alices,
    answer: 'allowed',
  },
]);

const issued: readonly (readonly [Resource, Row['before'], Content])[] = [
  [
    directClusterEndpointTokens,
    tokenOfAlice,
    { spec: { secretRef: { namespace: 'default', name: 'mine' } } },
  ],
  [virtualClusterInstanceKubeConfigs, kubeConfigOfAlice, { spec: { secretRef: { name: 'mine' } } }],
];

describeRows(
  'a token or kubeconfig that is not theirs',
  issued.flatMap(([resource, before = alices, content]) => [
    ...(['mallory', 'tina', 'carol'] as const).map((who) =>
      update(who, 'PUT', { resource, before, content, answer: 'not theirs' }),
    ),
    ...everyFlavour('root', { resource, before, content, answer: notTheirsNorPermitted }),
    update('master', 'merge patch', { resource, before, content, answer: 'not theirs' }),
    update('argocd', 'forced apply', { resource, before, content, answer: 'not theirs' }),
    update('warden', 'JSON patch', { resource, before, content, answer: 'not theirs' }),
    update('alice', 'PUT', { resource, before, content: described, answer: 'allowed' }),
    update('holder', 'PUT', { resource, before, content: described, answer: 'allowed' }),
  ]),
);

const off: Content = { spec: { disabled: true } };

const more: readonly (readonly [string, Content, Row['answer']?])[] = [
  ['a shorter life', { spec: { disabled: true, ttl: 60 } }, notTheirsNorPermitted],
  ['another description', { spec: { disabled: true, description: 'leaked' } }],
  ['another key', { spec: { disabled: true, key: hash } }, notTheirsNorPermitted],
  ['an annotation', { spec: { disabled: true }, metadata: { annotations: { note: 'leaked' } } }],
  ['a label', { spec: { disabled: true }, metadata: { labels: { state: 'leaked' } } }],
  ['a finalizer', { spec: { disabled: true }, metadata: { finalizers: ['example.com/hold'] } }],
];

describeRows('turning off a key that is not theirs', [
  update('mallory', 'PUT', { resource: ownedAccessKeys, before: alices, content: off, answer: 'not theirs' }),
  update('carol', 'PUT', { resource: ownedAccessKeys, before: alices, content: off, answer: 'not theirs' }),
  ...everyFlavour('root', { resource: ownedAccessKeys, before: alices, content: off, answer: 'allowed' }),
  ...everyFlavour('master', { resource: ownedAccessKeys, before: alices, content: off, answer: 'allowed' }),
  ...everyFlavour('warden', { resource: ownedAccessKeys, before: alices, content: off, answer: 'allowed' }),
  {
    who: 'warden',
    does: 'turns it off once more',
    resource: ownedAccessKeys,
    attempt: { verb: 'update', flavour: 'merge patch' },
    before: { by: 'alice', spec: { user: 'alice', disabled: true } },
    content: off,
    answer: 'allowed',
  },
  ...more.map(
    ([name, content, answer = 'not theirs']): Row => ({
      who: 'root',
      does: `turns it off with ${name} and is refused`,
      resource: ownedAccessKeys,
      attempt: { verb: 'update', flavour: 'merge patch' },
      before: withKey,
      content,
      answer,
    }),
  ),
  {
    who: 'root',
    does: 'turns it on again and is refused',
    resource: ownedAccessKeys,
    attempt: { verb: 'update', flavour: 'merge patch' },
    before: { by: 'alice', spec: { user: 'alice', disabled: true } },
    content: { spec: { disabled: false } },
    answer: notTheirsNorPermitted,
  },
  {
    who: 'argocd',
    does: 'drops disabled from it and is refused',
    resource: ownedAccessKeys,
    attempt: { verb: 'update', flavour: 'merge patch' },
    before: { by: 'alice', spec: { user: 'alice', disabled: true } },
    content: { spec: { disabled: false } },
    answer: 'not theirs',
  },
]);

const child = { by: 'carol', spec: { accessKey: 'laptop' } } as const;

describeRows('a key that is theirs', [
  ...(['alice', 'carol', 'holder'] as const).map((who) =>
    update(who, 'PUT', {
      resource: ownedAccessKeys,
      before: forAlice,
      content: described,
      answer: 'allowed',
    }),
  ),
  ...(['carol', 'blue'] as const).map((who) =>
    update(who, 'PUT', {
      resource: ownedAccessKeys,
      before: ofTheTeam,
      content: described,
      answer: 'allowed',
    }),
  ),
  {
    who: 'tina',
    does: 'as a member of the team does not change the key of the team',
    resource: ownedAccessKeys,
    attempt: { verb: 'update', flavour: 'PUT' },
    before: ofTheTeam,
    content: described,
    answer: 'not theirs',
  },
  {
    who: 'tina',
    does: 'changes a key for the subject of that name',
    resource: ownedAccessKeys,
    attempt: { verb: 'update', flavour: 'PUT' },
    before: { by: 'master', spec: { subject: 'tina', scope: {} } },
    content: described,
    answer: 'allowed',
  },
  {
    who: 'carol',
    does: 'changes the key that she made below another',
    resource: ownedAccessKeys,
    attempt: { verb: 'update', flavour: 'PUT' },
    before: child,
    content: described,
    answer: 'allowed',
  },
  {
    who: 'alice',
    does: 'does not change a key that another made below hers',
    resource: ownedAccessKeys,
    attempt: { verb: 'update', flavour: 'PUT' },
    before: child,
    content: described,
    answer: 'not theirs',
  },
  {
    who: 'carol',
    does: 'does not change a key because she may impersonate its user',
    resource: ownedAccessKeys,
    attempt: { verb: 'update', flavour: 'PUT' },
    before: alices,
    content: described,
    answer: 'not theirs',
  },
  ...everyFlavour('argocd', {
    resource: ownedAccessKeys,
    before: { by: 'argocd', spec: { user: 'ci' } },
    content: described,
    answer: 'allowed',
  }),
  ...(['operator', 'garbageCollector', 'namespaceController'] as const).map((who) =>
    update(who, 'merge patch', {
      resource: ownedAccessKeys,
      before: alices,
      content: { metadata: { finalizers: ['example.com/theirs'] } },
      answer: 'allowed',
    }),
  ),
  {
    who: 'root',
    does: 'does not write the status',
    resource: ownedAccessKeys,
    attempt: { verb: 'update', flavour: 'merge patch', subresource: 'status' },
    before: alices,
    content: described,
    answer: [403, 'status: only Latchkey writes it; change spec instead'],
  },
]);
