/** Does the work for every item, for a few of them at a time. Resolves with the results in the order of the items. */
export async function concurrently<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
  concurrency = 8,
): Promise<Result[]> {
  const results: Result[] = [];
  const waiting = items.entries();
  const worker = async (): Promise<void> => {
    for (const [index, item] of waiting) results[index] = await work(item);
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  return results;
}
