import { type Cidr, contains, parseCidr } from '../../cidr.ts';

/** A range that leads to the machine itself, to its neighbours, or to what hands out the credentials of machines. */
export interface SpecialRange {
  readonly cidr: Cidr;
  /** As in `it is <name>`. */
  readonly name: string;
}

const ranges: Readonly<Record<string, readonly string[]>> = {
  'an unspecified address': ['0.0.0.0/8', '::/128'],
  'a loopback address': ['127.0.0.0/8', '::1/128'],
  'a link-local address': ['169.254.0.0/16', 'fe80::/10'],
  'a multicast address': ['224.0.0.0/4', 'ff00::/8'],
  'a broadcast address': ['255.255.255.255/32'],
  'a reserved address': ['240.0.0.0/4'],
  // Given up: routers still know them, and lead to another machine than was meant.
  'a site-local address': ['fec0::/10'],
  'a relay of 6to4': ['192.88.99.1/32'],
  // RFC 8215: it may lead to any of the above; only its translator knows where.
  'a translated address': ['64:ff9b:1::/48'],
  // Tunnels to IPv4: the address inside is hidden (RFC 4380).
  'a Teredo address': ['2001::/32'],
  'the metadata service of a cloud': [
    // AWS, Azure, Google Cloud, DigitalOcean, OpenStack; those of containers and pods on AWS; their IPv6 forms.
    '169.254.169.254/32',
    '169.254.170.2/32',
    '169.254.170.23/32',
    'fd00:ec2::254/128',
    'fd00:ec2::23/128',
    'fd20:ce::254/128',
    // Azure's host agent, Alibaba Cloud, Oracle Cloud.
    '168.63.129.16/32',
    '100.100.100.200/32',
    '192.0.0.192/32',
  ],
};

export const specialRanges: readonly SpecialRange[] = Object.entries(ranges).flatMap(([name, texts]) =>
  texts.map((text) => ({ name, cidr: requireCidr(text) })),
);

interface Form {
  readonly cidr: Cidr;
  /** Where the four bytes of the IPv4 address stand. */
  readonly bytes: readonly [number, number, number, number];
}

const last = [12, 13, 14, 15] as const;

/** IPv6 addresses that a host, a router or a gateway turns into IPv4. */
const forms: readonly Form[] = [
  // IPv4-mapped, IPv4-compatible, IPv4-translated.
  { cidr: requireCidr('::ffff:0:0/96'), bytes: last },
  { cidr: requireCidr('::/96'), bytes: last },
  { cidr: requireCidr('::ffff:0:0:0/96'), bytes: last },
  // NAT64 with its well-known prefix. Prefixes for local use hold the address in a place that cannot be known here.
  { cidr: requireCidr('64:ff9b::/96'), bytes: last },
  // 6to4.
  { cidr: requireCidr('2002::/16'), bytes: [2, 3, 4, 5] },
];

/** `::` and `::1` look like IPv4-compatible addresses and are none. */
const native = [requireCidr('::/128'), requireCidr('::1/128')];

/** The IPv4 addresses that an IPv6 address may end at; empty when it stands for itself. */
export function embeddedAddresses(address: Uint8Array): readonly Uint8Array[] {
  if (native.some((cidr) => contains(cidr, address))) return [];
  return forms
    .filter(({ cidr }) => contains(cidr, address))
    .map(({ bytes }) => Uint8Array.from(bytes, (index) => address[index] ?? 0));
}

/** Where its router is, only that router knows (RFC 5214); the last four bytes are the IPv4 address. */
export function isIsatap(address: Uint8Array): boolean {
  const [first, ...others] = address.slice(8, 12);
  return (first === 0 || first === 2) && others.join() === '0,94,254';
}

/** Throws a RangeError that names the text. */
export function requireCidr(text: string): Cidr {
  const cidr = parseCidr(text);
  if (cidr === undefined)
    throw new RangeError(
      `"${text}" is no range of addresses: write the first address and a prefix length, such as 10.0.0.0/8`,
    );
  return cidr;
}
