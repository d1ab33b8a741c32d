import { firstValues, readPairs } from '../requests/list-query.ts';
import type { Narrowing } from './narrowing.ts';

/**
 * Adds terms to the selectors of a list. They stand in front: behind a backslash of the client's they would be a part of its last
 * value. What the API server does not read goes no further, since a program behind it could.
 */
export function narrowQuery(forward: string, { fields, labels }: Narrowing): string {
  const mark = forward.indexOf('?');
  const [path, query] = mark === -1 ? [forward, ''] : [forward.slice(0, mark), forward.slice(mark)];
  const pairs = readPairs(query);
  const values = firstValues(pairs);
  const selectors = [
    ...selector('fieldSelector', fields, values.get('fieldSelector')),
    ...selector('labelSelector', labels, values.get('labelSelector')),
  ];
  const replaced = new Set(selectors.map(([name]) => name));
  const kept = pairs.filter(({ key }) => !replaced.has(key)).map(({ text }) => text);
  const added = selectors.map(([name, text]) => `${name}=${encodeURIComponent(text)}`);
  return `${path}?${[...added, ...kept].join('&')}`;
}

function selector(name: string, terms: readonly string[], sent = ''): readonly (readonly [string, string])[] {
  if (terms.length === 0) return [];
  return [[name, [...terms, ...(sent.trim() === '' ? [] : [sent])].join(',')]];
}
