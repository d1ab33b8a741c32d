import {
  ownedAccessKeys as keys,
  virtualClusterInstanceKubeConfigs as kubeConfigs,
  type Resource,
  directClusterEndpointTokens as tokens,
} from '../../../src/api/resources.ts';
import { notTheirsNorPermitted } from './answers.ts';
import { type Content, describeRows, type Row } from './rows.ts';
import { type Change, changes, flavours } from './shorthand.ts';

const key = 'lk_plainplainplainplainplainplainplainplainplainplai';
const hash = `sha256:${'0123456789abcdef'.repeat(4)}`;

const alices = { by: 'alice', spec: { user: 'alice' } } as const;
const withKey = { by: 'alice', spec: { user: 'alice', key } } as const;
const turnedOff = { by: 'alice', spec: { user: 'alice', disabled: true } } as const;
const described: Content = { spec: { description: 'changed' } };
const off: Content = { spec: { disabled: true } };
const on: Content = { spec: { disabled: false } };

/** Who may send each flavour, and owns nothing. */
const readers = ['root', 'master', 'argocd', 'warden'] as const;

describeRows(
  'the description of a key that is not theirs',
  changes(keys, alices, [
    [['mallory', 'tina', 'blue', 'carol'], 'PUT', 'does not change it', described, 'not theirs'],
    [readers, flavours, 'does not change it', described, 'not theirs'],
  ]),
);

const namespace = { apiVersion: 'v1', kind: 'Namespace', name: 'default' };
const uid = '0b9a3f0e-59a5-4f5a-8f4e-0a6f3a1f1c11';

/** Edits of metadata, and of the spec, which take the rights to make the result, too. */
const edits: readonly (readonly [string, Content])[] = [
  ['a key of their own', { spec: { key: hash } }],
  ['more groups', { spec: { groups: ['devs'], scope: {} } }],
  ['a longer life', { spec: { ttl: 3_153_600_000 } }],
  ['a shorter life', { spec: { ttl: 1 } }],
  ['a scope', { spec: { scope: {} } }],
  ['an invitation', { spec: { allowedNamespaces: ['default'] } }],
  ['disabled: false', on],
  ['a label', { metadata: { labels: { 'example.com/team': 'mine' } } }],
  ['an annotation', { metadata: { annotations: { 'example.com/note': 'mine' } } }],
  ['a rotation', { metadata: { annotations: { 'management.platform.sh/rotate': 'now' } } }],
  ['a finalizer that no one takes off', { metadata: { finalizers: ['example.com/mine'] } }],
  ['an owner that lives longer', { metadata: { ownerReferences: [{ ...namespace, uid }] } }],
];

/** The answer of the schema. Readers of the object meet it first, and it shows them nothing new. */
const keyAndSecret = [422, /spec\.key and spec\.secretRef exclude each other/] as const;
const toSecret: Content = { spec: { secretRef: { namespace: 'default', name: 'mine' } } };
const emptied: Content = { spec: { user: null, key: null, description: 'x' } };

describeRows('a change of a key that is not theirs', [
  ...changes(keys, alices, [
    ...edits.map(
      ([name, content]): Change => [
        'root',
        'merge patch',
        `sets ${name} and is refused`,
        content,
        content.spec === undefined ? 'not theirs' : notTheirsNorPermitted,
      ],
    ),
    [['root', 'argocd'], 'merge patch', 'adds no Secret to a key', toSecret, keyAndSecret],
    ['warden', 'merge patch', 'adds no Secret to a key', toSecret, 'not theirs'],
  ]),
  ...changes(
    keys,
    { by: 'mallory', spec: { user: 'mallory' } },
    edits.map(([name, content]) => [
      'argocd',
      'forced apply',
      `applies ${name} with force to a name that somebody took first, and is refused`,
      content,
      'not theirs',
    ]),
  ),
  ...changes(keys, withKey, [
    ['mallory', 'PUT', 'empties somebody else’s key without spec and is refused', emptied, 'not theirs'],
  ]),
]);

const issued: readonly (readonly [Resource, NonNullable<Row['before']>, Content])[] = [
  [tokens, { by: 'alice', spec: {} }, toSecret],
  [
    kubeConfigs,
    { by: 'alice', spec: { virtualClusterInstance: 'usable' } },
    { spec: { secretRef: { name: 'mine' } } },
  ],
];

describeRows(
  'a token or kubeconfig that is not theirs',
  issued.flatMap(([resource, before, content]) => {
    const [not, yes] = [`does not change the ${resource.kind}`, `changes the ${resource.kind}`];
    return changes(resource, before, [
      [['mallory', 'tina', 'carol'], 'PUT', not, content, 'not theirs'],
      ['root', flavours, not, content, notTheirsNorPermitted],
      ['master', 'merge patch', not, content, 'not theirs'],
      ['argocd', 'forced apply', not, content, 'not theirs'],
      ['warden', 'JSON patch', not, content, 'not theirs'],
      [['alice', 'holder'], 'PUT', yes, described, 'allowed'],
    ]);
  }),
);

const more: readonly (readonly [string, Content, Row['answer']])[] = [
  ['a shorter life', { spec: { disabled: true, ttl: 60 } }, notTheirsNorPermitted],
  ['another description', { spec: { disabled: true, description: 'leaked' } }, 'not theirs'],
  ['another key', { spec: { disabled: true, key: hash } }, notTheirsNorPermitted],
  ['an annotation', { ...off, metadata: { annotations: { note: 'leaked' } } }, 'not theirs'],
  ['a label', { ...off, metadata: { labels: { state: 'leaked' } } }, 'not theirs'],
  ['a finalizer', { ...off, metadata: { finalizers: ['example.com/hold'] } }, 'not theirs'],
];

describeRows('turning off a key that is not theirs', [
  ...changes(keys, alices, [
    [['mallory', 'carol'], 'PUT', 'does not turn it off', off, 'not theirs'],
    [['root', 'master', 'warden'], flavours, 'turns it off', off, 'allowed'],
  ]),
  ...changes(
    keys,
    withKey,
    more.map(([name, content, answer]) => [
      'root',
      'merge patch',
      `turns it off with ${name} and is refused`,
      content,
      answer,
    ]),
  ),
  ...changes(keys, turnedOff, [
    ['warden', 'merge patch', 'turns it off once more', off, 'allowed'],
    ['root', 'merge patch', 'turns it on again and is refused', on, notTheirsNorPermitted],
    ['argocd', 'merge patch', 'drops disabled from it and is refused', on, 'not theirs'],
  ]),
]);

const theirs: Content = { metadata: { finalizers: ['example.com/theirs'] } };
const onlyLatchkey = [403, 'status: only Latchkey writes it; change spec instead'] as const;
const notForTheTeam = 'as a member of the team does not change the key of the team';

describeRows('a key that is theirs', [
  ...changes(keys, { by: 'carol', spec: { user: 'alice' } }, [
    [['alice', 'carol', 'holder'], 'PUT', 'changes it', described, 'allowed'],
  ]),
  ...changes(keys, { by: 'carol', spec: { team: 'blue', scope: {} } }, [
    [['carol', 'blue'], 'PUT', 'changes the key of the team', described, 'allowed'],
    ['tina', 'PUT', notForTheTeam, described, 'not theirs'],
  ]),
  ...changes(keys, { by: 'master', spec: { subject: 'tina', scope: {} } }, [
    ['tina', 'PUT', 'changes a key for the subject of that name', described, 'allowed'],
  ]),
  ...changes(keys, { by: 'carol', spec: { accessKey: 'laptop' } }, [
    ['carol', 'PUT', 'changes the key that she made below another', described, 'allowed'],
    ['alice', 'PUT', 'does not change a key that another made below hers', described, 'not theirs'],
  ]),
  ...changes(keys, { by: 'argocd', spec: { user: 'ci' } }, [
    ['argocd', flavours, 'changes what they declared', described, 'allowed'],
  ]),
  ...changes(keys, alices, [
    [
      ['operator', 'garbageCollector', 'namespaceController'],
      'merge patch',
      'holds it by a finalizer',
      theirs,
      'allowed',
    ],
  ]),
  {
    who: 'root',
    does: 'does not write the status',
    resource: keys,
    attempt: { verb: 'update', flavour: 'merge patch', subresource: 'status' },
    before: alices,
    content: described,
    answer: onlyLatchkey,
  },
]);
