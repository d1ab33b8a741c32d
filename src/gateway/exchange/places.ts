import { sourceOf } from '../../cidr.ts';

interface PlaceLimits {
  readonly all: number;
  readonly ofAddress: number;
}

/** How many exchanges strangers may have under way: in all, and from one address (IPv6: from one /64). */
export class Places {
  readonly #limits: PlaceLimits;
  readonly #ofSource = new Map<string, number>();
  #all = 0;

  constructor(limits: PlaceLimits) {
    this.#limits = limits;
  }

  /** Returns what gives the place back; undefined where there is none. */
  enter(address: string): (() => void) | undefined {
    const source = sourceOf(address);
    const own = this.#ofSource.get(source) ?? 0;
    if (this.#all >= this.#limits.all || own >= this.#limits.ofAddress) return undefined;
    this.#all += 1;
    this.#ofSource.set(source, own + 1);
    return () => this.#leave(source);
  }

  #leave(source: string): void {
    const left = (this.#ofSource.get(source) ?? 1) - 1;
    this.#all -= 1;
    if (left === 0) this.#ofSource.delete(source);
    else this.#ofSource.set(source, left);
  }
}
