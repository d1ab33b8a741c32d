import { describe, expect, it } from 'vitest';
import { generateAccessKey } from './access-key.ts';
import { credentialHash, keyIDOf } from './credential-hash.ts';
import { parseSpecKey } from './spec-key.ts';

const hex = credentialHash('some-key-of-twenty-characters');

describe('credentialHash', () => {
  it('is the SHA-256 of the text in lower-case hexadecimal', () => {
    expect(credentialHash('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  });

  it('shows 16 characters of it as the key ID', () => {
    expect(keyIDOf(credentialHash('abc'))).toBe('ba7816bf8f01cfea');
  });
});

describe('parseSpecKey', () => {
  it.each([undefined, null, ''])('takes %j as no key', (value) => {
    expect(parseSpecKey(value)).toBeUndefined();
  });

  it('reads a hash and the plain key as the same credential', () => {
    expect(parseSpecKey(`sha256:${hex}`)).toEqual({ form: 'Hash', hash: hex, wellFormed: true });
    expect(parseSpecKey('some-key-of-twenty-characters')).toEqual({
      form: 'Plain',
      hash: hex,
      wellFormed: true,
    });
  });

  it.each([
    ['20 characters', 'a'.repeat(20), true],
    ['512 characters', 'a'.repeat(512), true],
    ['every allowed sign', 'AZaz09._~+/=-AZaz09._~', true],
    ['a generated key', generateAccessKey(new Uint8Array(32)), true],
    ['19 characters', 'a'.repeat(19), false],
    ['513 characters', 'a'.repeat(513), false],
    ['a space', 'a'.repeat(20).replace('aa', 'a '), false],
    ['a line end', `${'a'.repeat(20)}\n`, false],
    ['another script', 'ключключключключключ', false],
    ['a generated key with a typing error', `lk_${'a'.repeat(49)}`, false],
    ['a generated key that was cut', generateAccessKey(new Uint8Array(32)).slice(0, -1), false],
    ['half a generated key', generateAccessKey(new Uint8Array(32)).slice(0, 26), false],
    ['a generated key with a character more', `${generateAccessKey(new Uint8Array(32))}0`, false],
    ['two generated keys', generateAccessKey(new Uint8Array(32)).repeat(2), false],
    ['a hash in capitals', `sha256:${hex.toUpperCase()}`, false],
    ['half a hash', `sha256:${hex.slice(1)}`, false],
    ['the plain hash of another algorithm', `sha512:${hex}${hex}`, false],
  ])('judges a plain key with %s', (_, value, wellFormed) => {
    expect(parseSpecKey(value)).toEqual({ form: 'Plain', hash: credentialHash(value), wellFormed });
  });

  it.each([7, true, ['a'], { a: 1 }])('takes %j, which is no text, as a malformed key', (value) => {
    expect(parseSpecKey(value)).toMatchObject({ wellFormed: false });
  });
});
