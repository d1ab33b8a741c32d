import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Dispatcher } from 'undici';
import { describe, expect, it } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { forward } from './forward.ts';
import type { Upstream } from './upstream.ts';

const controller = { rawHeaders: [], pause: () => undefined, abort: () => undefined } as never;

/** Answers at once, with a body of two bytes. */
const upstream: Upstream = {
  dispatch: (_request, handler: Dispatcher.DispatchHandler) => {
    handler.onRequestStart?.(controller, undefined);
    handler.onResponseStart?.(controller, 200, {});
    handler.onResponseData?.(controller, Buffer.from('ok'));
    handler.onResponseEnd?.(controller, {});
    return { identity: undefined, abort: () => undefined };
  },
  refreshed: async () => false,
};

/** A request whose client takes nothing: without a socket Node keeps all of the answer. */
function forwardToNoOne() {
  const clock = new FakeClock();
  const request = new IncomingMessage(new Socket());
  const response = new ServerResponse(request);
  const send = { method: 'GET', path: '/', headers: [], isLong: false, user: 'alice' };
  const failures: Error[] = [];
  const onFailure = (error: Error) => void failures.push(error);
  const turns = {
    turn: async () => undefined,
    enterLargeBody: async () => () => undefined,
    charge: () => undefined,
    maySend: () => true,
  };
  forward({
    ...turns,
    request,
    response,
    upstream,
    send,
    publicPath: '',
    clock,
    maxStallMs: 1_000,
    onFailure,
  });
  return { clock, response, failures };
}

describe('the end of an answer', () => {
  it('that the client does not take is cut when it has stood still for too long', async () => {
    const { clock, response, failures } = forwardToNoOne();
    expect(response.writableEnded).toBe(true);
    await clock.advanceAsync(999);
    expect(response.destroyed).toBe(false);
    await clock.advanceAsync(1);
    expect([response.destroyed, failures]).toEqual([true, []]);
  });

  it('that the client has taken ends the watch over it', async () => {
    const { clock, response } = forwardToNoOne();
    response.emit('close');
    await clock.advanceAsync(5_000);
    expect(response.destroyed).toBe(false);
  });
});
