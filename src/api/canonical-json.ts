/** Deeper than any schema of ours; bounds the recursion, because a document of 10,000 brackets would end the process. */
const maxDepth = 64;

/**
 * JSON with sorted keys (by UTF-16 code unit) and without spaces: equal values give equal text, different values different text.
 * Members that are `undefined` are left out; `null` is kept. Throws `RangeError` beyond 64 levels.
 */
export function canonicalJson(value: unknown): string {
  return write(value, 0);
}

function write(value: unknown, depth: number): string {
  if (depth > maxDepth) throw new RangeError(`more than ${maxDepth} levels`);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  if (Array.isArray(value)) return `[${value.map((item) => write(item, depth + 1)).join(',')}]`;
  return `{${members(value as Record<string, unknown>, depth).join(',')}}`;
}

function members(value: Record<string, unknown>, depth: number): string[] {
  return Object.keys(value)
    .filter((name) => value[name] !== undefined)
    .sort()
    .map((name) => `${JSON.stringify(name)}:${write(value[name], depth + 1)}`);
}
