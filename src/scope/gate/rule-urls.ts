export type UrlMatcher = (path: string) => boolean;

/** Undefined where no URL is listed. A star stands for the whole rest of a path, behind a slash; in any other place it matches nothing. */
export function readUrls(patterns: ReadonlySet<string> | undefined): UrlMatcher | undefined {
  if (patterns === undefined) return undefined;
  if (patterns.has('*')) return () => true;
  const prefixes = [...patterns]
    .filter((text) => /^\/(?:[^*]*\/)?\*$/.test(text))
    .map((text) => text.slice(0, -1));
  const exact = new Set([...patterns].filter((text) => /^\/[^*]*$/.test(text)));
  return (path) => exact.has(path) || prefixes.some((prefix) => path.startsWith(prefix));
}
