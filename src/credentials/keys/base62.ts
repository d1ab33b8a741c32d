/** Digits first, so that the text order of padded numbers is their numeric order. */
const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

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
