import { expect, it } from 'vitest';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import { silentLogger } from '../logger.ts';
import { limitedLog } from './limited-log.ts';

it('a flood of lines is cut to twenty a second, and the next line says how many are missing', () => {
  const clock = new FakeClock();
  const lines: object[] = [];
  const log = limitedLog({ ...silentLogger, warn: (keys) => void lines.push(keys) }, clock);
  for (let count = 0; count < 10_000; count++) log.warn({ count }, 'a request got no answer');
  expect(lines).toHaveLength(200);
  expect(lines[0]).toEqual({ count: 0 });
  clock.advance(1_000);
  for (let count = 0; count < 10_000; count++) log.warn({ count }, 'a request got no answer');
  expect(lines).toHaveLength(220);
  expect(lines[200]).toEqual({ count: 0, leftOut: 9_800 });
  expect(lines[201]).toEqual({ count: 1 });
});
