/** Rules of as many resources of as many names as the schema takes, and as many of them as have room; the last name ends as it is told. */
export function largestScope(end = ''): object {
  const names = (count: number, prefix: string): string[] =>
    Array.from({ length: count }, (_, index) => `${prefix}${index}`);
  const resources = names(16, 'g').map((group) => ({
    group,
    resources: names(32, 'r'),
    resourceNames: names(31, 'n').concat(`last${end}`),
  }));
  return { rules: names(4, 'v').map((verb) => ({ verbs: [verb], resources, namespaces: names(32, 'p') })) };
}
