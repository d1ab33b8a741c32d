/** Works on every item, so many at the same time. Rejects with the first failure; what is not begun by then stays undone. */
export async function forEachConcurrently<T>(
  items: Iterable<T>,
  concurrency: number,
  work: (item: T) => Promise<unknown>,
): Promise<void> {
  const rest = items[Symbol.iterator]();
  let hasFailed = false;
  const worker = async () => {
    try {
      for (let next = rest.next(); !next.done && !hasFailed; next = rest.next()) await work(next.value);
    } catch (error) {
      hasFailed = true;
      throw error;
    }
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
}
