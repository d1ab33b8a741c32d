import type { ServerResponse } from 'node:http';
import { StallGuard } from '../../turns/stall-guard.ts';
import type { EndpointRequest } from './endpoint.ts';

export type PacedResponse = Pick<EndpointRequest, 'response' | 'clock' | 'maxStallMs'>;

/** Bytes. A client that takes so many within the time does not stand still. */
const pieceBytes = 2 ** 16;

/**
 * Writes a text at the pace of the client. Resolves when the system has all of it, or the client is gone: one that takes nothing for too
 * long is cut off, because others need the memory.
 */
export async function writeAtPace(
  { response, clock, maxStallMs }: PacedResponse,
  text: string,
): Promise<void> {
  const bytes = Buffer.from(text);
  const guard = new StallGuard(clock, maxStallMs, () => response.destroy());
  for (let start = 0; start < bytes.length && !response.destroyed; start += pieceBytes) {
    await write(response, bytes.subarray(start, start + pieceBytes));
    guard.progress();
  }
  guard.stop();
}

async function write(response: ServerResponse, piece: Buffer): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const onOver = () => resolve();
  response.once('close', onOver).write(piece, onOver);
  await promise;
  response.off('close', onOver);
}
