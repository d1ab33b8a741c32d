import { describe, expect, it } from 'vitest';
import { ownNamespaces } from '../../../src/api/names.ts';
import { ownedAccessKeys } from '../../../src/api/resources.ts';
import { crdWorld, verdict } from './world.ts';

const world = await crdWorld();

const hash = `sha256:${'0123456789abcdef'.repeat(4)}`;
const plain = 'A-Za-z0-9._~+/=-abcd';
const secretRef = { namespace: 'apps', name: 'ci-key' };

/** The text about one value of a field; a rule about a list names the list. */
const invalid = (at: string, value: string, rule: string): string =>
  `spec.${at}: Invalid value: ${JSON.stringify(value)}: spec.${at.replace(/\[\d\]$/, '')} ${rule}`;
const reserved = (at: string, value: string): string =>
  invalid(
    at,
    value,
    'must not begin with system:, kubeadm:, management.platform.sh: or team:; these prefixes are reserved, use a name without them',
  );
const unclean = (at: string, value: string): string =>
  invalid(
    at,
    value,
    'must be printable ASCII without a space at either end; remove the other characters',
  ).replace('\u00a0', '\\u00a0');
const ownNamespace =
  'must not be latchkey-system or latchkey-targets, where Latchkey keeps its own Secrets; choose another';
const malformedKey =
  'spec.key: Invalid value: spec.key must have 20 to 512 characters of A-Z a-z 0-9 . _ ~ + / = -, or be sha256: followed by 64 lower-case hexadecimal digits; remove it to have a key generated';
const notWhole =
  'spec.key: Invalid value: spec.key begins with lk_ and is no whole access key, which has 49 letters and digits behind it: it was cut or lengthened; copy it again, or remove it to have a key generated';
const [ours, masters] = ['management.platform.sh:users', 'system:masters'];
const both =
  'spec: Invalid value: spec.user, spec.team and spec.subject exclude each other; set one and remove the others';

describe('an OwnedAccessKey', () => {
  const judge = (spec: unknown): Promise<string> => verdict(world.admin, ownedAccessKeys, spec);

  it.each([
    ['for a user', { user: 'alice@example.com' }],
    ['for a name with a space inside', { user: 'Alice Example' }],
    ['for a team', { team: 'dev', scope: {} }],
    ['for a subject', { subject: 'metrics:writer', scope: {} }],
    ['with an empty team beside the user', { user: 'alice', team: '', subject: '' }],
    [
      'with a name that holds a reserved prefix elsewhere',
      { user: 'my-system:x', groups: ['xteam:a'], scope: {} },
    ],
    ['with a parent in place of an identity', { accessKey: 'parent.1' }],
    ['with a plain key', { user: 'alice', key: plain }],
    ['with an access key of ours', { user: 'alice', key: `lk_${'a'.repeat(49)}` }],
    ['with a key of 512 characters', { user: 'alice', key: 'k'.repeat(512) }],
    ['with the hash of a key', { user: 'alice', key: hash }],
    ['with an empty key beside secretRef', { user: 'alice', key: '', secretRef }],
    ['with secretRef and its key', { user: 'alice', secretRef: { ...secretRef, key: 'API_key.1' } }],
    ['without end', { user: 'alice', ttl: 0 }],
    ['with the longest ttl', { user: 'alice', ttl: 3_153_600_000, ttlAfterLastActivity: true }],
    ['that is disabled', { user: 'alice', disabled: true }],
    ['with allowed namespaces', { user: 'alice', allowedNamespaces: ['a', 'team-1'] }],
  ])('is accepted %s', async (_, spec) => {
    expect(await judge(spec)).toBe('accepted');
  });

  it.each(['', 'Login', 'User', 'Other', 'Reset', 'OIDCRefreshToken', 'NetworkPeer', 'Workspace'])(
    'may have the type "%s"',
    async (type) => {
      expect(await judge({ user: 'alice', type })).toBe('accepted');
    },
  );

  it('takes every field of single sign-on', async () => {
    const time = '2026-11-21T10:00:00Z';
    const identity = {
      userId: '1',
      username: 'alice',
      preferredUsername: 'Alice',
      email: 'alice@example.com',
      emailVerified: true,
      extraClaims: { plan: 'large', seats: '3' },
      groups: ['dev'],
      connector: 'ldap',
      connectorData: 'e30=',
      identityRefresh: time,
    };
    const oidcProvider = { clientId: 'c', nonce: 'n', redirectUri: 'https://a.example', scopes: 'openid' };
    const oidcLogin = { idToken: 'a', accessToken: 'b', refreshToken: 'c', lastRefresh: time };
    const names = { displayName: 'CI', description: 'for the pipeline', parent: 'old' };
    expect(
      await judge({ user: 'alice', ...names, identity, identityRefresh: time, oidcProvider, oidcLogin }),
    ).toBe('accepted');
  });

  it.each([
    ['a number', 3, '"integer"'],
    ['a flag', true, '"boolean"'],
    ['a list', ['a'], '"array"'],
  ])('takes no claim that is %s, and names it', async (_, plan, type) => {
    const claim = 'spec.identity.extraClaims.plan';
    expect(await judge({ user: 'alice', identity: { extraClaims: { plan } } })).toBe(
      `${claim}: Invalid value: ${type}: ${claim} in body must be of type string: ${type}`,
    );
  });

  it('takes no claim below a claim, and names it', async () => {
    expect(await judge({ user: 'alice', identity: { extraClaims: { plan: { size: 3 } } } })).toContain(
      'unknown field "spec.identity.extraClaims.plan.size"',
    );
  });

  it('speaks for somebody', async () => {
    const message =
      'spec: Invalid value: the key has no identity; set exactly one of spec.user, spec.team and spec.subject, or set spec.accessKey; a service account that makes a key does not become its user';
    expect(await verdict(world.systemUser, ownedAccessKeys, {})).toBe(message);
    expect(await verdict(world.systemUser, ownedAccessKeys, { user: '', team: '', subject: '' })).toBe(
      message,
    );
  });

  it.each<[string, object, string]>([
    ['two identities', { user: 'alice', team: 'dev', scope: {} }, both],
    ['two identities of another sort', { team: 'dev', subject: 'x', scope: {} }, both],
    ['three identities', { user: 'a', team: 'b', subject: 'c', scope: {} }, both],
    ['two identities beside a parent', { user: 'a', subject: 'c', accessKey: 'parent', scope: {} }, both],
    ['a reserved user', { user: 'system:admin' }, reserved('user', 'system:admin')],
    ['a reserved team', { team: 'kubeadm:x', scope: {} }, reserved('team', 'kubeadm:x')],
    ['a reserved subject', { subject: ours, scope: {} }, reserved('subject', ours)],
    ['a user that looks like a team', { user: 'team:dev' }, reserved('user', 'team:dev')],
    ['a reserved group', { user: 'a', groups: ['x', masters], scope: {} }, reserved('groups[1]', masters)],
    ['a space before the user', { user: ' alice' }, unclean('user', ' alice')],
    ['a space after the team', { team: 'dev ', scope: {} }, unclean('team', 'dev ')],
    ['letters beyond ASCII', { subject: 'zoë', scope: {} }, unclean('subject', 'zoë')],
    ['letters that look alike', { user: '\u0430lice' }, unclean('user', '\u0430lice')],
    ['a line break', { user: 'a\nb' }, unclean('user', 'a\nb')],
    ['an unclean group', { user: 'a', groups: ['dev\u00a0'], scope: {} }, unclean('groups[0]', 'dev\u00a0')],
    [
      'groups without an identity',
      { accessKey: 'parent', groups: ['dev'], scope: {} },
      'spec.groups: Invalid value: spec.groups needs spec.user, spec.team or spec.subject; with spec.accessKey alone the groups come from that key',
    ],
    ['a key that is too short', { user: 'a', key: 'k'.repeat(19) }, malformedKey],
    ['a key with a space', { user: 'a', key: 'my secret my secret my' }, malformedKey],
    ['a key with a line break at its end', { user: 'a', key: `${plain}\n` }, malformedKey],
    ['an access key that was cut', { user: 'a', key: `lk_${'a'.repeat(48)}` }, notWhole],
    ['an access key that was lengthened', { user: 'a', key: `lk_${'a'.repeat(50)}` }, notWhole],
    ['an access key with a character of another kind', { user: 'a', key: `lk_${'a'.repeat(48)}-` }, notWhole],
    ['a hash in capitals', { user: 'a', key: hash.toUpperCase().replace('SHA', 'sha') }, malformedKey],
    ['a hash that is cut off', { user: 'a', key: hash.slice(0, -1) }, malformedKey],
    [
      'a key that is too long',
      { user: 'a', key: 'k'.repeat(513) },
      'spec.key: Too long: may not be more than 512 bytes',
    ],
    [
      'a key beside secretRef',
      { user: 'a', key: plain, secretRef },
      'spec.secretRef: Invalid value: spec.key and spec.secretRef exclude each other; remove spec.key, or set it to "", when the key is to go to the Secret',
    ],
    [
      'a negative ttl',
      { user: 'a', ttl: -1 },
      'spec.ttl: Invalid value: -1: spec.ttl in body should be greater than or equal to 0',
    ],
    [
      'a ttl of more than a century',
      { user: 'a', ttl: 3_153_600_001 },
      'spec.ttl: Invalid value: 3153600001: spec.ttl in body should be less than or equal to 3153600000',
    ],
    [
      'an unknown type',
      { user: 'a', type: 'user' },
      'spec.type: Unsupported value: "user": supported values: "", "Login", "User", "Other", "Reset", "OIDCRefreshToken", "NetworkPeer", "Workspace"',
    ],
    [
      'a time that is none',
      { user: 'a', identity: { identityRefresh: 'yesterday' } },
      'spec.identity.identityRefresh: Invalid value: "yesterday": spec.identity.identityRefresh in body must be of type date-time: "yesterday"',
    ],
    ...ownNamespaces.map((namespace): [string, object, string] => [
      `a secretRef to ${namespace}, in which Latchkey keeps its own Secrets`,
      { user: 'a', secretRef: { ...secretRef, namespace } },
      invalid('secretRef.namespace', namespace, ownNamespace),
    ]),
    [
      'an allowed namespace that cannot be',
      { user: 'a', allowedNamespaces: ['*'] },
      invalid(
        'allowedNamespaces[0]',
        '*',
        "must hold names of namespaces (lower-case letters, digits and '-')",
      ),
    ],
  ])('is refused with %s', async (_, spec, message) => {
    expect(await judge(spec)).toBe(message);
  });

  it('is refused without repeating the key that was mistyped', async () => {
    for (const key of ['only-a-typo away', 'only-a-typo'.repeat(60), ['only-a-typo']]) {
      expect(await judge({ user: 'a', key })).not.toMatch(/^accepted$|only-a-typo/);
    }
  });
});
