import { isNewerVersion } from '../../kube/object.ts';
import { errorAnswer } from '../server/error-answer.ts';
import type { WantedVersion } from './list-options.ts';
import type { OwnRequest } from './own-request.ts';
import { Refusal, refuse } from './refusal.ts';

type Source = Pick<OwnRequest, 'services' | 'kind' | 'response'>;

/** As long as the API server waits. */
const maxWaitMs = 3_000;
/** A bookmark moves the position without a change that could be heard of. */
const pauseMs = 25;

/**
 * Waits until this gateway is as far as the client wants, so that a list at another replica never goes back in time. Throws a Refusal
 * where that takes too long, or the version has passed.
 */
export async function untilVersion(source: Source, wanted: WantedVersion | undefined): Promise<void> {
  if (wanted === undefined) return;
  const { services, kind, response } = source;
  const { resourceVersion, isExact } = wanted;
  const end = services.clock.monotonic() + maxWaitMs;
  while (isNewerVersion(resourceVersion, services.changes.position(kind))) {
    if (response.destroyed || services.clock.monotonic() >= end) throw tooLarge(source, resourceVersion);
    await pause(source);
  }
  if (isExact && services.changes.position(kind) !== resourceVersion) refuse('ERR_VERSION_NOT_KEPT', {});
}

async function pause({ services: { clock } }: Source): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  clock.setTimer(resolve, pauseMs);
  await promise;
}

/** Clients know it by its cause, and list again without a version. */
function tooLarge({ services, kind }: Source, asked: string): Refusal {
  const details = { retryAfterSeconds: 1, causes: [{ reason: 'ResourceVersionTooLarge' }] };
  const values = { asked, present: services.changes.position(kind) };
  return new Refusal(
    errorAnswer('ERR_VERSION_TOO_LARGE', values, { headers: ['retry-after', '1'], details }),
  );
}
