import { describe, expect, it } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { StreamedLists } from './streamed-lists.ts';

const minutes = 60_000;

it('a list that did not come as a stream is asked for as pages for ten minutes, then for twice as long each time', () => {
  const clock = new FakeClock();
  const lists = new StreamedLists(clock);
  expect(lists.begin()).toBe(true);
  for (const pause of [10, 20, 40, 80]) {
    lists.failed('refused');
    clock.advance(pause * minutes - 1);
    expect(lists.begin()).toBe(false);
    clock.advance(1);
    expect(lists.begin()).toBe(true);
  }
});

it('pages that fail do not make the pause longer, also where it ends before they do', () => {
  const clock = new FakeClock();
  const lists = new StreamedLists(clock);
  lists.begin();
  lists.failed('refused');
  clock.advance(9 * minutes);
  expect(lists.begin()).toBe(false);
  clock.advance(1 * minutes);
  lists.failed('refused');
  expect(lists.begin()).toBe(true);
});

it('one stream that comes makes the pause short again', () => {
  const clock = new FakeClock();
  const lists = new StreamedLists(clock);
  lists.begin();
  lists.failed('refused');
  clock.advance(10 * minutes);
  lists.begin();
  lists.succeeded();
  lists.failed('refused');
  clock.advance(10 * minutes);
  expect(lists.begin()).toBe(true);
});

describe('a stream that breaks off', () => {
  const clock = new FakeClock();
  const breakOff = (lists: StreamedLists) => {
    expect(lists.begin()).toBe(true);
    lists.opened();
    lists.failed('broken');
  };

  it('once is asked for again, and twice in a row is asked for as pages for ten minutes', () => {
    const lists = new StreamedLists(clock);
    breakOff(lists);
    breakOff(lists);
    expect(lists.begin()).toBe(false);
    clock.advance(10 * minutes);
    breakOff(lists);
    expect(lists.begin()).toBe(true);
  });

  it('is not counted where one has come between', () => {
    const lists = new StreamedLists(clock);
    breakOff(lists);
    lists.begin();
    lists.succeeded();
    breakOff(lists);
    expect(lists.begin()).toBe(true);
  });

  it('is not counted before its answer began: the server is away', () => {
    const lists = new StreamedLists(clock);
    for (let tries = 0; tries < 5; tries++) {
      expect(lists.begin()).toBe(true);
      lists.failed('broken');
    }
  });
});
