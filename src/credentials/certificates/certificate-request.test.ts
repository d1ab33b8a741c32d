import { createPrivateKey, generateKeyPairSync, verify } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readCertificateRequest } from '../../../test/builders/certificate-request.ts';
import { createCertificateRequest } from './certificate-request.ts';

const utf8 = 12;
const printable = 19;
const oid = { commonName: '2.5.4.3', organization: '2.5.4.10' };
const name = { commonName: 'management.platform.sh:kubeconfig:uid-1:1', organization: 'the group' };
const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });

const subjectOf = (commonName: string, organization = 'group') =>
  readCertificateRequest(createCertificateRequest({ commonName, organization }, privateKey).request).subject;

describe('createCertificateRequest', () => {
  it('asks for one O and one CN, in this order, without any attribute', () => {
    const content = readCertificateRequest(createCertificateRequest(name).request);
    expect(content).toMatchObject({ version: 0, attributes: 0, algorithm: '1.2.840.10045.4.3.2' });
    expect(content.subject).toEqual([
      [{ oid: oid.organization, type: printable, text: name.organization }],
      [{ oid: oid.commonName, type: printable, text: name.commonName }],
    ]);
  });

  it('is PEM with lines of 64 characters', () => {
    const { request } = createCertificateRequest(name);
    expect(request).toMatch(
      /^-----BEGIN CERTIFICATE REQUEST-----\n(?:[A-Za-z0-9+/]{64}\n)+[A-Za-z0-9+/]{1,64}={0,2}\n-----END CERTIFICATE REQUEST-----\n$/,
    );
  });

  it('is signed with the private key, over exactly the bytes that it holds', () => {
    for (let run = 0; run < 100; run++) {
      const { request, publicKey } = createCertificateRequest(name);
      const content = readCertificateRequest(request);
      expect(content.publicKey).toEqual(publicKey.export({ type: 'spki', format: 'der' }));
      expect(verify('sha256', content.info, publicKey, content.signature)).toBe(true);
      expect(Buffer.from(request.split('\n').slice(1, -2).join(''), 'base64')).toSatisfy((der: Buffer) =>
        der.includes(content.info),
      );
    }
  });

  it('makes a new key each time, and hands it out as SEC 1', () => {
    const [one, two] = [createCertificateRequest(name), createCertificateRequest(name)];
    expect(one.publicKey.equals(two.publicKey)).toBe(false);
    expect(one.privateKey).toMatch(
      /^-----BEGIN EC PRIVATE KEY-----\n[A-Za-z0-9+/=\n]+-----END EC PRIVATE KEY-----\n$/,
    );
    expect(createPrivateKey(one.privateKey).asymmetricKeyDetails).toEqual({ namedCurve: 'prime256v1' });
    expect(one.request).not.toContain('PRIVATE');
  });

  it('takes a given key', () => {
    const made = createCertificateRequest(name, privateKey);
    expect(createPrivateKey(made.privateKey).equals(privateKey)).toBe(true);
  });

  it.each([
    ['an RSA key', generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey],
    ['a key on another curve', generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey],
    ['a public key', generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey],
  ])('refuses %s', (_, key) => {
    expect(() => createCertificateRequest(name, key)).toThrow(
      new RangeError('privateKey of a certificate request must be a private key on P-256'),
    );
  });
});

describe('the name in a certificate request', () => {
  it.each([
    ['a comma', 'x,O=system:masters', printable],
    ['a whole name', 'CN=x,O=system:masters', printable],
    ['the group of all rights', 'O=system:masters', printable],
    ['a slash, as openssl separates', '/O=system:masters', printable],
    ['a plus, as RFC 4514 separates', 'x+O=y', printable],
    ['an escaped comma', String.raw`x\,O=y`, utf8],
    ['an escape of RFC 4514', String.raw`x\0AO=y`, utf8],
    ['double quotes', '"x",O="y"', utf8],
    ['single quotes', "'x'", printable],
    ['a semicolon', 'x;O=y', utf8],
    ['an asterisk, which only some take for printable', '*', utf8],
    ['an ampersand, which only some take for printable', 'a&b', utf8],
    ['spaces at the ends', ' x ', printable],
    ['other scripts', 'jörg 工 🔑', utf8],
    ['a byte order mark', '\u{feff}x', utf8],
    ['a line separator of Unicode', 'x\u{2028}O=y', utf8],
    ['256 bytes', 'x'.repeat(256), printable],
    ['64 characters of 4 bytes', '🔑'.repeat(64), utf8],
  ])('carries %s literally as one value', (_, text, type) => {
    expect(subjectOf(text, text)).toEqual([
      [{ oid: oid.organization, type, text }],
      [{ oid: oid.commonName, type, text }],
    ]);
  });

  it.each([
    ['nothing', '', 'must not be empty'],
    ['a newline', 'x\nO=system:masters', 'must be text without control characters'],
    ['a carriage return', 'x\rO=y', 'must be text without control characters'],
    ['NUL, at which C ends a string', 'admin\0.example', 'must be text without control characters'],
    ['a tab', 'x\ty', 'must be text without control characters'],
    ['DEL', 'x\x7f', 'must be text without control characters'],
    ['a control character of Latin-1', 'x\x85y', 'must be text without control characters'],
    ['half of a surrogate pair', 'x\ud83d', 'must be text without control characters'],
    ['257 bytes', 'x'.repeat(257), 'must not be longer than 256 bytes'],
    ['more bytes than characters', '🔑'.repeat(65), 'must not be longer than 256 bytes'],
  ])('refuses %s, naming the field and not the value', (_, text, problem) => {
    expect(() => subjectOf(text)).toThrow(new RangeError(`commonName of a certificate ${problem}`));
    expect(() => subjectOf('x', text)).toThrow(new RangeError(`organization of a certificate ${problem}`));
  });

  it('holds exactly two values, each literally what was given, or is refused', { timeout: 60_000 }, () => {
    const pieces = [
      ',',
      '/',
      '+',
      '=',
      ';',
      '"',
      "'",
      '\\',
      '#',
      '<',
      '\n',
      '\0',
      ' ',
      '\\,',
      '\\0a',
      'é',
      '🔑',
      '\ud800',
    ];
    const hostile = fc.oneof(
      fc.constantFrom(...pieces, 'O=system:masters', 'CN=x,O=system:masters', '/O=', ', OU = '),
      fc.string({ unit: 'binary', maxLength: 40 }),
      fc.string({ unit: 'grapheme', maxLength: 40 }),
    );
    const texts = fc.array(hostile, { maxLength: 8 }).map((list) => list.join(''));
    fc.assert(
      fc.property(texts, texts, (commonName, organization) => {
        if (isUsable(commonName) && isUsable(organization)) {
          const values = subjectOf(commonName, organization).map((set) =>
            set.map(({ oid: id, text }) => [id, text]),
          );
          expect(values).toEqual([[[oid.organization, organization]], [[oid.commonName, commonName]]]);
        } else {
          expect(() => subjectOf(commonName, organization)).toThrow(RangeError);
        }
      }),
      { numRuns: 1000 },
    );
  });

  const isUsable = (text: string): boolean =>
    text !== '' &&
    text.isWellFormed() &&
    Buffer.byteLength(text) <= 256 &&
    [...text].every((character) => !isControl(character.codePointAt(0) ?? 0));

  const isControl = (code: number): boolean => code < 0x20 || (code >= 0x7f && code < 0xa0);
});
