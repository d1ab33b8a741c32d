import { answerTo } from '../proxy/forward.ts';
import { sendError } from '../server/error-answer.ts';
import type { EndpointRequest } from './endpoint.ts';

/** Answers a request that a target could not be asked for, or did not answer. */
export function answerFailure({ response, onFailure }: EndpointRequest, error: Error): void {
  if (response.destroyed) return;
  const failure = causeOf(error);
  const refusal = answerTo(failure);
  onFailure(failure, refusal);
  sendError(response, refusal);
}

/** What a pool reports comes as the cause of an error of ours. */
const causeOf = (error: Error): Error => (error.cause instanceof Error ? error.cause : error);
