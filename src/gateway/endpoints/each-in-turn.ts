import type { EndpointRequest } from './endpoint.ts';

/** Looked at before others come to their turn. A scope with hundreds of entries takes a tenth of a millisecond for each. */
const atOnce = 50;

/** Does the work for each of many items, a few at a time: there may be thousands, and all users share the main thread. */
export async function eachInTurn<Item>(
  { turn }: Pick<EndpointRequest, 'turn'>,
  items: Iterable<Item>,
  work: (item: Item) => void | Promise<void>,
): Promise<void> {
  let count = 0;
  for (const item of items) {
    if (count % atOnce === 0) await turn();
    count += 1;
    await work(item);
  }
}
