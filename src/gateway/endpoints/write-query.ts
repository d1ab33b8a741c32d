import type { OwnRequest } from './own-request.ts';

const passed: ReadonlySet<string> = new Set(['dryRun', 'fieldManager', 'fieldValidation', 'force']);

/** The parameters of a write that mean something to the API server, with the question mark. */
export function writeQuery({ query }: Pick<OwnRequest, 'query'>): string {
  const parameters = new URLSearchParams([...query].filter(([name]) => passed.has(name)));
  return parameters.size === 0 ? '' : `?${parameters}`;
}

export const isDryRun = ({ query }: Pick<OwnRequest, 'query'>): boolean => query.has('dryRun');
