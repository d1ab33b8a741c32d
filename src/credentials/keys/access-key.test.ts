import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { accessKeyScannerPattern, base62, checkAccessKey, generateAccessKey } from './access-key.ts';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** The definition of CRC-32 (IEEE 802.3), bit by bit. */
function slowCrc32(text: string): number {
  let crc = 0xffffffff;
  for (const byte of Buffer.from(text)) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  }
  return (crc ^ 0xffffffff) >>> 0;
}

/** Long division of the bytes, digit by digit, without BigInt. */
function slowBase62(bytes: readonly number[], length: number): string {
  let number = [...bytes];
  let text = '';
  for (let position = 0; position < length; position += 1) {
    let rest = 0;
    number = number.map((byte) => {
      const part = rest * 256 + byte;
      rest = part % 62;
      return Math.floor(part / 62);
    });
    text = alphabet.charAt(rest) + text;
  }
  return text;
}

const uint32Bytes = (value: number): number[] => [24, 16, 8, 0].map((shift) => (value >>> shift) & 0xff);
const random = fc.uint8Array({ minLength: 32, maxLength: 32 });

describe('generateAccessKey', () => {
  it.each([
    ['00'.repeat(32), 'lk_00000000000000000000000000000000000000000002eJTI4'],
    ['ff'.repeat(32), 'lk_yhjskwdA6OZ1AL1YmHWZWm8LLG7HjnuCA2j5rOw8Xp115EvKG'],
    [
      '000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f',
      'lk_003aUlTJC7tjlCTQj2uNU3MFagCXG9LRKRcwGkBIDlf3TQtQq',
    ],
  ])('makes of the bytes %s the key %s', (bytes, key) => {
    expect(generateAccessKey(Buffer.from(bytes, 'hex'))).toBe(key);
  });

  it('equals an independent computation for any bytes', () => {
    fc.assert(
      fc.property(random, (bytes) => {
        const start = `lk_${slowBase62([...bytes], 43)}`;
        return generateAccessKey(bytes) === start + slowBase62(uint32Bytes(slowCrc32(start)), 6);
      }),
    );
  });

  it('makes different keys of different bytes', () => {
    fc.assert(
      fc.property(random, random, (one, other) => {
        fc.pre(Buffer.compare(one, other) !== 0);
        return generateAccessKey(one) !== generateAccessKey(other);
      }),
    );
  });

  it.each([0, 31, 33])('refuses %i bytes', (length) => {
    expect(() => generateAccessKey(new Uint8Array(length))).toThrow(RangeError);
  });
});

describe('checkAccessKey', () => {
  it('knows every generated key as whole', () => {
    fc.assert(fc.property(random, (bytes) => checkAccessKey(generateAccessKey(bytes)) === 'whole'));
  });

  it('finds every single mistyped character', () => {
    fc.assert(
      fc.property(random, fc.nat({ max: 48 }), fc.nat({ max: 60 }), (bytes, position, step) => {
        const key = generateAccessKey(bytes);
        const index = position + 3;
        const typed = alphabet.charAt((alphabet.indexOf(key.charAt(index)) + 1 + step) % 62);
        return checkAccessKey(key.slice(0, index) + typed + key.slice(index + 1)) === 'malformed';
      }),
    );
  });

  it('finds every cut and every addition', () => {
    fc.assert(
      fc.property(random, fc.nat({ max: 48 }), fc.string({ minLength: 1 }), (bytes, kept, more) => {
        const key = generateAccessKey(bytes);
        const forms = [
          key.slice(0, 3 + kept),
          key + more,
          key.slice(0, 3 + kept) + more + key.slice(3 + kept),
        ];
        return forms.every((form) => checkAccessKey(form) === 'malformed');
      }),
    );
  });

  it.each([
    ['the prefix alone', 'lk_'],
    ['a character too many', `lk_${'a'.repeat(50)}`],
    ['a character too few', `lk_${'a'.repeat(48)}`],
    ['a line end behind', `${generateAccessKey(new Uint8Array(32))}\n`],
    ['500 characters', `lk_${'a'.repeat(497)}`],
  ])('takes what begins as a key and has %s for malformed', (_, bearer) => {
    expect(checkAccessKey(bearer)).toBe('malformed');
  });

  it.each([
    ['nothing', ''],
    ['another prefix', `gh_${'a'.repeat(49)}`],
    ['the prefix in capitals', `LK_${'a'.repeat(49)}`],
    ['a part of the prefix', 'lk'],
    ['a key that a user chose', 'correct-horse-battery-staple'],
  ])('leaves %s to the look-up', (_, bearer) => {
    expect(checkAccessKey(bearer)).toBe('supplied');
  });
});

describe('accessKeyScannerPattern', () => {
  it('finds a key in the middle of a line', () => {
    const key = generateAccessKey(new Uint8Array(32).fill(7));
    expect(new RegExp(accessKeyScannerPattern).exec(`export TOKEN="${key}" # ci`)?.[0]).toBe(key);
  });

  it.each(['xlk_', 'LK_', 'lk-'])('does not find %s with the characters of a key', (start) => {
    expect(new RegExp(accessKeyScannerPattern).test(`${start}${'a'.repeat(49)}`)).toBe(false);
  });
});

const numberOf = (text: string): bigint =>
  [...text].reduce((sum, digit) => sum * 62n + BigInt(alphabet.indexOf(digit)), 0n);

describe('base62', () => {
  it.each([
    [0n, 1, '0'],
    [61n, 2, '0z'],
    [62n, 2, '10'],
    [62n ** 6n - 1n, 6, 'zzzzzz'],
  ])('writes %s in %i characters as %s', (value, length, text) => {
    expect(base62(value, length)).toBe(text);
  });

  it('is read back as the same number', () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }),
        (value) => numberOf(base62(value, 43)) === value,
      ),
    );
  });

  it.each([
    [62n, 1],
    [-1n, 4],
  ])('refuses %s in %i characters', (value, length) => {
    expect(() => base62(value, length)).toThrow(RangeError);
  });
});
