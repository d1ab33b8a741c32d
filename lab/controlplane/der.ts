/** Writes the few ASN.1 types that a certificate needs, in DER (ITU-T X.690). Values are always definite-length. */

function tagged(tag: number, ...content: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(content);
  return Buffer.concat([Buffer.from([tag]), length(body.length), body]);
}

function length(size: number): Buffer {
  if (size < 0x80) return Buffer.from([size]);
  const digits = Buffer.from(size.toString(16).padStart(size > 0xff ? 4 : 2, '0'), 'hex');
  return Buffer.concat([Buffer.from([0x80 | digits.length]), digits]);
}

export const sequence = (...items: readonly Uint8Array[]): Buffer => tagged(0x30, ...items);
export const set = (...items: readonly Uint8Array[]): Buffer => tagged(0x31, ...items);
export const octetString = (content: Uint8Array): Buffer => tagged(0x04, content);
export const utf8String = (text: string): Buffer => tagged(0x0c, Buffer.from(text, 'utf8'));
export const boolean = (value: boolean): Buffer => tagged(0x01, Buffer.from([value ? 0xff : 0]));
/** A context-specific, constructed tag: `[number]` in ASN.1 notation. */
export const explicit = (number: number, content: Uint8Array): Buffer => tagged(0xa0 | number, content);
/** A context-specific, primitive tag. */
export const implicit = (number: number, content: Uint8Array): Buffer => tagged(0x80 | number, content);

/** An INTEGER from unsigned big-endian bytes whose first bit is clear. */
export const integer = (bytes: Uint8Array): Buffer => tagged(0x02, bytes);

/** A BIT STRING; `unusedBits` at its end do not count. */
export const bitString = (content: Uint8Array, unusedBits = 0): Buffer =>
  tagged(0x03, Buffer.from([unusedBits]), content);

/** UTCTime, which is the required form for dates before 2050 (RFC 5280, 4.1.2.5.1). */
export function utcTime(date: Date): Buffer {
  const digits = date.toISOString().replaceAll(/[-:T]/g, '').slice(2, 14);
  return tagged(0x17, Buffer.from(`${digits}Z`, 'ascii'));
}

export function objectIdentifier(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  return tagged(0x06, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]));
}

function base128(part: number): number[] {
  const digits = [part & 0x7f];
  for (let left = part >>> 7; left > 0; left >>>= 7) digits.unshift((left & 0x7f) | 0x80);
  return digits;
}
