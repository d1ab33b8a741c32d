/** One element of a DER encoding. */
export interface DERElement {
  readonly tag: number;
  readonly content: Buffer;
}

export const tags = {
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  null: 0x05,
  oid: 0x06,
  sequence: 0x30,
  context0: 0xa0,
  context1: 0xa1,
} as const;

/**
 * The elements that stand one after another, without looking into them; `undefined` when that is not all there is, or
 * there are more than `max`. Strict: lengths are definite, and in their shortest form.
 */
export function parseDER(bytes: Buffer, max: number): readonly DERElement[] | undefined {
  const elements: DERElement[] = [];
  for (let at = 0; at < bytes.length; ) {
    const header = headerAt(bytes, at);
    if (header === undefined || elements.length === max) return undefined;
    const end = header.start + header.length;
    if (end > bytes.length) return undefined;
    elements.push({ tag: bytes.readUInt8(at), content: bytes.subarray(header.start, end) });
    at = end;
  }
  return elements;
}

interface Header {
  /** Of the content. */
  readonly start: number;
  readonly length: number;
}

/** Tags of several bytes, and contents of 16 MiB and more, are none that a key has. */
function headerAt(bytes: Buffer, at: number): Header | undefined {
  const first = bytes[at + 1];
  if (first === undefined || ((bytes[at] ?? 0) & 0x1f) === 0x1f) return undefined;
  if (first < 0x80) return { start: at + 2, length: first };
  const size = first & 0x7f;
  if (size === 0 || size > 3 || at + 2 + size > bytes.length) return undefined;
  const length = bytes.readUIntBE(at + 2, size);
  const isShortest = length >= 0x80 && length >= 2 ** (8 * (size - 1));
  return isShortest ? { start: at + 2 + size, length } : undefined;
}
