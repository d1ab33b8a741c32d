import { expect, it } from 'vitest';
import { FakeClock } from '../fake-clock.ts';
import { StreamedLists } from './streamed-lists.ts';

const minutes = 60_000;

it('a list that did not come as a stream is asked for as pages for ten minutes, then for twice as long each time', () => {
  const clock = new FakeClock();
  const lists = new StreamedLists(clock);
  expect(lists.begin()).toBe(true);
  for (const pause of [10, 20, 40, 80]) {
    lists.failed();
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
  lists.failed();
  clock.advance(9 * minutes);
  expect(lists.begin()).toBe(false);
  clock.advance(1 * minutes);
  lists.failed();
  expect(lists.begin()).toBe(true);
});

it('one stream that comes makes the pause short again', () => {
  const clock = new FakeClock();
  const lists = new StreamedLists(clock);
  lists.begin();
  lists.failed();
  clock.advance(10 * minutes);
  lists.begin();
  lists.succeeded();
  lists.failed();
  clock.advance(10 * minutes);
  expect(lists.begin()).toBe(true);
});
