import { EventEmitter } from 'node:events';
import type { Dispatcher } from 'undici';
import { describe, expect, it } from 'vitest';
import { FakeClock } from '../../../../test/fakes/fake-clock.ts';
import { heldBytesLimits } from '../../limits.ts';
import { HeldBytes } from '../shared/held-bytes.ts';
import { Refusal } from '../shared/reply.ts';
import { asksForEveryone, listEveryone } from './list-everyone.ts';
import type { OwnRequest } from './request.ts';

const ask = (verb: string, query: string) => {
  const asked = { verb } as OwnRequest['asked'];
  return asksForEveryone({ asked, query: new URLSearchParams(query) });
};

describe('a request for the credentials of everyone', () => {
  it.each([
    ['list', 'everyone=true&limit=5', true],
    ['list', 'limit=5', false],
    ['deletecollection', 'limit=5', false],
  ])('by %s with %s: %s', (verb, query, expected) => {
    expect(ask(verb, query)).toBe(expected);
  });

  it.each([
    ['', 'everyone=true'],
    ...['get', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection'].map((verb) => [
      verb,
      'everyone=true',
    ]),
    ['list', 'everyone='],
    ['list', 'everyone=false'],
    ['list', 'everyone=true&everyone=true'],
  ])('by %s with %s is refused: it must not be taken for one about one\u2019s own', (verb, query) => {
    expect(() => ask(verb, query)).toThrow('ERR_QUERY');
  });
});

describe('the memory of such a list', () => {
  /** An API server that answers when the test says so. */
  function setUp() {
    const bytes = new HeldBytes(heldBytesLimits);
    const open: { readonly collector: Dispatcher.DispatchHandler }[] = [];
    const controller = { abort: () => {}, pause: () => {}, resume: () => {} } as never;
    const list = () => {
      const held = bytes.hold({ user: 'alice', credential: 'one' });
      const request = {
        ...{ kind: 'OwnedAccessKey', query: new URLSearchParams('everyone=true'), asked: {}, held },
        ...{ sender: { verdict: { gates: [] } }, send: { headers: [], user: 'alice' } },
        ...{ response: Object.assign(new EventEmitter(), { destroyed: false }), clock: new FakeClock() },
        ...{ maxStallMs: 1_000, turn: async () => {}, maySend: () => true },
        upstream: {
          dispatch: (_: unknown, collector: Dispatcher.DispatchHandler) => {
            open.push({ collector });
            collector.onRequestStart?.(controller, {});
            return { abort: () => {} };
          },
        },
      };
      return { held, reply: listEveryone(request as unknown as OwnRequest) };
    };
    const answer = (index: number, text: string) => {
      const { collector } = open[index] ?? {};
      collector?.onResponseStart?.(controller, 200, {}, '');
      collector?.onResponseData?.(controller, Buffer.from(text));
      collector?.onResponseEnd?.(controller, {});
    };
    return { list, answer, open, bytes };
  }

  const refusalOf = async (reply: Promise<unknown>) => {
    const error = await reply.catch((reason: unknown) => reason);
    return error instanceof Refusal ? error.answer : undefined;
  };

  it('is taken before the API server is asked, so many at once are refused and never sent', async () => {
    const { list, open } = setUp();
    const lists = Array.from({ length: 100 }, list);
    expect(open.length).toBeLessThan(5);
    const refused = await Promise.all(lists.slice(open.length).map(({ reply }) => refusalOf(reply)));
    expect(new Set(refused.map((refusal) => refusal?.status))).toEqual(new Set([429]));
  });

  it('has room for all kinds at once, and what an answer does not need is given back', async () => {
    const { list, answer } = setUp();
    const lists = [list(), list(), list()];
    const text = '{"items":[]}';
    lists.forEach((_, index) => {
      answer(index, text);
    });
    for (const { reply, held } of lists) {
      expect((await reply).status).toBe(200);
      expect(held.size).toBe(text.length);
    }
  });

  it('bounds an answer while it is read, and says what helps', async () => {
    const { list, answer } = setUp();
    const { reply } = list();
    answer(0, ' '.repeat(2 ** 23));
    const refusal = await refusalOf(reply);
    expect(refusal).toMatchObject({ status: 400, code: 'ERR_QUERY' });
    expect(refusal?.body).toContain('the list is too large for one answer, so set a smaller limit');
  });
});
