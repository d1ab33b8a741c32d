/** Resources by API group. */
export type ResourceTable = Readonly<Record<string, readonly string[]>>;

/** Tells whether a resource is in the table. A request costs two look-ups. */
export function resourceSet(table: ResourceTable): (apiGroup: string, resource: string) => boolean {
  const sets = new Map(Object.entries(table).map(([group, resources]) => [group, new Set(resources)]));
  return (apiGroup, resource) => sets.get(apiGroup)?.has(resource) === true;
}
