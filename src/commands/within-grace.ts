import { LatchkeyError } from '../errors.ts';

/** Below the grace period of the Deployment, so that the process tells why it ends before it is killed; milliseconds. */
const graceMs = 20_000;

/** Waits for `work`, but once the signal has aborted not longer than the grace. Throws `ERR_SHUTDOWN_TIMEOUT`. */
export async function withinGrace(
  work: Promise<void>,
  signal: AbortSignal,
  milliseconds = graceMs,
): Promise<void> {
  const late = Promise.withResolvers<never>();
  let timer: NodeJS.Timeout | undefined;
  const onAbort = () => {
    const error = new LatchkeyError('ERR_SHUTDOWN_TIMEOUT', { part: 'the operator', milliseconds });
    timer = setTimeout(() => late.reject(error), milliseconds);
  };
  if (signal.aborted) onAbort();
  else signal.addEventListener('abort', onAbort, { once: true });
  try {
    await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
  }
}
