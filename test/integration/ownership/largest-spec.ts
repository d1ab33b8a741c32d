const many = (count: number, prefix: string): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}${index}`);

/** `rules` with as many entries as the schema lets in, of names as short as can be, and as many of them as have room. */
export const largestRules: readonly object[] = Array.from({ length: 3 }, () => ({
  verbs: many(32, 'v'),
  resources: Array.from({ length: 16 }, () => ({
    group: 'g',
    resources: many(32, 'r'),
    resourceNames: many(32, 'n'),
  })),
  resourceNames: many(32, 'n'),
  namespaces: many(32, 'n'),
  nonResourceURLs: many(32, '/u'),
}));
