import { contains, parseAddress, parseCidr } from '../../cidr.ts';

const mapped = parseCidr('::ffff:0:0/96');

/** What counts as one source: an IPv4 address, or the /64 that one IPv6 host has for itself. */
export function sourceOf(address: string): string {
  const bytes = parseAddress(address);
  if (bytes === undefined || bytes.length === 4) return address;
  if (mapped !== undefined && contains(mapped, bytes)) return bytes.subarray(12).join('.');
  const group = (index: number) => (((bytes[index] ?? 0) << 8) | (bytes[index + 1] ?? 0)).toString(16);
  return `${[0, 2, 4, 6].map(group).join(':')}::/64`;
}
