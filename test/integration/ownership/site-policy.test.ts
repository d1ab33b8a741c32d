import { afterAll } from 'vitest';
import {
  directClusterEndpointTokens,
  ownedAccessKeys,
  type Resource,
  virtualClusterInstanceKubeConfigs,
} from '../../../src/api/resources.ts';
import type { World } from '../admission/world.ts';
import { largestRules } from './largest-spec.ts';
import { describeRows, type Flavour, type Row } from './rows.ts';
import { clearPolicy, dropPolicy, setPolicy } from './site-policy.ts';

afterAll(clearPolicy);

const keys = ownedAccessKeys;
const tokens = directClusterEndpointTokens;
const kubeConfigs = virtualClusterInstanceKubeConfigs;

const config = 'in the ConfigMap latchkey-system/latchkey-site-policy';
const keyLife = (seconds: number, entry: string): string =>
  `spec.ttl: must be set, and at most ${seconds} seconds, by ${entry} ${config}`;
const tokenLife = `spec.ttl (86400 when absent): must be at most 7200 seconds, by maxTokenTTL ${config}`;
const certificateLife = `spec.certificateTTL (86400 when absent): must not be 0, and at most 7200 seconds, by maxCertificateTTL ${config}`;
const noScope = `spec.scope: must be set, by requireScope ${config}`;
const plainKey = `spec.key: must be sha256: and a hash, or be left out, by acceptPlainKey ${config}`;

const everything = async (world: World): Promise<void> =>
  void (await setPolicy(world, {
    maxKeyTTL: '86400',
    'maxKeyTTL.Login': '3600',
    'maxKeyTTL.User': '43200',
    maxTokenTTL: '7200',
    maxCertificateTTL: '7200',
    requireEnd: 'true',
    requireScope: 'all',
    acceptPlainKey: 'false',
  }));

type Fields = Record<string, unknown>;
const plain = 'x'.repeat(40);
const hash = `sha256:${'0123456789abcdef'.repeat(4)}`;
const fine: readonly (readonly [Resource, Fields])[] = [
  [keys, { user: 'alice', ttl: 3600, scope: {} }],
  [tokens, { ttl: 3600, scope: {} }],
  [kubeConfigs, { certificateTTL: 3600 }],
];
const fineOf = (resource: Resource): Fields => fine.find(([one]) => one === resource)?.[1] ?? {};

const creation = (does: string, resource: Resource, spec: Fields, answer: string | Row['answer']): Row => ({
  who: 'master',
  does,
  resource,
  attempt: { verb: 'create' },
  content: { spec: absentForNull({ ...fineOf(resource), ...spec }) },
  answer:
    answer === 'allowed' || answer === 'not theirs' || typeof answer !== 'string' ? answer : [403, answer],
});

const absentForNull = (spec: Fields): Fields =>
  Object.fromEntries(Object.entries(spec).map(([field, value]) => [field, value ?? undefined]));

describeRows(
  'creation under a site policy',
  [
    creation('makes no key for longer', keys, { ttl: 86_401 }, keyLife(86_400, 'maxKeyTTL')),
    ...(['apply', 'generateName'] as const).map((flavour) => ({
      ...creation(
        `makes no key for longer by ${flavour}`,
        keys,
        { ttl: 86_401 },
        keyLife(86_400, 'maxKeyTTL'),
      ),
      attempt: { verb: 'create', flavour } as const,
    })),
    creation('makes no key without a ttl', keys, { ttl: null }, keyLife(86_400, 'maxKeyTTL')),
    creation('makes no key with ttl 0', keys, { ttl: 0 }, keyLife(86_400, 'maxKeyTTL')),
    creation('makes no key for a hundred years', keys, { ttl: 3_153_600_000 }, keyLife(86_400, 'maxKeyTTL')),
    {
      ...creation('makes no key of ttl 9223372036854775807', keys, { ttl: 0 }, 'allowed'),
      content: { spec: { ...fineOf(keys), ttl: 2 ** 63 } },
      answer: [422, /spec\.ttl/],
    },
    creation(
      'makes no session for longer',
      keys,
      { type: 'Login', ttl: 3601 },
      keyLife(3600, 'maxKeyTTL.Login'),
    ),
    creation(
      'makes no key of users for longer',
      keys,
      { type: 'User', ttl: 43_201 },
      keyLife(43_200, 'maxKeyTTL.User'),
    ),
    creation(
      'makes no key of a type without a limit of its own for longer',
      keys,
      { type: 'Other', ttl: 86_401 },
      keyLife(86_400, 'maxKeyTTL'),
    ),
    creation(
      'makes no idle key for longer',
      keys,
      { ttl: 86_401, ttlAfterLastActivity: true },
      keyLife(86_400, 'maxKeyTTL'),
    ),
    creation(
      'makes no key below another without an end of its own',
      keys,
      { user: null, accessKey: 'parent', ttl: null },
      keyLife(86_400, 'maxKeyTTL'),
    ),
    creation(
      'makes no key for longer that is disabled for now',
      keys,
      { ttl: 86_401, disabled: true },
      keyLife(86_400, 'maxKeyTTL'),
    ),
    creation('makes no token for longer', tokens, { ttl: 7201 }, tokenLife),
    creation('makes no token of the default life', tokens, { ttl: null }, tokenLife),
    creation('makes no token with ttl 0, which is the default life', tokens, { ttl: 0 }, tokenLife),
    creation('makes no kubeconfig for longer', kubeConfigs, { certificateTTL: 7201 }, certificateLife),
    creation(
      'makes no kubeconfig with a certificate for longer',
      kubeConfigs,
      { certificateTTL: 7201, clientCert: true },
      certificateLife,
    ),
    creation(
      'makes no kubeconfig of the default life',
      kubeConfigs,
      { certificateTTL: null },
      certificateLife,
    ),
    creation(
      'makes no kubeconfig as long as the signer likes',
      kubeConfigs,
      { certificateTTL: 0, clientCert: true },
      certificateLife,
    ),
    creation('makes no key without a scope', keys, { scope: null }, noScope),
    creation('makes no token without a scope', tokens, { scope: null }, noScope),
    creation(
      'makes no token with an empty list of rules for a scope',
      tokens,
      { scope: null, rules: [] },
      noScope,
    ),
    creation('makes no plain key', keys, { key: plain }, plainKey),
    creation(
      'makes no plain key that looks like a hash',
      keys,
      { key: `sha256_${'a'.repeat(64)}` },
      plainKey,
    ),
    { ...creation('makes no plain key of her own', keys, { key: plain }, plainKey), who: 'alice' },
    creation('makes a key of the longest life', keys, { ttl: 86_400 }, 'allowed'),
    creation('makes a session of the longest life', keys, { type: 'Login', ttl: 3600 }, 'allowed'),
    creation('makes an idle key', keys, { ttlAfterLastActivity: true }, 'allowed'),
    creation('makes a key by its hash', keys, { key: hash }, 'allowed'),
    creation('makes a key with an empty key, which is generated', keys, { key: '' }, 'allowed'),
    creation(
      'makes a key in a Secret',
      keys,
      { secretRef: { namespace: 'default', name: 'site-policy' } },
      'allowed',
    ),
    creation('makes a token of the longest life', tokens, { ttl: 7200 }, 'allowed'),
    creation(
      'makes a token with rules for a scope',
      tokens,
      { scope: null, rules: [{ verbs: ['get'] }] },
      'allowed',
    ),
    creation('makes a token with the largest scope', tokens, { scope: { rules: largestRules } }, 'allowed'),
    creation('makes a kubeconfig of the longest life', kubeConfigs, { certificateTTL: 7200 }, 'allowed'),
    {
      ...creation('restores what it finds', keys, { ttl: null, scope: null, key: plain }, 'allowed'),
      who: 'namespaceController',
    },
  ],
  everything,
);

const update = (
  does: string,
  [resource, spec]: readonly [Resource, Fields],
  answer: string | 'allowed',
  flavour: Flavour = 'PUT',
): Row => ({
  who: 'master',
  does,
  resource,
  before: { by: 'master', spec: fineOf(resource) },
  attempt: { verb: 'update', flavour },
  content: { spec },
  answer: answer === 'allowed' ? answer : [403, answer],
});
const flavours = ['PUT', 'JSON patch', 'merge patch', 'apply', 'forced apply'] as const;
/** Server-side apply of a field that somebody else set is a conflict unless it is forced. */
const orConflict = (row: Row, flavour: Flavour): Row =>
  flavour === 'apply' ? { ...row, answer: [409, /conflict/] } : row;

describeRows(
  'an update under a site policy',
  [
    ...flavours.map((flavour) =>
      orConflict(
        update(
          `does not prolong a key by ${flavour}`,
          [keys, { ttl: 86_401 }],
          keyLife(86_400, 'maxKeyTTL'),
          flavour,
        ),
        flavour,
      ),
    ),
    ...flavours.map((flavour) => ({
      ...update(`does not put a plain key in by ${flavour}`, [keys, { key: plain }], plainKey, flavour),
      before: { by: 'master', spec: { ...fineOf(keys), key: undefined } } as const,
    })),
    update('does not take the end away by PUT', [keys, { ttl: null }], keyLife(86_400, 'maxKeyTTL')),
    update(
      'does not take the end away by a merge patch',
      [keys, { ttl: null }],
      keyLife(86_400, 'maxKeyTTL'),
      'merge patch',
    ),
    {
      ...update(
        'does not take the end away by a JSON patch',
        [keys, {}],
        keyLife(86_400, 'maxKeyTTL'),
        'JSON patch',
      ),
      patch: [{ op: 'remove', path: '/spec/ttl' }],
    },
    update(
      'does not make a key a session that lives too long',
      [keys, { type: 'Login', ttl: 3601 }],
      keyLife(3600, 'maxKeyTTL.Login'),
    ),
    update(
      'does not prolong a disabled key',
      [keys, { ttl: 86_401, disabled: true }],
      keyLife(86_400, 'maxKeyTTL'),
    ),
    update('does not lift the scope of a key', [keys, { scope: null }], noScope),
    update('does not lift the scope of a token', [tokens, { scope: null }], noScope, 'merge patch'),
    update('does not prolong a token', [tokens, { ttl: 7201 }], tokenLife),
    update('does not give a token the default life', [tokens, { ttl: null }], tokenLife),
    update('does not prolong a kubeconfig', [kubeConfigs, { certificateTTL: 7201 }], certificateLife),
    update(
      'does not give a kubeconfig to the signer',
      [kubeConfigs, { certificateTTL: 0 }],
      certificateLife,
      'merge patch',
    ),
    update('prolongs a key within the limit', [keys, { ttl: 86_400 }], 'allowed'),
    update('puts a hash in', [keys, { key: hash }], 'allowed'),
    update('disables a key', [keys, { disabled: true }], 'allowed', 'merge patch'),
    {
      ...update('writes a key that it generated', [keys, { key: plain }], 'allowed', 'merge patch'),
      who: 'operator',
    },
    {
      ...update('marks a key as ended', [keys, { disabled: true }], 'allowed', 'merge patch'),
      who: 'operator',
    },
  ],
  everything,
);

describeRows(
  'a fixed end',
  [
    creation(
      'does not move with use',
      keys,
      { ttlAfterLastActivity: true },
      `spec.ttlAfterLastActivity: must not be true, by requireEnd ${config}`,
    ),
    creation('is set', keys, { ttl: null }, `spec.ttl: must be set, by requireEnd ${config}`),
    update(
      'is not given up for an idle one',
      [keys, { ttlAfterLastActivity: true }],
      `spec.ttlAfterLastActivity: must not be true, by requireEnd ${config}`,
    ),
    creation('lets a key live for a hundred years', keys, { ttl: 3_153_600_000, scope: null }, 'allowed'),
    creation('asks nothing of a token', tokens, { ttl: null, scope: null }, 'allowed'),
  ],
  async (world) => void (await setPolicy(world, { requireEnd: 'fixed', requireScope: 'none' })),
);

describeRows(
  'a scope of tokens only',
  [
    creation('is asked of a token', tokens, { scope: null }, noScope),
    creation('is not asked of a key of a user', keys, { scope: null }, 'allowed'),
    creation(
      'leaves the defaults alone: a team has one',
      keys,
      { user: null, team: 'blue', scope: null },
      teamNeedsScope(),
    ),
  ],
  async (world) => void (await setPolicy(world, { requireScope: 'tokens' })),
);

describeRows(
  'a scope of keys only',
  [
    creation('is asked of a key of a user', keys, { scope: null }, noScope),
    creation('is not asked of a token', tokens, { scope: null }, 'allowed'),
  ],
  async (world) => void (await setPolicy(world, { requireScope: 'keys' })),
);

const noScopeForOther = `spec.scope: must be set on a key for another user, by requireScope ${config}`;

describeRows(
  'a scope of keys for others only',
  [
    creation('is asked of a key for another user', keys, { scope: null }, noScopeForOther),
    { ...creation('is not asked of a key of her own', keys, { scope: null }, 'allowed'), who: 'alice' },
    {
      ...creation('is not asked of a key that names no one', keys, { user: null, scope: null }, 'allowed'),
      who: 'alice',
    },
    creation(
      'is not asked of a key below another',
      keys,
      { user: null, accessKey: 'p', scope: null },
      'allowed',
    ),
    creation('is not asked of a token', tokens, { scope: null }, 'allowed'),
    creation('is satisfied with an empty one', keys, { scope: {} }, 'allowed'),
    update('is not taken off a key for another user', [keys, { scope: null }], noScopeForOther),
    {
      ...update('is not taken off by that user', [keys, { scope: null }], noScopeForOther),
      who: 'alice',
    },
    {
      ...update('takes the scope off a key of her own', [keys, { scope: null }], 'allowed'),
      ...{ who: 'alice', before: { by: 'alice', spec: fineOf(keys) } },
    },
  ],
  async (world) => void (await setPolicy(world, { requireScope: 'others' })),
);

describeRows(
  'a policy that asks for nothing',
  [
    creation('does not lift the defaults', keys, { user: null, team: 'blue', scope: null }, teamNeedsScope()),
    creation(
      'lets a plain key without end and scope in',
      keys,
      { ttl: null, scope: null, key: plain },
      'allowed',
    ),
    creation('lets a token of nothing in', tokens, { ttl: null, scope: null }, 'allowed'),
    creation(
      'lets a kubeconfig as long as the signer likes in',
      kubeConfigs,
      { certificateTTL: 0 },
      'allowed',
    ),
  ],
  async (world) =>
    void (await setPolicy(world, { requireEnd: 'false', requireScope: 'none', acceptPlainKey: 'true' })),
);

describeRows(
  'a policy whose ConfigMap was deleted',
  [
    creation(
      'does not take the defaults with it',
      keys,
      { user: null, team: 'blue', scope: null },
      teamNeedsScope(),
    ),
    creation(
      'does not take the defaults with it for groups',
      keys,
      { groups: ['devs'], scope: null },
      teamNeedsScope(),
    ),
    creation(
      'does not stop what the defaults allow',
      keys,
      { ttl: null, scope: null, key: plain },
      'allowed',
    ),
    creation('does not stop tokens', tokens, { ttl: null, scope: null }, 'allowed'),
    creation('does not stop kubeconfigs', kubeConfigs, { certificateTTL: 0 }, 'allowed'),
  ],
  async (world) => {
    await everything(world);
    await dropPolicy(world);
  },
);

function teamNeedsScope(): Row['answer'] {
  return [422, /spec\.scope: Required value: a key with spec\.team, spec\.subject or spec\.groups needs one/];
}
