import type { LiveRecord } from '../../credentials/record.ts';
import type { OwnRequest } from './own-request.ts';

/** A watch brings a deletion in milliseconds. */
const maxWaitMs = 1_000;

/** Waits until this gateway knows that these were deleted, so that none of them opens anything when the answer comes. */
export async function untilEnded(
  { services, kind, response }: Pick<OwnRequest, 'services' | 'kind' | 'response'>,
  records: readonly LiveRecord[],
): Promise<void> {
  const store = services.index.records.ofKind[kind];
  const isThere = ({ key, uid }: LiveRecord): boolean => {
    const present = store.get(key);
    return present?.uid === uid && present.deleted === undefined;
  };
  const { promise, resolve } = Promise.withResolvers<void>();
  const check = () => {
    if (!records.some(isThere)) resolve();
  };
  const unsubscribe = store.subscribe(check);
  const timer = services.clock.setTimer(resolve, maxWaitMs);
  response.once('close', resolve);
  check();
  await promise;
  unsubscribe();
  timer.cancel();
  response.off('close', resolve);
}
