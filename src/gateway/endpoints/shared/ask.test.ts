import { EventEmitter } from 'node:events';
import type { Dispatcher } from 'undici';
import { expect, it } from 'vitest';
import { FakeClock } from '../../../../test/fakes/fake-clock.ts';
import { Stalled } from '../../proxy/forward.ts';
import { ask } from './ask.ts';

const maxStallMs = 30_000;

/** A question under way, and the handler that takes its answer. */
function start() {
  const clock = new FakeClock();
  const { promise: dispatched, resolve } = Promise.withResolvers<Required<Dispatcher.DispatchHandler>>();
  const upstream = {
    dispatch: (_request: unknown, handler: Required<Dispatcher.DispatchHandler>) => {
      resolve(handler);
      return { abort: () => undefined };
    },
  };
  const response = Object.assign(new EventEmitter(), { destroyed: false });
  const turn = async () => undefined;
  const asking = {
    clock,
    maxStallMs,
    response,
    upstream,
    send: { user: 'alice' },
    turn,
    maySend: () => true,
  };
  const answer = ask(asking as never, { method: 'GET', path: '/openapi/v3', headers: [] });
  answer.catch(() => undefined);
  return { clock, answer, dispatched };
}

const controller = { pause: () => undefined, resume: () => undefined, abort: () => undefined } as never;

it('an answer that keeps coming may take longer than one may stand still', async () => {
  const { clock, answer, dispatched } = start();
  const handler = await dispatched;
  handler.onRequestStart(controller, undefined);
  clock.advance(maxStallMs - 1);
  handler.onResponseStart(controller, 200, {}, 'OK');
  for (const piece of ['one, ', 'two, ', 'three']) {
    clock.advance(maxStallMs - 1);
    handler.onResponseData(controller, Buffer.from(piece));
  }
  handler.onResponseEnd(controller, {});
  expect(await answer).toMatchObject({ status: 200, body: 'one, two, three' });
});

it('an answer that stands still in the middle ends the question', async () => {
  const { clock, answer, dispatched } = start();
  const handler = await dispatched;
  handler.onResponseStart(controller, 200, {}, 'OK');
  clock.advance(maxStallMs - 1);
  handler.onResponseData(controller, Buffer.from('one'));
  clock.advance(maxStallMs);
  await expect(answer).rejects.toThrow(Stalled);
});
