import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Dispatcher } from 'undici';
import { describe, expect, it } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { ByteBudget, type ByteLane } from './byte-budget.ts';
import { type RawResponse, ResponseCollector } from './response-collector.ts';

const controller = {} as Dispatcher.DispatchController;

function collect(chunks: Iterable<Buffer>) {
  let response: RawResponse | undefined;
  const collector = new ResponseCollector({
    action: { verb: 'GET', path: '/' },
    maxBytes: 2 ** 24,
    resolve: (found) => {
      response = found;
    },
    reject: () => undefined,
  });
  collector.onResponseStart(controller, 200, {});
  for (const chunk of chunks) collector.onResponseData(controller, chunk);
  return {
    end: () => {
      collector.onResponseEnd();
      return response?.body;
    },
  };
}

it.each([0, 1, 2, 1_023, 1_024, 1_025, 5_000])(
  'puts %i chunks together, characters that are torn apart too',
  (count) => {
    const text = Buffer.from('ä€😀'.repeat(1_000)).subarray(0, 9 * Math.floor(count / 9));
    const chunks = Array.from(text, (byte) => Buffer.from([byte]));
    expect(collect(chunks).end()).toBe(text.toString());
  },
);

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

/** Without what is garbage: how much of that lies about depends on what else the machine does. */
function usedBytes(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

it('takes not much more memory for an answer in single bytes than for one in large pieces', () => {
  const bytes = Buffer.alloc(65_536, 'a');
  function* single() {
    for (let index = 0; index < 2_000_000; index++)
      yield bytes.subarray(index % 65_536, (index % 65_536) + 1);
  }
  const before = usedBytes();
  const { end } = collect(single());
  expect((usedBytes() - before) / 2 ** 20).toBeLessThan(10);
  expect(end()).toHaveLength(2_000_000);
});

const kibibyte = 2 ** 10;
const piece = Buffer.alloc(64 * kibibyte, 'a');

/** An answer that comes in over a connection of its own. */
function answerOf(budget: ByteLane) {
  const calls: string[] = [];
  const controller = {
    pause: () => void calls.push('pause'),
    resume: () => void calls.push('resume'),
    abort: () => void calls.push('abort'),
  } as unknown as Dispatcher.DispatchController;
  const { promise, resolve, reject } = Promise.withResolvers<RawResponse>();
  const action = { verb: 'GET', path: '/' };
  const collector = new ResponseCollector({ action, maxBytes: 512 * kibibyte, budget, resolve, reject });
  collector.onRequestStart(controller);
  collector.onResponseStart(controller, 200, {});
  const receive = (pieces: number) => {
    for (let count = 0; count < pieces; count++) collector.onResponseData(controller, piece);
  };
  return { calls, collector, receive, promise };
}

/** A second brings as much as one piece, and two may come at once. */
function budgetOf() {
  const clock = new FakeClock();
  const budget = new ByteBudget({ clock, bytesPerSecond: piece.length, maxBurst: 2 * piece.length });
  return { clock, budget };
}

describe('a large answer under a budget', () => {
  it('waits on the wire while there is none left, and goes on when all that came is paid', async () => {
    const { clock, budget } = budgetOf();
    const answer = answerOf(budget.lane());
    answer.receive(3);
    expect(answer.calls).toEqual([]);
    answer.receive(2);
    expect(answer.calls).toEqual(['pause']);
    clock.advance(1_000);
    expect(answer.calls).toEqual(['pause']);
    clock.advance(1_000);
    expect(answer.calls).toEqual(['pause', 'resume']);
    answer.collector.onResponseEnd();
    expect((await answer.promise).body).toHaveLength(5 * piece.length);
  });

  it.each<[string, (answer: ReturnType<typeof answerOf>) => void]>([
    ['fails', ({ collector }) => collector.onResponseError(null, new Error('reset'))],
    ['is given up', ({ collector }) => collector.abort(new Error('too late'))],
    ['is too large', ({ receive }) => receive(7)],
  ])('takes nothing from others any more when it %s', async (_, end) => {
    const { clock, budget } = budgetOf();
    const [first, second] = [answerOf(budget.lane()), answerOf(budget.lane())];
    first.receive(8);
    second.receive(2);
    expect(second.calls).toEqual(['pause']);
    end(first);
    await expect(first.promise).rejects.toThrow();
    clock.advance(1_000);
    expect(first.calls).not.toContain('resume');
    expect(second.calls).toEqual(['pause', 'resume']);
  });

  it('is the only one that asks for it', async () => {
    const { budget } = budgetOf();
    const answers = Array.from({ length: 20 }, () => answerOf(budget.lane()));
    for (const { receive } of answers) receive(1);
    expect(answers.flatMap(({ calls }) => calls)).toEqual([]);
  });
});
