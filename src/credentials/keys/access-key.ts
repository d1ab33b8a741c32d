import { crc32 } from 'node:zlib';

export const accessKeyPrefix = 'lk_';
/** Random bytes that one access key carries. */
export const accessKeyBytes = 32;

const secretLength = 43;
const checksumLength = 6;
/** Digits first, so that the text order of padded numbers is their numeric order. */
const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const wholeForm = /^lk_[0-9A-Za-z]{49}$/;

/**
 * The regular expression that we publish for secret scanners. A match with a fitting checksum is an access key.
 * @public docs/reference/scanners.md shows it.
 */
export const accessKeyScannerPattern = '\\blk_[0-9A-Za-z]{49}\\b';

/**
 * Makes an access key, `lk_` + 43 + 6 base62 characters, from exactly 32 random bytes.
 * The bytes are read as one number, so all 2^256 keys are equally likely. Throws `RangeError` for another length.
 */
export function generateAccessKey(random: Uint8Array): string {
  if (random.length !== accessKeyBytes)
    throw new RangeError(`an access key needs ${accessKeyBytes} random bytes`);
  const secret = base62(BigInt(`0x${Buffer.from(random).toString('hex')}`), secretLength);
  return withChecksum(accessKeyPrefix + secret);
}

export type AccessKeyForm = 'whole' | 'malformed' | 'supplied';

/**
 * Tells a typing error before any look-up: `whole` is our form with a fitting checksum, `malformed` anything else that
 * begins with our prefix, of any length, and `supplied` the rest (a key that a user chose).
 */
export function checkAccessKey(bearer: string): AccessKeyForm {
  if (!bearer.startsWith(accessKeyPrefix)) return 'supplied';
  return wholeForm.test(bearer) && hasChecksum(bearer) ? 'whole' : 'malformed';
}

/** CRC-32 of everything before it, the prefix included. */
const withChecksum = (start: string): string => start + base62(BigInt(crc32(start)), checksumLength);

/** The same for every request, so without a text or a big number: from the last digit on. */
function hasChecksum(bearer: string): boolean {
  const start = bearer.length - checksumLength;
  let rest = crc32(bearer.slice(0, start));
  for (let position = bearer.length - 1; position >= start; position -= 1) {
    if (alphabet.charCodeAt(rest % 62) !== bearer.charCodeAt(position)) return false;
    rest = Math.floor(rest / 62);
  }
  return true;
}

/** Writes a non-negative number in base 62, padded on the left to `length` characters. Throws `RangeError` when it does not fit. */
export function base62(value: bigint, length: number): string {
  let rest = value;
  let text = '';
  for (let position = 0; position < length; position += 1) {
    text = alphabet.charAt(Number(rest % 62n)) + text;
    rest /= 62n;
  }
  if (value < 0n || rest !== 0n)
    throw new RangeError(`the number does not fit into ${length} base62 characters`);
  return text;
}
