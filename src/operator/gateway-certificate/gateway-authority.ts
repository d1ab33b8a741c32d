import { isDeepStrictEqual } from 'node:util';
import type { GatewayTrust } from './plan-certificate.ts';

/** The authorities of the gateway as kubeconfigs name them. */
export class GatewayAuthority {
  readonly #onChange: () => void;
  #known: GatewayTrust | undefined;

  /** `onChange` is called when it becomes known, and when it changes. */
  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  /** Undefined: not known yet. */
  get known(): GatewayTrust | undefined {
    return this.#known;
  }

  publish(trust: GatewayTrust): void {
    if (isDeepStrictEqual(this.#known, trust)) return;
    this.#known = trust;
    this.#onChange();
  }
}
