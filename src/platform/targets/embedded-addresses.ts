import { type Cidr, contains } from '../../kube/cidr.ts';
import { cidrOf } from './special-addresses.ts';

interface Form {
  readonly cidr: Cidr;
  /** Where the four bytes of the IPv4 address stand. */
  readonly bytes: readonly [number, number, number, number];
}

const last = [12, 13, 14, 15] as const;

/** IPv6 addresses that a host, a router or a gateway turns into IPv4. */
const forms: readonly Form[] = [
  // IPv4-mapped, IPv4-compatible, IPv4-translated.
  { cidr: cidrOf('::ffff:0:0/96'), bytes: last },
  { cidr: cidrOf('::/96'), bytes: last },
  { cidr: cidrOf('::ffff:0:0:0/96'), bytes: last },
  // NAT64 with its well-known prefix. Where those for local use hold the address is known only to who chose them.
  { cidr: cidrOf('64:ff9b::/96'), bytes: last },
  // 6to4.
  { cidr: cidrOf('2002::/16'), bytes: [2, 3, 4, 5] },
];

/** `::` and `::1` look like IPv4-compatible addresses and are none. */
const native = [cidrOf('::/128'), cidrOf('::1/128')];

/** The IPv4 addresses that an IPv6 address may end at; empty when it stands for itself. */
export function embeddedAddresses(address: Uint8Array): readonly Uint8Array[] {
  if (native.some((cidr) => contains(cidr, address))) return [];
  return forms
    .filter(({ cidr }) => contains(cidr, address))
    .map(({ bytes }) => Uint8Array.from(bytes, (index) => address[index] ?? 0));
}
