import { describe, expect, it } from 'vitest';
import { withoutSecrets } from './redaction.ts';

const accessKey = `lk_${'aB3'.repeat(16)}x`;
const token = `eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhIn0.${'s-_'.repeat(20)}`;
const pem = '-----BEGIN EC PRIVATE KEY-----\nMHcCAQEE\n-----END EC PRIVATE KEY-----';

describe('withoutSecrets', () => {
  it.each([
    ['an access key', `key ${accessKey}, then`, 'key [redacted], then'],
    ['a web token', `token=${token}&x`, 'token=[redacted]&x'],
    ['a private key', `a ${pem} b`, 'a [redacted] b'],
    ['a private key in a JSON string', JSON.stringify({ pem }), '{"pem":"[redacted]"}'],
    ['a private key that was cut off', 'a -----BEGIN PRIVATE KEY-----\nMHc', 'a [redacted]'],
    ['an Authorization value', 'authorization: Bearer abcdefgh12345', 'authorization: [redacted]'],
    ['several in one text', `${accessKey} ${accessKey}`, '[redacted] [redacted]'],
  ])('takes out %s', (_, text, expected) => {
    expect(withoutSecrets(text)).toBe(expected);
  });

  it.each([
    'sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
    'lk_short',
    'the bearer of this',
    '-----BEGIN CERTIFICATE-----',
    '{"time":"2026-11-21T10:00:00.000Z","msg":"credential issued","keyID":"9f86d081884c7d65"}',
  ])('leaves %s alone', (text) => {
    expect(withoutSecrets(text)).toBe(text);
  });
});
