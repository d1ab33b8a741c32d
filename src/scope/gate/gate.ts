import type { RequestTarget } from '../request-path.ts';
import type { RequestMeaning } from '../requests/resolve-request.ts';

/** One entry of a scope, made ready to judge requests. */
export interface GateEntry {
  /** Whether it can allow anything there. */
  reaches(target: RequestTarget): boolean;
  /** Asked only about requests to a target that it reaches. */
  allows(request: RequestMeaning): boolean;
  /** Whether it names a target as a whole, and not what may be done in it. */
  readonly isWhole: boolean;
  /** Whether it names the resource of the request in full, without a wildcard. */
  names(request: RequestMeaning): boolean;
}

/** A scope that was read once. A request passes it when one entry allows it. */
export interface Gate {
  readonly entries: readonly GateEntry[];
  /** Entries of the scope that allow nothing, for people. */
  readonly warnings: readonly string[];
  /** Of an agent: the clusters whose stream it opens. It opens nothing else, not even what every credential may ask. */
  readonly agentOf?: ReadonlySet<string>;
}
