import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { createAuthority, createServer } from '../../lab/controlplane/certificates.ts';
import { allOperatorSettings } from './operator.ts';
import { readSettings } from './read.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'latchkey-authority-'));
afterAll(() => rmSync(folder, { recursive: true }));

function read(content: string | undefined): string | undefined {
  const file = path.join(folder, 'ca.crt');
  if (content !== undefined) writeFileSync(file, content);
  const environment = {
    LATCHKEY_BASE_URL: 'https://latchkey.example.com',
    LATCHKEY_BASE_URL_CA_FILE: content === undefined ? path.join(folder, 'missing') : file,
  };
  return readSettings(allOperatorSettings, environment).baseURLCA;
}

describe('the certificate authority of the base URL', () => {
  const authority = createAuthority('test');

  it.each([
    ['is what the operator knows by itself unless a file is named', {}, 'auto'],
    ['is none when the site says so', { LATCHKEY_BASE_URL_CA_FILE: 'none' }, undefined],
  ])('%s', (_, given, expected) => {
    const environment = { LATCHKEY_BASE_URL: 'https://latchkey.example.com', ...given };
    const { baseURLCA } = readSettings(allOperatorSettings, environment);
    expect(baseURLCA).toBe(expected);
  });

  it('is every certificate of the file', () => {
    const both = `${authority.certificate.trim()}\n# a comment\n${createAuthority('other').certificate}`;
    expect(read(both)?.match(/BEGIN CERTIFICATE/g)).toHaveLength(2);
  });

  it('never holds a private key that stands in the same file', () => {
    const { key, certificate } = createServer(authority, ['localhost']);
    expect(read(`${key}\n${certificate}`)).not.toContain('PRIVATE KEY');
  });

  it.each([
    ['a file that is not there', undefined, 'cannot be read'],
    ['a file without certificates', 'nothing', 'without certificates'],
    [
      'a damaged certificate',
      '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----',
      'a certificate that cannot be read',
    ],
  ])('is refused from %s, by the name of the variable', (_, content, problem) => {
    expect(() => read(content)).toThrow(new RegExp(`LATCHKEY_BASE_URL_CA_FILE.*${problem}`, 's'));
  });
});
