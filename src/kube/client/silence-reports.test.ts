import { beforeEach, expect, it } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { SilenceReports } from './silence-reports.ts';

let clock: FakeClock;
let reports: SilenceReports;
let heard: string[];

beforeEach(() => {
  clock = new FakeClock();
  reports = new SilenceReports(clock);
  heard = [];
  reports.subscribe(({ waitedMs, isNew }) => void heard.push(`a ${waitedMs} ${isNew ? 'new' : 'known'}`));
});

it('reports of silence reach all who listen, and those of later requests only after half a minute', () => {
  const end = reports.subscribe(({ waitedMs }) => void heard.push(`b ${waitedMs}`));
  clock.advance(5_000);
  reports.report(0);
  expect(heard.splice(0)).toEqual(['a 5000 new', 'b 5000']);
  end();
  clock.advance(29_999);
  reports.report(5_000);
  expect(heard).toEqual([]);
  clock.advance(1);
  reports.report(30_000);
  expect(heard).toEqual(['a 5000 new']);
});

it('a request that began before the last report is heard of during the pause', () => {
  clock.advance(5_000);
  reports.report(2_000);
  clock.advance(3_000);
  reports.report(1_000);
  expect(heard).toEqual(['a 3000 new', 'a 7000 known']);
  clock.advance(26_999);
  reports.report(6_000);
  expect(heard).toHaveLength(2);
});
