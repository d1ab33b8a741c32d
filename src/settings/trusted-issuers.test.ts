import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { createAuthority } from '../../lab/controlplane/certificates.ts';
import { trustedIssuers } from './trusted-issuers.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'issuers-'));
afterAll(() => rmSync(folder, { recursive: true }));
const parse = (value: unknown) =>
  trustedIssuers.parse(typeof value === 'string' ? value : JSON.stringify(value));
const issuer = 'https://issuer.example.com';
const login = { clientID: 'cli' };

describe('trusted issuers', () => {
  it('are none by default, or a list in JSON or YAML', () => {
    const value = [{ issuer, algorithms: ['RS256', 'ES256'] }];
    expect(parse('none')).toEqual({ value: [] });
    expect(parse([{ issuer }])).toEqual({ value });
    expect(parse(`- issuer: ${issuer}`)).toEqual({ value });
  });

  it('may stand in a file', () => {
    const file = path.join(folder, 'issuers.yaml');
    writeFileSync(file, `- issuer: ${issuer}\n  algorithms: [EdDSA]\n`);
    expect(parse(file)).toEqual({ value: [{ issuer, algorithms: ['EdDSA'] }] });
    expect(parse(`${file}.none`)).toEqual({ problem: `names a file that cannot be read: ${file}.none` });
  });

  it('say how people log in', () => {
    const { certificate: certificateAuthority } = createAuthority('issuer-ca');
    const whole = {
      ...{ issuer, algorithms: ['ES256'], jwksURI: `${issuer}/keys`, certificateAuthority },
      login: {
        ...login,
        username: { claim: 'email', prefix: '' },
        groups: { claim: 'groups', prefix: 'site:', allowed: ['dev', 'shop-*'] },
        ttl: 3_600,
      },
    };
    expect(parse([whole])).toEqual({ value: [whole] });
    expect(parse([{ issuer, login }])).toMatchObject({
      value: [{ login: { ...login, username: { claim: 'sub', prefix: '' }, ttl: 43_200 } }],
    });
  });

  it.each<[string, unknown, string]>([
    ['a word', 'all', 'is no list'],
    ['broken YAML', '- issuer: [', 'is no list'],
    ['an object', { issuer }, 'is no list'],
    ['an alias', '- &a {issuer: https://a.example}\n- *a', 'is no list'],
    ['a list of texts', [issuer], 'in entry 1 is no object'],
    ['no issuer', [{}], 'in entry 1 needs issuer'],
    ['plain HTTP', [{ issuer: 'http://a.example' }], 'needs issuer: an https URL'],
    ['a query', [{ issuer: 'https://a.example?x' }], 'needs issuer'],
    ['a password', [{ issuer: 'https://a:b@a.example' }], 'needs issuer'],
    ['an unknown field', [{ issuer, audience: 'x' }], 'has the unknown field audience'],
    ['an unknown field of login', [{ issuer, login: { ...login, client: 'x' } }], 'login.client'],
    ['a shared secret', [{ issuer, algorithms: ['HS256'] }], 'has algorithms that are not some of'],
    ['no signature', [{ issuer, algorithms: ['none'] }], 'has algorithms'],
    ['an empty list of algorithms', [{ issuer, algorithms: [] }], 'has algorithms'],
    ['keys over plain HTTP', [{ issuer, jwksURI: 'http://a.example' }], 'needs jwksURI'],
    ['an authority that is none', [{ issuer, certificateAuthority: 'x' }], 'no certificate in PEM'],
    ['the same issuer twice', [{ issuer }, { issuer }], `names ${issuer} twice`],
    ['login that is true', [{ issuer, login: true }], 'has a login that is no object'],
    ['login without client', [{ issuer, login: {} }], 'needs login.clientID'],
    ['a login of two days', [{ issuer, login: { ...login, ttl: 172_800 } }], 'needs a login.ttl'],
    ['a login for ever', [{ issuer, login: { ...login, ttl: 0 } }], 'needs a login.ttl'],
    [
      'a user name without prefix',
      [{ issuer, login: { ...login, username: { claim: 'sub' } } }],
      'username.prefix',
    ],
    [
      'groups without prefix',
      [{ issuer, login: { ...login, groups: { claim: 'groups' } } }],
      'groups.prefix',
    ],
    ['groups without claim', [{ issuer, login: { ...login, groups: { prefix: '' } } }], 'groups.claim'],
    [
      'a pattern in the middle',
      [{ issuer, login: { ...login, groups: { claim: 'g', prefix: '', allowed: ['a*b'] } } }],
      'login.groups.allowed',
    ],
    [
      'two logins with the same names',
      [
        { issuer, login },
        { issuer: 'https://b.example', login },
      ],
      'has two issuers with login whose users could have the same names',
    ],
    [
      'two logins of which one prefix begins as the other',
      [
        { issuer, login: { ...login, username: { claim: 'sub', prefix: 'a:' } } },
        { issuer: 'https://b.example', login: { ...login, username: { claim: 'sub', prefix: 'a:b:' } } },
      ],
      'has two issuers with login',
    ],
  ])('are refused with %s', (_, value, problem) => {
    expect(parse(value)).toEqual({ problem: expect.stringContaining(problem) });
  });

  it('may be several with login where prefixes tell their users apart', () => {
    const of = (prefix: string) => ({ ...login, username: { claim: 'sub', prefix } });
    const list = [
      { issuer, login: of('a:') },
      { issuer: 'https://b.example', login: of('b:') },
    ];
    expect(parse(list)).toHaveProperty('value');
  });

  it.each<[string, object, object, boolean]>([
    ['the same prefix', { prefix: '' }, { prefix: '' }, false],
    ['a prefix within that of the other', { prefix: '' }, { prefix: 'b:' }, false],
    ['names for one of them alone', { prefix: '', allowed: ['a'] }, { prefix: '' }, false],
    ['names for both', { prefix: '', allowed: ['a'] }, { prefix: '', allowed: ['a', 'b'] }, true],
    ['prefixes that differ', { prefix: 'a:' }, { prefix: 'b:' }, true],
  ])('of people with groups have %s', (_, one, other, isTaken) => {
    const entries = [one, other].map((groups, index) => ({
      issuer: `https://${index}.example`,
      login: {
        ...login,
        username: { claim: 'sub', prefix: `${index}:` },
        groups: { claim: 'groups', ...groups },
      },
    }));
    const parsed = parse(entries);
    expect('value' in parsed).toBe(isTaken);
    if (!isTaken) expect(parsed).toMatchObject({ problem: expect.stringContaining('login.groups.prefix') });
  });
});
