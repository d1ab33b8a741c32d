import { isObject, type JsonObject } from '../../api/json.ts';
import { decisivePolicyFields, policySpecDefaults } from '../../api/policy-spec.ts';

/**
 * The path of the first field in which a spec on the API server is not as shipped, or undefined. Every shipped field has
 * to be there, and none beside them, except for defaults and for fields that this release does not know.
 */
export function specDifference(shipped: unknown, live: unknown, path = 'spec'): string | undefined {
  if (Array.isArray(shipped)) return listDifference(shipped, live, path);
  if (isObject(shipped)) return objectDifference(shipped, live, path);
  return shipped === live ? undefined : path;
}

function listDifference(shipped: readonly unknown[], live: unknown, path: string): string | undefined {
  if (!Array.isArray(live) || live.length !== shipped.length) return path;
  return firstOf(
    shipped.map((value, index) => () => specDifference(value, live[index], `${path}[${index}]`)),
  );
}

function objectDifference(shipped: JsonObject, live: unknown, path: string): string | undefined {
  if (!isObject(live)) return path;
  const added = Object.keys(live).filter(
    (key) => !Object.hasOwn(shipped, key) && counts(key, live[key], path),
  );
  const first = added[0];
  if (first !== undefined) return `${path}.${first}`;
  return firstOf(
    Object.keys(shipped).map((key) => () => specDifference(shipped[key], live[key], `${path}.${key}`)),
  );
}

/** Keys of labels are not fields: each counts. */
function counts(key: string, value: unknown, path: string): boolean {
  if (path.endsWith('.matchLabels')) return true;
  if (!decisivePolicyFields.has(key)) return false;
  return (
    !Object.hasOwn(policySpecDefaults, key) || specDifference(policySpecDefaults[key], value) !== undefined
  );
}

function firstOf(differences: readonly (() => string | undefined)[]): string | undefined {
  for (const difference of differences) {
    const found = difference();
    if (found !== undefined) return found;
  }
  return undefined;
}
