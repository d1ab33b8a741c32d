import { isInteger } from '../../scope/requests/list-query.ts';
import { refuse } from './refusal.ts';

/** Refuses what the API server refuses of the options of a list or a watch, by themselves. Throws a Refusal. */
export function checkListOptions(query: URLSearchParams, isWatch: boolean): void {
  const problems = isWatch ? watchProblems(query) : listProblems(query);
  if (problems.length > 0) refuse('ERR_QUERY_INVALID', { problem: problems.join('; ') });
}

function listProblems(query: URLSearchParams): readonly string[] {
  const match = query.get('resourceVersionMatch') ?? '';
  const version = query.get('resourceVersion') ?? '';
  const isMatched = match !== '';
  return toProblems([
    [isMatched && version === '', 'resourceVersionMatch needs resourceVersion'],
    [isMatched && isContinued(query), 'resourceVersionMatch cannot stand beside continue'],
    [isMatched && !matches.has(match), 'resourceVersionMatch must be Exact or NotOlderThan'],
    [match === 'Exact' && version === '0', 'resourceVersionMatch cannot be Exact with the resourceVersion 0'],
    [query.has('sendInitialEvents'), 'sendInitialEvents is for watches'],
  ]);
}

function watchProblems(query: URLSearchParams): readonly string[] {
  const match = query.get('resourceVersionMatch') ?? '';
  const isMatched = match !== '';
  const isOther = match !== 'NotOlderThan';
  const sendsInitial = query.has('sendInitialEvents');
  return toProblems([
    [sendsInitial && isOther, 'sendInitialEvents needs resourceVersionMatch=NotOlderThan'],
    [isMatched && !sendsInitial, 'resourceVersionMatch of a watch needs sendInitialEvents'],
    [isMatched && isOther, 'resourceVersionMatch of a watch must be NotOlderThan'],
    [isMatched && isContinued(query), 'resourceVersionMatch cannot stand beside continue'],
  ]);
}

const toProblems = (checks: readonly (readonly [boolean, string])[]): readonly string[] =>
  checks.flatMap(([isProblem, text]) => (isProblem ? [text] : []));

const matches: ReadonlySet<string> = new Set(['Exact', 'NotOlderThan']);
const isContinued = (query: URLSearchParams): boolean => (query.get('continue') ?? '') !== '';

/** How many objects at most. Throws a Refusal. */
export function readLimit(query: URLSearchParams): number {
  const text = query.get('limit') ?? undefined;
  if (!isInteger(text)) return refuse('ERR_QUERY', { problem: 'limit is no number' });
  const limit = Number(text ?? 0);
  return limit > 0 ? limit : Number.POSITIVE_INFINITY;
}

/** How new a list or an object has to be. */
export interface WantedVersion {
  readonly resourceVersion: string;
  /** Whether it must be that very one. */
  readonly isExact: boolean;
}

/** Undefined where any version will do. Throws a Refusal. */
export function readWantedVersion(query: URLSearchParams): WantedVersion | undefined {
  const number = readVersion(query);
  if (number === 0n) return undefined;
  if (isContinued(query))
    return refuse('ERR_QUERY', { problem: 'resourceVersion cannot stand beside continue' });
  const match = query.get('resourceVersionMatch') ?? '';
  // As from the time before there was a word for it.
  const isLegacyExact = match === '' && Number.isFinite(readLimit(query));
  return { resourceVersion: String(number), isExact: match === 'Exact' || isLegacyExact };
}

/** The version that one object must not be older than. Undefined where any will do. Throws a Refusal. */
export function readOldestVersion(query: URLSearchParams): WantedVersion | undefined {
  const number = readVersion(query);
  return number === 0n ? undefined : { resourceVersion: String(number), isExact: false };
}

/** An empty one is none that is asked for, like 0. */
function readVersion(query: URLSearchParams): bigint {
  const text = query.get('resourceVersion') ?? '';
  return isVersion(text) ? BigInt(text) : refuse('ERR_QUERY', { problem: 'resourceVersion is none' });
}

const isVersion = (text: string): boolean => /^\d{0,20}$/.test(text) && BigInt(text) < 2n ** 64n;
