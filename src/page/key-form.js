/** The form of access keys, as src/credentials/keys/access-key.ts makes them: a test compares the two. */
const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/**
 * @param {Uint8Array} random 32 bytes
 * @returns {string}
 */
export function toAccessKey(random) {
  const hex = [...random].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  const start = `lk_${base62(BigInt(`0x${hex}`), 43)}`;
  return start + base62(BigInt(crc32(start)), 6);
}

/**
 * @param {bigint} value
 * @param {number} length
 */
function base62(value, length) {
  let rest = value;
  let text = '';
  for (let position = 0; position < length; position += 1) {
    text = alphabet.charAt(Number(rest % 62n)) + text;
    rest /= 62n;
  }
  return text;
}

/** @param {string} text ASCII */
function crc32(text) {
  let crc = 0xffffffff;
  for (const character of text) {
    crc ^= character.charCodeAt(0);
    for (let bit = 0; bit < 8; bit += 1) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return (crc ^ 0xffffffff) >>> 0;
}

/**
 * What the gateway stores of a key.
 * @param {string} key
 */
export async function hashOf(key) {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(key));
  return `sha256:${[...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}
