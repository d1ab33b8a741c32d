import { type Cidr, contains, parseAddress, parseCidr, plainAddress } from '../../cidr.ts';

/** The proxies between clients and the gateway. What they say about who a client is counts, and what anyone else says does not. */
export class TrustedProxies {
  readonly #ranges: readonly Cidr[];

  /** CIDRs. */
  constructor(ranges: readonly string[]) {
    this.#ranges = ranges.map(parseCidr).filter((range) => range !== undefined);
  }

  has(address: string): boolean {
    if (this.#ranges.length === 0) return false;
    const plain = plainAddress(address);
    const bytes = plain === undefined ? undefined : parseAddress(plain);
    return bytes !== undefined && this.#ranges.some((range) => contains(range, bytes));
  }

  /**
   * The address of the client behind a peer: the nearest entry of `X-Forwarded-For` that is no proxy of ours. Each proxy adds its own
   * peer at the end, so all in front of that entry is what a client may have invented.
   */
  clientBehind(peer: string, forwardedFor: string | undefined): string {
    if (forwardedFor === undefined || !this.has(peer)) return peer;
    let nearest = peer;
    for (const entry of forwardedFor.split(',').slice(-maxProxies).reverse()) {
      const address = addressIn(entry.trim());
      // Who wrote it did not know, or hides it.
      if (address === undefined) return nearest;
      nearest = address;
      if (!this.has(address)) return nearest;
    }
    return nearest;
  }
}

/** More than stand in any row of proxies. */
const maxProxies = 16;

/** Some proxies add the port, and brackets around an address of IPv6. */
function addressIn(entry: string): string | undefined {
  const [, bracketed, plain] =
    /^(?:\[([0-9A-Fa-f:.]+)\](?::\d{1,5})?|(\d+\.\d+\.\d+\.\d+):\d{1,5})$/.exec(entry) ?? [];
  return plainAddress(bracketed ?? plain ?? entry);
}
