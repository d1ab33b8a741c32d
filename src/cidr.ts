import { isIPv4, isIPv6 } from 'node:net';

/** A range of addresses of one family. */
export interface Cidr {
  /** 4 or 16 bytes. */
  readonly network: Uint8Array;
  readonly prefix: number;
}

/** The 4 or 16 bytes of an address, without a zone; `undefined` when the text is none. */
export function parseAddress(text: string): Uint8Array | undefined {
  if (isIPv4(text)) return Uint8Array.from(text.split('.'), Number);
  if (!isIPv6(text)) return undefined;
  const [address = ''] = text.split('%');
  const [head = '', tail] = address.replace(/[\d.]+\.[\d.]+$/, dottedToGroups).split('::');
  const [left, right] = [parseGroups(head), parseGroups(tail ?? '')];
  const zeros: number[] = new Array(8 - left.length - right.length).fill(0);
  return Uint8Array.from([...left, ...zeros, ...right].flatMap((group) => [group >> 8, group & 0xff]));
}

/** `address/prefix`; `undefined` when the text is none, or names an address inside its range instead of the range's first. */
export function parseCidr(text: string): Cidr | undefined {
  const [, address = '', length = ''] = /^([0-9A-Fa-f:.]+)\/(0|[1-9]\d{0,2})$/.exec(text) ?? [];
  const network = parseAddress(address);
  const prefix = Number(length);
  if (network === undefined || prefix > network.length * 8) return undefined;
  const isFirst = network.every((byte, index) => (byte & ~maskByte(prefix, index)) === 0);
  return isFirst ? { network, prefix } : undefined;
}

/** Whether the address, as bytes, is in the range. One of the other family never is. */
export function contains({ network, prefix }: Cidr, address: Uint8Array): boolean {
  if (network.length !== address.length) return false;
  return network.every((byte, index) => byte === ((address[index] ?? 0) & maskByte(prefix, index)));
}

/** Whether every address of `inner` is in `outer`. */
export function isWithin(inner: Cidr, outer: Cidr): boolean {
  return inner.prefix >= outer.prefix && contains(outer, inner.network);
}

/** The bits of one byte that belong to the prefix. */
function maskByte(prefix: number, index: number): number {
  const bits = Math.min(8, Math.max(0, prefix - index * 8));
  return (0xff00 >> bits) & 0xff;
}

function parseGroups(text: string): number[] {
  return text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16));
}

function dottedToGroups(dotted: string): string {
  const [a = 0, b = 0, c = 0, d = 0] = dotted.split('.').map(Number);
  return `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
}

const mapped = parseCidr('::ffff:0:0/96');

const isMapped = (bytes: Uint8Array): boolean => mapped !== undefined && contains(mapped, bytes);

/** An address in its one form: without a zone, and one of IPv4 as such. Undefined when the text is none. */
export function plainAddress(text: string): string | undefined {
  // Most are that, and this runs for every request.
  if (isIPv4(text)) return text;
  const bytes = parseAddress(text);
  if (bytes === undefined) return undefined;
  if (isMapped(bytes)) return bytes.subarray(12).join('.');
  return new URL(`http://[${text.split('%', 1)[0]}]`).hostname.slice(1, -1);
}

/** The network that counts as one source: an IPv4 address, or the /64 that one IPv6 host has for itself. */
export function sourceOf(address: string): string {
  const bytes = parseAddress(address);
  if (bytes === undefined || bytes.length === 4) return address;
  if (isMapped(bytes)) return bytes.subarray(12).join('.');
  const group = (index: number) => (((bytes[index] ?? 0) << 8) | (bytes[index + 1] ?? 0)).toString(16);
  return `${[0, 2, 4, 6].map(group).join(':')}::/64`;
}
