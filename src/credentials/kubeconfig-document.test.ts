import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parse, parseDocument } from 'yaml';
import { type KubeConfigUser, kubeConfigDocument, kubeConfigNames } from './kubeconfig-document.ts';

const server = 'https://platform.example.com/kubernetes/project/p/virtualcluster/v';
const parts = { server, name: 'p-team/dev', user: { token: 'the-token' } };
const decode = (text: string): string => Buffer.from(text, 'base64').toString();

describe('kubeConfigDocument', () => {
  it('has one cluster, one user and one context, which is the current one', () => {
    expect(kubeConfigDocument({ ...parts, ca: '-----BEGIN CERTIFICATE-----\n' })).toBe(
      `apiVersion: v1
kind: Config
clusters:
  - name: p-team/dev
    cluster:
      server: ${server}
      certificate-authority-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg==
users:
  - name: p-team/dev
    user:
      token: the-token
contexts:
  - name: p-team/dev
    context:
      cluster: p-team/dev
      user: p-team/dev
current-context: p-team/dev
`,
    );
  });

  it('names no authority when the system knows it', () => {
    const { clusters } = parse(kubeConfigDocument(parts));
    expect(clusters).toEqual([{ name: 'p-team/dev', cluster: { server } }]);
  });

  it('carries a client certificate and its key, and no token', () => {
    const long = `${'certificate '.repeat(200)}\n`;
    const { users } = parse(kubeConfigDocument({ ...parts, user: { certificate: long, key: 'the key\n' } }));
    expect(users).toEqual([
      {
        name: 'p-team/dev',
        user: {
          'client-certificate-data': Buffer.from(long).toString('base64'),
          'client-key-data': Buffer.from('the key\n').toString('base64'),
        },
      },
    ]);
  });

  it.each([
    'yes',
    'on',
    'null',
    '~',
    '12',
    '1_000',
    '12:30:45',
    '0x1f',
    '017',
    '1e3',
    '.inf',
    '2026-11-21',
    '<<',
    '',
    '- a',
    '*a',
    '&a',
    '!!binary x',
    'a: b',
    'a #b',
    '%YAML',
    '{a',
    '"',
    "'",
    'a\nb: c',
    ' \n',
    '\u{feff}',
  ])('keeps the token %j a string for every reader of YAML', (token) => {
    const text = kubeConfigDocument({ ...parts, user: { token } });
    for (const version of ['1.1', '1.2'] as const)
      expect(parse(text, { version }).users[0].user).toEqual({ token });
  });

  it('holds exactly what it was given, whatever that looks like', { timeout: 60_000 }, () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary' }).filter((value) => value.isWellFormed()),
      fc
        .array(fc.constantFrom('\n', ' ', '- ', ': ', '#', "'", '"', '|', '>', '*', '&', 'a', 'users:', '\t'))
        .map((list) => list.join('')),
    );
    const user: fc.Arbitrary<KubeConfigUser> = fc.oneof(
      fc.record({ token: text }),
      fc.record({ certificate: text, key: text }),
    );
    fc.assert(
      fc.property(text, text, user, (name, ca, of) => {
        const written = kubeConfigDocument({ server, ca, name, user: of });
        for (const version of ['1.1', '1.2'] as const) {
          const document = parseDocument(written, { version });
          expect([...document.errors, ...document.warnings]).toEqual([]);
          expect(document.toJS()).toEqual(documentOf(name, ca, of));
        }
      }),
      { numRuns: 500 },
    );
  });

  const documentOf = (name: string, ca: string, user: KubeConfigUser): object => ({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      { name, cluster: { server, 'certificate-authority-data': Buffer.from(ca).toString('base64') } },
    ],
    users: [
      {
        name,
        user:
          'token' in user
            ? user
            : {
                'client-certificate-data': Buffer.from(user.certificate).toString('base64'),
                'client-key-data': Buffer.from(user.key).toString('base64'),
              },
      },
    ],
    contexts: [{ name, context: { cluster: name, user: name } }],
    'current-context': name,
  });

  it.each([
    ['https://10.0.0.1:6443', 'https://10.0.0.1:6443'],
    ['https://host/', 'https://host'],
    ['https://host:443', 'https://host'],
    ['https://[2001:db8::1]:6443/a', 'https://[2001:db8::1]:6443/a'],
    ['https://host/a/b@c', 'https://host/a/b@c'],
    ['HTTPS://Host', 'https://host'],
    ['https://bücher.example', 'https://xn--bcher-kva.example'],
  ])('writes the server %s as %s', (given, written) => {
    expect(parse(kubeConfigDocument({ ...parts, server: given })).clusters[0].cluster.server).toBe(written);
  });

  it.each([
    '',
    'host',
    'http://host',
    'https:host',
    'https:/host',
    'https://',
    'https:///host',
    'https://ann:secret@host',
    'https://ann@host',
    'https://@host',
    'https://:@host',
    'https://host?',
    'https://host?token=secret',
    'https://host/a?b',
    'https://host#',
    'https://host/#a',
    'https://host\\@other',
    'https://host\\a',
    ' https://host',
    'https://host ',
    'https://ho\nst',
    'https://host\t',
    'https://host/a b',
    'https://host/\0',
    'https://host:99999',
    'https://host%40other',
    'https://[::1',
    'javascript:alert(1)//https://host',
    'file:///etc/passwd',
  ])('refuses the server %j without showing it', (given) => {
    expect(() => kubeConfigDocument({ ...parts, server: given })).toThrow(
      new RangeError('server must be an https URL without user info, query and fragment'),
    );
  });

  it('does not repeat a value as an alias', () => {
    expect(kubeConfigDocument(parts)).not.toMatch(/[&*]/);
    expect(
      decode(
        parse(kubeConfigDocument({ ...parts, ca: 'ca' })).clusters[0].cluster['certificate-authority-data'],
      ),
    ).toBe('ca');
  });
});

describe('kubeConfigNames', () => {
  it('is the instance, unless the object has another name', () => {
    expect(kubeConfigNames({ namespace: 'p-team', instance: 'dev', object: 'dev' })).toBe('p-team/dev');
    expect(kubeConfigNames({ namespace: 'p-team', instance: 'dev', object: 'ci' })).toBe('p-team/dev/ci');
  });

  it('is another one for each object', () => {
    const name = fc.stringMatching(/^[a-c]([a-c.-]{0,2}[a-c])?$/);
    const object = fc.record({ namespace: name, instance: name, object: name });
    fc.assert(
      fc.property(object, object, (one, two) => {
        const isSame =
          one.namespace === two.namespace && one.instance === two.instance && one.object === two.object;
        expect(kubeConfigNames(one) === kubeConfigNames(two)).toBe(isSame);
      }),
      { numRuns: 1000 },
    );
  });
});
