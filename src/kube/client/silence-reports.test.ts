import { expect, it } from 'vitest';
import { FakeClock } from '../fake-clock.ts';
import { SilenceReports } from './silence-reports.ts';

it('reports of silence reach all who listen, and again only after half a minute', () => {
  const clock = new FakeClock();
  const reports = new SilenceReports(clock);
  const heard: string[] = [];
  reports.subscribe((since) => void heard.push(`a ${since}`));
  const end = reports.subscribe((since) => void heard.push(`b ${since}`));
  clock.advance(5_000);
  reports.report(0);
  reports.report(1_000);
  expect(heard).toEqual(['a 0', 'b 0']);
  end();
  clock.advance(29_999);
  reports.report(2_000);
  clock.advance(1);
  reports.report(30_000);
  expect(heard).toEqual(['a 0', 'b 0', 'a 30000']);
});
