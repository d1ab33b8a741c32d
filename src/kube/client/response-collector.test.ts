import type { Dispatcher } from 'undici';
import { expect, it } from 'vitest';
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

it('takes not much more memory for an answer in single bytes than for one in large pieces', () => {
  const bytes = Buffer.alloc(65_536, 'a');
  function* single() {
    for (let index = 0; index < 2_000_000; index++)
      yield bytes.subarray(index % 65_536, (index % 65_536) + 1);
  }
  const before = process.memoryUsage().heapUsed;
  const { end } = collect(single());
  expect((process.memoryUsage().heapUsed - before) / 2 ** 20).toBeLessThan(80);
  expect(end()).toHaveLength(2_000_000);
});
