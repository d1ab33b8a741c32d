import type { RawResponse } from '../../../kube/client/response-collector.ts';
import { KubeError } from '../../../kube/kube-error.ts';
import { type Asking, ask, type Question } from './ask.ts';
import type { Holding } from './held-bytes.ts';

/**
 * Asks in place of the client for an answer that counts as memory of its user from before it comes. Undefined for one that is larger than
 * `maxBytes`, of which no more is read. Throws a Refusal.
 */
export async function askWithin(
  asking: Asking,
  question: Question & { readonly maxBytes: number },
  held: Holding,
): Promise<RawResponse | undefined> {
  const { maxBytes } = question;
  // First: many such answers at once would fill the memory before each of them is counted.
  held.takeOrThrow(maxBytes);
  try {
    const answer = await ask(asking, question);
    held.giveBack(maxBytes - answer.body.length);
    return answer;
  } catch (error) {
    held.giveBack(maxBytes);
    return ignoreTooLarge(error);
  }
}

/** For `ask`, when its answer is too large: the one thing that is wrong with one while it is read. Throws every other error. */
export function ignoreTooLarge(error: unknown): undefined {
  if (!(error instanceof KubeError) || error.code !== 'ERR_KUBE_RESPONSE') throw error;
}
