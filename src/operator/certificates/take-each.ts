import { forEachConcurrently } from '../../kube/for-each-concurrently.ts';
import { TargetFailure } from '../targets/target-failure.ts';
import { isAnswer, targetConcurrency } from './stray-bindings.ts';

export interface Taken<T> {
  /** The target has taken every request for them, in any order. */
  readonly taken: readonly T[];
  /** There was no time left when their turn came. */
  readonly untried: readonly T[];
}

/** A refused item is in neither list. What does not arrive at all ends the rest. */
export async function takeEach<T>(
  items: readonly T[],
  assertTime: () => void,
  work: (item: T) => Promise<unknown>,
): Promise<Taken<T>> {
  const taken: T[] = [];
  const untried: T[] = [];
  await forEachConcurrently(items, targetConcurrency, async (item) => {
    if (!isInTime(assertTime)) return void untried.push(item);
    try {
      await work(item);
      taken.push(item);
    } catch (error) {
      if (!isAnswer(error) && !(error instanceof TargetFailure)) throw error;
    }
  });
  return { taken, untried };
}

function isInTime(assertTime: () => void): boolean {
  try {
    assertTime();
    return true;
  } catch {
    return false;
  }
}
