import { createPublicKey, generateKeyPairSync, type KeyObject, X509Certificate } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { createAuthority, createClient } from '../../../../lab/controlplane/certificates.ts';
import {
  type AdminDocument,
  adminDocument,
  base64,
  certificateUser,
  type DocumentParts,
  jsonOf,
  yamlOf,
} from '../../../../test/builders/admin-kube-config.ts';
import { cpuMs } from '../../../../test/fakes/cpu-time.ts';
import { type AdminKubeConfig, isBearerToken, readAdminKubeConfig } from './admin-kube-config.ts';
import { fieldRefusal, refusals, type Section, sections } from './refusals.ts';

const allRefusals: ReadonlySet<string | undefined> = new Set([
  ...Object.values(refusals),
  ...Object.values<Section>(sections).flatMap((section) =>
    ['unknown', ...Object.keys(section.forbidden)].map((name) => fieldRefusal(section, [name])),
  ),
]);

const bytes = (text: string): Uint8Array => Buffer.from(text);

function accepted(document: Uint8Array): AdminKubeConfig {
  const reading = readAdminKubeConfig(document);
  expect(reading).toHaveProperty('config');
  return (reading as { config: AdminKubeConfig }).config;
}

function refused(document: Uint8Array): string {
  const reading = readAdminKubeConfig(document);
  expect(reading).toHaveProperty('refusal');
  const { refusal } = reading as { refusal: string };
  expect(allRefusals).toContain(refusal);
  return refusal;
}

const refusedParts = (parts: DocumentParts): string => refused(yamlOf(adminDocument(parts)));

describe('an administrator kubeconfig', () => {
  it('gives server, authority and token', () => {
    const config = accepted(yamlOf(adminDocument({ server: 'https://vc.team-a.svc:8443/path' })));
    expect({ ...config, server: config.server.href }).toEqual({
      server: 'https://vc.team-a.svc:8443/path',
      ca: expect.stringMatching(/^-----BEGIN CERTIFICATE-----\n/),
      token: 'admin-token',
    });
  });

  it('gives client certificate and key', () => {
    const authority = createAuthority('ca');
    const own = createClient(authority, { user: 'admin' });
    const config = accepted(yamlOf(adminDocument({ user: certificateUser(own) })));
    expect(config).toMatchObject({ certificate: own.certificate, key: own.key });
    expect(config).not.toHaveProperty('token');
  });

  it('gives the certificate and no token when it has both, as AKS writes it', () => {
    const own = createClient(createAuthority('ca'), { user: 'masterclient' });
    const config = accepted(
      yamlOf(adminDocument({ user: { ...certificateUser(own), token: 'of-the-same' } })),
    );
    expect(config).toMatchObject({ certificate: own.certificate, key: own.key });
    expect(JSON.stringify(config)).not.toContain('of-the-same');
  });

  it('is read as JSON too', () => {
    expect(accepted(jsonOf(adminDocument())).token).toBe('admin-token');
  });

  it('is read as the block style of kubectl, with long values folded', () => {
    const ca = base64(createAuthority('ca').certificate);
    const text = `# written by hand
---
apiVersion: v1
kind: Config
current-context: a
clusters:
- name: b
  cluster:
    server: "https://b.test"
    certificate-authority-data: >-
      ${ca.slice(0, 100)}
      ${ca.slice(100)}
contexts:
- context: {cluster: b, user: c, namespace: d}
  name: a
users:
- name: c
  user: {token: t}
`;
    expect(accepted(bytes(text)).server.href).toBe('https://b.test/');
  });

  it('may bring several authorities and the chain of its certificate', () => {
    const [one, two] = [createAuthority('one'), createAuthority('two')];
    const own = createClient(one, { user: 'admin' });
    const user = certificateUser({ ...own, certificate: `${own.certificate}\n${one.certificate}` });
    const cluster = { 'certificate-authority-data': base64(`${one.certificate}${two.certificate}`) };
    const config = accepted(yamlOf(adminDocument({ user, cluster })));
    expect(config.ca.match(/BEGIN CERTIFICATE/g)).toHaveLength(2);
    expect(config.certificate?.match(/BEGIN CERTIFICATE/g)).toHaveLength(2);
  });
});

describe('fields', () => {
  it.each([
    ['clusters[].cluster', 'cluster', 'certificate-authority'],
    ['clusters[].cluster', 'cluster', 'insecure-skip-tls-verify'],
    ['clusters[].cluster', 'cluster', 'proxy-url'],
    ['clusters[].cluster', 'cluster', 'tls-server-name'],
    ['clusters[].cluster', 'cluster', 'disable-compression'],
    ['clusters[].cluster', 'cluster', 'extensions'],
    ['users[].user', 'user', 'exec'],
    ['users[].user', 'user', 'auth-provider'],
    ['users[].user', 'user', 'tokenFile'],
    ['users[].user', 'user', 'client-certificate'],
    ['users[].user', 'user', 'client-key'],
    ['users[].user', 'user', 'username'],
    ['users[].user', 'user', 'password'],
    ['users[].user', 'user', 'as'],
    ['users[].user', 'user', 'as-uid'],
    ['users[].user', 'user', 'as-groups'],
    ['users[].user', 'user', 'as-user-extra'],
    ['users[].user', 'user', 'extensions'],
    ['contexts[].context', 'context', 'extensions'],
  ] as const)('%s refuses %s.%s by its name, whatever it holds', (path, part, field) => {
    for (const value of ['text', '', null, false, {}, []]) {
      const base = part === 'user' ? { token: 'admin-token' } : {};
      const refusal = refusedParts({ [part]: { ...base, [field]: value } });
      expect(refusal.startsWith(`${path}.${field} is not allowed: `)).toBe(true);
    }
  });

  /** As tools of vendors write them. */
  const vendors = {
    'a plug-in with arguments and variables': {
      user: {
        exec: {
          ...{ apiVersion: 'client.authentication.k8s.io/v1', command: 'aws' },
          args: ['--region', 'eu-west-1', 'eks', 'get-token'],
          env: [{ name: 'AWS_PROFILE', value: 'prod' }],
          interactiveMode: 'IfAvailable',
        },
      },
    },
    'a provider of OpenID Connect': {
      user: { 'auth-provider': { name: 'oidc', config: { 'client-id': 'kubernetes', 'id-token': 'a.b.c' } } },
    },
    'extensions of a cluster': {
      cluster: {
        extensions: [{ name: 'cluster_info', extension: { provider: 'a', list: [[{ a: ['b'] }]] } }],
      },
    },
  };

  it.each([
    ['a plug-in with arguments and variables', /^users\[\]\.user\.exec is not allowed: .*ServiceAccount/],
    ['a provider of OpenID Connect', /^users\[\]\.user\.auth-provider is not allowed: .*ServiceAccount/],
    ['extensions of a cluster', /^clusters\[\]\.cluster\.extensions is not allowed: .*remove it/],
  ] as const)('names the field of %s, however deep that goes', (which, refusal) => {
    expect(refusedParts(vendors[which])).toMatch(refusal);
  });

  it('refuses extensions at the top and everything in preferences', () => {
    expect(refusedParts({ root: { extensions: [] } })).toMatch(/^extensions is not allowed/);
    expect(refusedParts({ root: { preferences: { colors: true } } })).toMatch(/^preferences\.colors is not/);
    expect(refusedParts({ root: { preferences: null } })).toBe(refusals.preferences);
  });

  it.each([
    [{ root: { secretCanary: 1 } }, 'The kubeconfig has a field that is not known'],
    [{ root: { preferences: { secretCanary: 1 } } }, 'preferences has a field that is not known'],
    [{ cluster: { secretCanary: 1 } }, 'clusters[].cluster has a field that is not known'],
    [{ user: { token: 't', secretCanary: 1 } }, 'users[].user has a field that is not known'],
    [{ user: { Token: 't' } }, 'users[].user has a field that is not known'],
    [{ user: { token: 't', ['__proto__']: 1 } }, 'users[].user has a field that is not known'],
    [{ context: { secretCanary: 1 } }, 'contexts[].context has a field that is not known'],
  ])('does not repeat the name of a field that it does not know: %j', (parts, start) => {
    const refusal = refusedParts(parts);
    expect(refusal.startsWith(start)).toBe(true);
    expect(refusal).not.toContain('secretCanary');
  });

  it.each<[keyof typeof refusals, Partial<Record<keyof AdminDocument, unknown>>]>([
    ['apiVersion', { apiVersion: 'v2' }],
    ['apiVersion', { apiVersion: undefined }],
    ['kind', { kind: 'List' }],
    ['clusters', { clusters: [] }],
    ['clusters', { clusters: {} }],
    ['clusters', { clusters: [...adminDocument().clusters, ...adminDocument().clusters] }],
    ['clusters', { clusters: ['target'] }],
    ['users', { users: undefined }],
    ['users', { users: [...adminDocument().users, ...adminDocument().users] }],
    ['contexts', { contexts: [...adminDocument().contexts, ...adminDocument().contexts] }],
    ['clusterName', { clusters: [{ ...adminDocument().clusters[0], name: 5 }] }],
    ['cluster', { clusters: [{ name: 'target' }] }],
    ['cluster', { clusters: [{ name: 'target', cluster: 'x' }] }],
    ['userName', { users: [{ user: {} }] }],
    ['user', { users: [{ name: 'admin', user: null }] }],
    ['contextName', { contexts: [{ ...adminDocument().contexts[0], name: true }] }],
    ['context', { contexts: [{ name: 'admin@target', context: [] }] }],
    ['currentContext', { 'current-context': 'other' }],
    ['currentContext', { 'current-context': undefined }],
    ['contextCluster', adminDocument({ context: { cluster: 'other' } })],
    ['contextUser', adminDocument({ context: { user: 'other' } })],
    ['contextNamespace', adminDocument({ context: { namespace: 5 } })],
  ])('refuses what does not fit together: %s', (name, root) => {
    expect(refused(jsonOf({ ...adminDocument(), ...root }))).toBe(refusals[name]);
  });
});

describe('the server', () => {
  it.each<[string, keyof typeof refusals]>([
    ['http://target.test', 'serverScheme'],
    ['file:///etc/passwd', 'serverScheme'],
    ['target.test:443', 'serverScheme'],
    ['https://user@target.test', 'serverUser'],
    ['https://user:secret@target.test', 'serverUser'],
    ['https://@target.test', 'serverUser'],
    ['https://target.test?x', 'serverQuery'],
    ['https://target.test/?', 'serverQuery'],
    ['https://target.test/#x', 'serverQuery'],
    ['https:target.test', 'server'],
    ['https:/target.test', 'server'],
    ['https://', 'server'],
    ['https:///target.test', 'server'],
    ['https:\\\\target.test', 'server'],
    ['https://target.test\\@evil.test', 'server'],
    [' https://target.test', 'server'],
    ['https://target.test\n', 'server'],
    ['https://tar\tget.test', 'server'],
    ['https://tärget.test', 'server'],
    ['https://target.test:99999', 'server'],
    ['https://[fe80::1%25eth0]', 'server'],
    ['https://1.2.3.4.5', 'server'],
    [`https://${'a'.repeat(2_100)}`, 'server'],
    ['', 'server'],
  ])('refuses %j', (server, name) => {
    expect(refusedParts({ server })).toBe(refusals[name]);
  });

  it.each([5, null, {}, [], true])('refuses %j', (server) => {
    expect(refusedParts({ cluster: { server } })).toBe(refusals.server);
  });

  it.each([
    ['https://0x7f.1', '127.0.0.1'],
    ['https://2130706433', '127.0.0.1'],
    ['https://0177.0.0.1', '127.0.0.1'],
    ['https://127.1', '127.0.0.1'],
    ['https://%31%32%37.0.0.1', '127.0.0.1'],
    ['https://127.0.0.1.', '127.0.0.1'],
    ['https://[::ffff:127.0.0.1]', '[::ffff:7f00:1]'],
    ['https://[0:0:0:0:0:0:0:1]', '[::1]'],
    ['HTTPS://Target.Test', 'target.test'],
  ])('gives the host of %s as %s, so that nothing hides behind how it is written', (server, host) => {
    expect(accepted(yamlOf(adminDocument({ server }))).server.hostname).toBe(host);
  });
});

describe('the authority', () => {
  const { certificate, key } = createAuthority('ca');
  const der = new X509Certificate(certificate).raw;
  const pem = (label: string, body: Buffer): string =>
    `-----BEGIN ${label}-----\n${body.toString('base64')}\n-----END ${label}-----\n`;

  it.each<[string, unknown]>([
    ['missing', undefined],
    ['no text', 5],
    ['empty', ''],
    ['no base64', '%%%'],
    ['base64 of another alphabet', base64(certificate).replace(/=*$/, '-_')],
    ['plain PEM', certificate],
    ['no PEM', base64('certificate')],
    ['a key', base64(key)],
    ['a certificate and its key', base64(certificate + key)],
    ['text before it', base64(`subject=x\n${certificate}`)],
    ['text after it', base64(`${certificate}x`)],
    ['headers', base64(certificate.replace('-----\n', '-----\nX: y\n\n'))],
    ['another label', base64(pem('TRUSTED CERTIFICATE', der))],
    ['labels that differ', base64(certificate.replace('END CERTIFICATE', 'END X509 CRL'))],
    ['no end', base64(certificate.replace(/-----END[\s\S]*/, ''))],
    ['bytes after the certificate', base64(pem('CERTIFICATE', Buffer.concat([der, Buffer.from('x')])))],
    ['half a certificate', base64(pem('CERTIFICATE', der.subarray(0, 100)))],
    ['no certificate', base64(pem('CERTIFICATE', Buffer.from('x')))],
  ])('is refused: %s', (_, field) => {
    expect(refusedParts({ cluster: { 'certificate-authority-data': field } })).toBe(refusals.authority);
  });
});

describe('the credentials', () => {
  const authority = createAuthority('ca');
  const own = createClient(authority, { user: 'admin' });
  const other = createClient(authority, { user: 'other' });
  const user = certificateUser(own);
  const withKey = (key: string) => ({ ...user, 'client-key-data': base64(key) });

  it.each<[string, keyof typeof refusals, Record<string, unknown>]>([
    ['none', 'noCredential', {}],
    ['token and key', 'halfCredential', { token: 't', 'client-key-data': 'x' }],
    [
      'token and certificate without its key',
      'halfCredential',
      { ...user, token: 't', 'client-key-data': undefined },
    ],
    ['a certificate beside a token with a line break', 'token', { ...user, token: 'a\r\nX-Header: y' }],
    ['certificate alone', 'halfCredential', { 'client-certificate-data': 'x' }],
    ['key alone', 'halfCredential', { 'client-key-data': 'x' }],
    ['an empty token', 'token', { token: '' }],
    ['a token that is a number', 'token', { token: 5 }],
    ['a token with white space', 'token', { token: 'a b' }],
    ['a token with a line break', 'token', { token: 'a\r\nX-Header: y' }],
    ['a token beyond ASCII', 'token', { token: 'tökén' }],
    ['a token too long', 'token', { token: 'a'.repeat(8_193) }],
    ['a certificate that is none', 'certificate', { ...user, 'client-certificate-data': base64('x') }],
    ['a key for a certificate', 'certificate', { ...user, 'client-certificate-data': base64(own.key) }],
    ['a key that is none', 'key', withKey('x')],
    ['a certificate for a key', 'key', withKey(own.certificate)],
    ['two keys', 'key', withKey(own.key + own.key)],
    ['a key of rubbish', 'key', withKey('-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n')],
    ['the key of another', 'keyMismatch', withKey(other.key)],
  ])('are refused: %s', (_, name, fields) => {
    expect(refused(jsonOf(adminDocument({ user: fields })))).toBe(refusals[name]);
  });

  const pkcs8 = { format: 'pem', type: 'pkcs8' } as const;
  const text = (key: KeyObject): string => key.export(pkcs8).toString();

  it('are refused when the key is encrypted', () => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const cipher = { cipher: 'aes-256-cbc', passphrase: 'secret' };
    expect(refusedParts({ user: withKey(privateKey.export({ ...pkcs8, ...cipher }).toString()) })).toBe(
      refusals.keyEncrypted,
    );
    const sec1 = privateKey.export({ format: 'pem', type: 'sec1', ...cipher }).toString();
    expect(refusedParts({ user: withKey(sec1) })).toBe(refusals.keyEncrypted);
  });

  it.each<[string, () => KeyObject]>([
    ['RSA too short', () => generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey],
    ['RSA-PSS', () => generateKeyPairSync('rsa-pss', { modulusLength: 2048 }).privateKey],
    ['X25519', () => generateKeyPairSync('x25519').privateKey],
    ['secp256k1', () => generateKeyPairSync('ec', { namedCurve: 'secp256k1' }).privateKey],
  ])('are refused when the key is %s', (_, make) => {
    expect(refusedParts({ user: withKey(text(make())) })).toBe(refusals.keyKind);
  });

  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;

  it.each([
    ['a modulus', 1, 1_000],
    ['a public exponent', 2, 200],
    ['a prime', 4, 200],
    ['an exponent of a prime', 6, 200],
    ['a coefficient', 8, 200],
    ['a prime of thousands of bytes', 4, 6_000],
  ])(
    'are refused when an RSA key has %s that is too long: a handshake would stop the process',
    (_, part, size) => {
      const crafted = withLongPart(rsa.export({ format: 'der', type: 'pkcs1' }), part, size);
      const pem = `-----BEGIN RSA PRIVATE KEY-----\n${crafted.toString('base64')}\n-----END RSA PRIVATE KEY-----\n`;
      const read = () =>
        expect([refusals.keyKind, refusals.key]).toContain(refusedParts({ user: withKey(pem) }));
      expect(cpuMs(read)).toBeLessThan(1_000);
    },
  );

  it.each([
    ['RSA as kubeadm writes it', () => generateKeyPairSync('rsa', { modulusLength: 2048 }), 'pkcs1'],
    ['RSA as openssl writes it', () => generateKeyPairSync('rsa', { modulusLength: 3072 }), 'pkcs8'],
    ['P-256 as k3s writes it', () => generateKeyPairSync('ec', { namedCurve: 'P-256' }), 'sec1'],
    ['P-521', () => generateKeyPairSync('ec', { namedCurve: 'P-521' }), 'pkcs8'],
    ['Ed25519', () => generateKeyPairSync('ed25519'), 'pkcs8'],
  ] as const)('may be %s', (_, make, type) => {
    const keys = make();
    const { certificate } = createClient(authority, { user: 'admin' }, keys);
    const key = keys.privateKey.export({ format: 'pem', type: type as 'pkcs8' }).toString();
    const config = accepted(yamlOf(adminDocument({ user: certificateUser({ certificate, key }) })));
    expect(config.key).toMatch(/^-----BEGIN PRIVATE KEY-----/);
    expect(createPublicKey(config.key!).equals(keys.publicKey)).toBe(true);
  });

  it('are told apart from those that are base64 twice', () => {
    const twice = (field: string) => base64(base64(field));
    const cluster = { 'certificate-authority-data': twice(authority.certificate) };
    expect(refusedParts({ cluster })).toBe(refusals.fieldBase64Twice);
    const user = { ...certificateUser(own), 'client-key-data': twice(own.key) };
    expect(refusedParts({ user })).toBe(refusals.fieldBase64Twice);
  });

  it('are refused when TLS would not load the certificate', () => {
    const weak = createClient(
      authority,
      { user: 'weak' },
      generateKeyPairSync('rsa', { modulusLength: 512 }),
    );
    const chain = certificateUser({ ...own, certificate: own.certificate + weak.certificate });
    expect(refusedParts({ user: chain })).toBe(refusals.unusable);
  });
});

describe('what YAML can do besides', () => {
  const plain = Buffer.from(yamlOf(adminDocument())).toString();

  it.each<[string, keyof typeof refusals, string]>([
    ['base64 in place of the text', 'base64Twice', base64(plain)],
    ['base64 with folded lines', 'base64Twice', base64(plain).replace(/.{76}/g, '$&\n')],
    ['base64 of JSON', 'base64Twice', base64('{"kind":"Config"}')],
    ['base64 of something else', 'root', base64('something else, and long')],
    ['an alias', 'anchor', plain.replace('admin-token', '*x')],
    ['an anchor', 'anchor', plain.replace('admin-token', '&x admin-token')],
    ['a tag', 'tag', plain.replace('admin-token', '!!str admin-token')],
    ['a local tag', 'tag', plain.replace('admin-token', '!x admin-token')],
    ['the bare tag', 'tag', plain.replace('admin-token', '! admin-token')],
    ['binary', 'tag', plain.replace('admin-token', '!!binary aGVsbG8=')],
    ['a merge key', 'mergeKey', `<<: {token: x}\n${plain}`],
    ['a directive', 'directive', `%YAML 1.1\n---\n${plain}`],
    ['two documents', 'documents', `${plain}---\n${plain}`],
    ['an empty second document', 'documents', `---\n${plain}---\n`],
    ['an end marker', 'documents', `${plain}...\n`],
    ['the same field twice', 'duplicateKey', `${plain}kind: Config\n`],
    ['the same field twice in JSON', 'duplicateKey', '{"kind":"Config","kind":"Config"}'],
    ['a number for a name', 'fieldName', `5: x\n${plain}`],
    ['null for a name', 'fieldName', `? \n: x\n${plain}`],
    ['a map for a name', 'fieldName', `? {a: b}\n: x\n${plain}`],
    ['no map', 'root', 'text'],
    ['a list', 'root', '[]'],
    ['nothing', 'root', ''],
    ['a comment', 'root', '# nothing\n'],
    ['broken YAML', 'syntax', '{'],
    ['tabs', 'syntax', 'a:\n\tb: c\n'],
    ['deep nesting', 'tooComplex', `{a: ${'['.repeat(17)}${']'.repeat(17)}}`],
    ['very deep nesting', 'tooComplex', '['.repeat(60_000)],
    ['very deep block nesting', 'tooComplex', '- '.repeat(30_000)],
    ['very many fields', 'tooComplex', Array.from({ length: 9_000 }, (_, i) => `a${i}:`).join('\n')],
    ['a NUL', 'encoding', `${plain}\0`],
    ['an escape sequence', 'encoding', `${plain}# \u001b[2J`],
  ])('is refused: %s', (_, name, text) => {
    expect(refused(bytes(text))).toBe(refusals[name]);
  });

  it('is refused as bytes that are no UTF-8', () => {
    expect(refused(Uint8Array.of(0xff, 0xfe, 0x00))).toBe(refusals.encoding);
    expect(refused(Buffer.concat([Buffer.from(plain), Uint8Array.of(0xc3, 0x28)]))).toBe(refusals.encoding);
  });

  it('is refused above 64 KiB, and read up to there', () => {
    const padded = (size: number) => bytes(`${plain}#${'x'.repeat(size - plain.length - 1)}`);
    accepted(padded(64 * 1024));
    expect(refused(padded(64 * 1024 + 1))).toBe(refusals.tooLarge);
  });

  it('is refused quickly, whatever it is a lot of', () => {
    const pieces = [
      '[',
      '{',
      '- ',
      '? ',
      ': ',
      'a: ',
      '"',
      "'",
      '|\n',
      '>\n ',
      '#',
      '\n',
      ' ',
      '&a ',
      '!a ',
      'a:\n ',
      ',',
      '{a,',
      '*',
      '%',
      '-',
      '\\"',
      'a: b\n',
    ];
    const folded = `${' '.repeat(65_535)}!`;
    const inside = JSON.stringify({
      clusters: [{ cluster: { 'certificate-authority-data': btoa(folded.slice(20_000)) } }],
    });
    const documents = [...pieces.map((piece) => piece.repeat(65_536 / piece.length)), folded, inside];
    for (const document of documents)
      expect(
        cpuMs(() => refused(bytes(document))),
        document.slice(0, 10),
      ).toBeLessThan(1_500);
  });
});

describe('an environment in which the parser prints what it reads', () => {
  it('is changed before it reads', () => {
    const printed = [vi.spyOn(console, 'dir'), vi.spyOn(console, 'log')];
    process.env.LOG_STREAM = 'stdout';
    process.env.LOG_TOKENS = 'stdout';
    accepted(yamlOf(adminDocument()));
    for (const spy of printed) expect(spy).not.toHaveBeenCalled();
    vi.restoreAllMocks();
  });
});

describe('every document', () => {
  const canary = 'CANARY7f3a';
  const fieldNames = [...new Set([...allRefusals].flatMap((text) => text?.match(/[A-Za-z-]{3,}/g) ?? []))];
  const field = fc.oneof(fc.constantFrom(...fieldNames), fc.constant(canary), fc.string());
  const leaf = fc.oneof(
    fc.constant(canary),
    fc.string().map((text) => `${canary}${text}`),
    fc.double(),
    fc.boolean(),
    fc.constant(null),
  );
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof({ maxDepth: 5 }, leaf, fc.array(tie('tree')), fc.dictionary(field, tie('tree'))),
  }));

  /** Hundreds of documents each: nothing here is judged by time. */
  const manyRuns = { timeout: 60_000 };

  const holds = (document: Uint8Array): void => {
    const reading = readAdminKubeConfig(document);
    if ('config' in reading) throw new Error('accepted');
    expect(allRefusals.has(reading.refusal)).toBe(true);
    expect(reading.refusal).not.toContain(canary);
  };

  it('that is rubbish is refused by a known sentence, never by an exception', manyRuns, () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), holds), { numRuns: 500 });
    fc.assert(fc.property(fc.string({ unit: 'binary' }).map(bytes), holds), { numRuns: 500 });
    const yamlish = fc
      .array(fc.constantFrom(...'{}[]:,&*!|>%@`"\'#?- \n\tab0'))
      .map((parts) => bytes(parts.join('')));
    fc.assert(fc.property(yamlish, holds), { numRuns: 1_000 });
  });

  it('that is an object is refused by a known sentence without its text', manyRuns, () => {
    fc.assert(fc.property(tree.map(jsonOf), holds), { numRuns: 500 });
    fc.assert(fc.property(tree.map(yamlOf), holds), { numRuns: 300 });
  });

  it('that is spoilt in one place is refused without its text, or means the same', manyRuns, () => {
    const places = ['root', 'cluster', 'user', 'context'] as const;
    const spoilt = fc
      .tuple(fc.constantFrom(...places), field, tree)
      .filter(([, name]) => name !== 'namespace')
      .map(([place, name, value]) => {
        const base = place === 'user' ? { token: canary } : {};
        return adminDocument({ user: { token: canary }, [place]: { ...base, [name]: value } });
      });
    fc.assert(
      fc.property(spoilt, (document) => {
        const reading = readAdminKubeConfig(jsonOf(document));
        if ('config' in reading) expect(reading.config.server.host).toBe('target.test:6443');
        else {
          expect(allRefusals.has(reading.refusal)).toBe(true);
          expect(reading.refusal).not.toContain(canary);
        }
      }),
      { numRuns: 500 },
    );
  });
});

describe('isBearerToken', () => {
  it('takes what fits into a header and nothing that ends it', () => {
    expect(isBearerToken('eyJ.a-b_c')).toBe(true);
    for (const text of ['', 'a b', 'a\n', '\u00e9', 'a'.repeat(8_193)])
      expect(isBearerToken(text)).toBe(false);
  });
});

/** Replaces one integer of a PKCS#1 key by one of so many bytes. */
function withLongPart(der: Buffer, part: number, size: number): Buffer {
  const parts = integersOf(der);
  parts[part] = Buffer.concat([Buffer.of(1), Buffer.alloc(size - 1, 0xff)]);
  const body = Buffer.concat(parts.map((one) => Buffer.concat([header(0x02, one.length), one])));
  return Buffer.concat([header(0x30, body.length), body]);
}

const header = (tag: number, length: number): Buffer => {
  if (length < 0x80) return Buffer.of(tag, length);
  return length < 0x100 ? Buffer.of(tag, 0x81, length) : Buffer.of(tag, 0x82, length >> 8, length & 0xff);
};

/** The integers of a DER sequence of integers. */
function integersOf(der: Buffer): Buffer[] {
  const parts: Buffer[] = [];
  let [at] = contentOf(der, 0);
  while (at < der.length) {
    const [start, length] = contentOf(der, at);
    parts.push(der.subarray(start, start + length));
    at = start + length;
  }
  return parts;
}

function contentOf(der: Buffer, at: number): [start: number, length: number] {
  const first = der[at + 1] ?? 0;
  if (first < 0x80) return [at + 2, first];
  const count = first & 0x7f;
  return [at + 2 + count, der.readUIntBE(at + 2, count)];
}
