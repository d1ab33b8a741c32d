import { group } from '../../../api/names.ts';
import { readPairs } from '../../../scope/requests/list-query.ts';
import type { ResolvedRequest } from '../../../scope/requests/resolve-request.ts';

/**
 * An unknown field is an error unless the client says otherwise: `scopes` in place of `scope` would make a key that may do everything. The
 * API server only warns by default, and what is no kubectl shows no warning.
 */
export function strictUnlessAsked(query: URLSearchParams): URLSearchParams {
  if (!query.get('fieldValidation')) query.set('fieldValidation', 'Strict');
  return query;
}

const writes: ReadonlySet<string> = new Set(['create', 'update', 'patch']);

/** Tells the path of a request to the platform that goes on as it was sent: a write of one of our kinds is as strict as one that the gateway reads. */
export function strictPath({
  apiGroup,
  verb,
  forward,
}: Pick<ResolvedRequest, 'apiGroup' | 'verb' | 'forward'>): string {
  if (apiGroup !== group || !writes.has(verb)) return forward;
  const mark = forward.indexOf('?');
  const [path, query] = mark === -1 ? [forward, ''] : [forward.slice(0, mark), forward.slice(mark)];
  // The API server takes the first value of a parameter.
  if (readPairs(query).find(({ key }) => key === 'fieldValidation')?.value) return forward;
  return `${path}?fieldValidation=Strict${query === '' ? '' : `&${query.slice(1)}`}`;
}
