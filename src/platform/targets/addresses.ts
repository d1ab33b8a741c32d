import type { LookupAddress, LookupOptions } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { type Cidr, contains, isWithin, parseAddress } from '../../cidr.ts';
import { LatchkeyError } from '../../errors.ts';
import { embeddedAddresses, isIsatap, requireCidr, specialRanges } from './address-ranges.ts';
import { type Resolve, systemResolver } from './resolver.ts';

/** More would not be reached within the time limit of a connection. */
const maxAddresses = 16;

/** An address that may not be dialled. `problem` is the end of a sentence, and holds no part of the address. */
export class AddressRefused extends LatchkeyError<'ERR_TARGET_ADDRESS'> {
  readonly problem: string;

  constructor(problem: string) {
    super('ERR_TARGET_ADDRESS', { problem });
    this.problem = problem;
  }
}

/**
 * Which addresses of targets may be dialled. A special one (loopback, link-local, multicast, metadata service, …) needs
 * an entry that lies wholly within its range: `0.0.0.0/0` opens none, `127.0.0.0/8` opens loopback. IPv6 addresses that
 * lead to IPv4 are judged by that IPv4 address.
 */
export class TargetAddresses {
  readonly #allowed: readonly Cidr[];
  readonly #resolve: Resolve;

  /** Throws a RangeError that names the entry that is no CIDR. */
  constructor(allowed: readonly string[], resolve: Resolve = systemResolver()) {
    this.#allowed = allowed.map(requireCidr);
    this.#resolve = resolve;
  }

  /** Why the address may not be dialled, as the end of a sentence; `undefined` when it may. Holds no part of it. */
  problem(address: string): string | undefined {
    const bytes = parseAddress(address);
    if (bytes === undefined) return 'it is no address';
    if (isIsatap(bytes)) return 'it is an ISATAP address';
    const embedded = embeddedAddresses(bytes);
    const judged = embedded.length === 0 ? [bytes] : embedded;
    return judged.map((one) => this.#findProblem(one)).find((problem) => problem !== undefined);
  }

  /**
   * For connections: resolves a name once and hands out only what was checked, so that no second answer can differ.
   * Fails with `ERR_TARGET_ADDRESS` when any of its addresses may not be dialled.
   */
  readonly lookup: LookupFunction = (hostname, options, callback) => {
    this.#resolveChecked(hostname, options).then(
      (addresses) => process.nextTick(() => answer(addresses, options, callback)),
      (error: NodeJS.ErrnoException) => process.nextTick(() => callback(error, '')),
    );
  };

  async #resolveChecked(hostname: string, { family }: LookupOptions): Promise<readonly LookupAddress[]> {
    const literal = isIP(hostname);
    const addresses =
      literal === 0 ? await this.#resolve(hostname) : [{ address: hostname, family: literal }];
    for (const { address } of addresses) {
      const problem = this.problem(address);
      if (problem !== undefined) throw new AddressRefused(problem);
    }
    const wanted = addresses.filter((one) => !family || one.family === familyNumber(family));
    if (wanted.length === 0) throw Object.assign(new Error('no address'), { code: 'ENOTFOUND' });
    return wanted.slice(0, maxAddresses);
  }

  #findProblem(address: Uint8Array): string | undefined {
    const special = specialRanges.find(({ cidr }) => contains(cidr, address) && !this.#opens(cidr, address));
    if (special !== undefined) return `it is ${special.name}`;
    const isListed = this.#allowed.some((cidr) => contains(cidr, address));
    return isListed ? undefined : 'it is not listed';
  }

  #opens(special: Cidr, address: Uint8Array): boolean {
    return this.#allowed.some((cidr) => isWithin(cidr, special) && contains(cidr, address));
  }
}

const familyNumber = (family: NonNullable<LookupOptions['family']>): number =>
  typeof family === 'number' ? family : Number(family.slice('IPv'.length));

function answer(
  addresses: readonly LookupAddress[],
  { all }: LookupOptions,
  callback: Parameters<LookupFunction>[2],
): void {
  const [first] = addresses;
  if (all) callback(null, [...addresses]);
  else if (first !== undefined) callback(null, first.address, first.family);
}
