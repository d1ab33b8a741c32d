import { crc32 } from 'node:zlib';
import { base62 } from './base62.ts';

export const accessKeyPrefix = 'lk_';
/** Random bytes that one access key carries. */
export const accessKeyBytes = 32;

const secretLength = 43;
const checksumLength = 6;
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

export type AccessKeyForm = 'whole' | 'malformed' | 'foreign';

/**
 * Tells a typing error before any look-up: `whole` is our form with a fitting checksum, `malformed` our form with
 * another checksum, `foreign` anything else (a key that a user chose).
 */
export function checkAccessKey(bearer: string): AccessKeyForm {
  if (!wholeForm.test(bearer)) return 'foreign';
  return withChecksum(bearer.slice(0, -checksumLength)) === bearer ? 'whole' : 'malformed';
}

/** CRC-32 of everything before it, the prefix included. */
function withChecksum(start: string): string {
  return start + base62(BigInt(crc32(start)), checksumLength);
}
