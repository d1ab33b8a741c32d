/** Works on every item, so many at the same time. Rejects with the first failure; what is not begun by then stays undone. */
export async function forEachInLanes<T>(
  items: Iterable<T>,
  lanes: number,
  work: (item: T) => Promise<unknown>,
): Promise<void> {
  const rest = items[Symbol.iterator]();
  let hasFailed = false;
  const lane = async () => {
    try {
      for (let next = rest.next(); !next.done && !hasFailed; next = rest.next()) await work(next.value);
    } catch (error) {
      hasFailed = true;
      throw error;
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}
