import { type LiveScope, maxScopesBytes } from '../../../api/live-credentials.ts';
import type { LiveRecord } from '../../../credentials/record.ts';
import { effectiveScope } from '../../../scope/effective-scope.ts';
import type { Verdict } from '../../index/verdict.ts';

interface RecordScope {
  /** Empty for a record without a scope. */
  readonly scopes: readonly LiveScope[];
  /** As JSON. */
  readonly bytes: number;
}

/** A record never changes, and a key may have thousands of tokens below it. */
const known = new WeakMap<LiveRecord, RecordScope>();

/** The scopes of a token and of the keys above it; undefined where they are more than a stream may repeat for each token. */
export function findLiveScopes({
  record,
  ancestors,
}: Pick<Verdict, 'record' | 'ancestors'>): readonly LiveScope[] | undefined {
  const found = [record, ...ancestors].map(scopeOf);
  const scopes = found.flatMap((each) => each.scopes);
  // With the commas between them and the two brackets.
  const bytes = found.reduce((sum, each) => sum + each.bytes, 2 + Math.max(0, scopes.length - 1));
  return bytes > maxScopesBytes ? undefined : scopes;
}

function scopeOf(record: LiveRecord): RecordScope {
  const present = known.get(record) ?? measure(record);
  known.set(record, present);
  return present;
}

function measure(record: LiveRecord): RecordScope {
  const scope = effectiveScope(record);
  if (scope === undefined) return { scopes: [], bytes: 0 };
  const live = { owner: `${record.kind} "${record.name}"`, scope };
  return { scopes: [live], bytes: Buffer.byteLength(JSON.stringify(live)) };
}
