import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { expect, it } from 'vitest';
import { FakeClock } from '../../../../test/fakes/fake-clock.ts';
import { openResponse } from '../../../../test/fakes/open-response.ts';
import { untilStill, waitFor } from '../../../../test/fakes/wait-for.ts';
import { LineWriter, maxStallMs } from './line-writer.ts';

/** A stream whose reader has read nothing yet. */
async function open() {
  const { response, reader } = await openResponse();
  const clock = new FakeClock();
  return { response, reader, clock, writer: new LineWriter(response, clock) };
}

const hash = 'a'.repeat(64);

/** Writes until there is no room, and says whether that is so. */
function writeWithoutEnd(writer: LineWriter, response: ServerResponse) {
  const state = { lines: 0, isOver: false };
  const write = async () => {
    while (!response.destroyed) {
      await writer.write('DROP', { hash });
      state.lines += 1;
    }
    state.isOver = true;
  };
  return { state, written: write() };
}

it('numbers the lines one by one, and hands them over in one piece', async () => {
  const { reader, response, writer } = await open();
  await writer.write('DROP', { hash });
  await writer.write('NOSPACE', { project: 'a', name: 'b' });
  await writer.flush();
  response.end();
  const [text] = (await once(reader.setEncoding('utf8'), 'data')) as [string];
  const lines = text.split('\n').slice(0, -1);
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    { type: 'DROP', number: 1, object: { hash } },
    { type: 'NOSPACE', number: 2, object: { project: 'a', name: 'b' } },
  ]);
});

it('keeps little for a reader who takes nothing, and cuts them after ten seconds', async () => {
  const { response, clock, writer } = await open();
  const { state, written } = writeWithoutEnd(writer, response);
  await untilStill('the lines', () => state.lines);
  expect(response.writableLength).toBeLessThan(2 ** 20);
  clock.advance(maxStallMs - 1);
  expect(response.destroyed).toBe(false);
  clock.advance(1);
  expect(response.destroyed).toBe(true);
  await written;
  expect(state.isOver).toBe(true);
});

it('goes on with a reader who takes again in time, and counts the ten seconds anew', async () => {
  const { reader, response, clock, writer } = await open();
  const { state, written } = writeWithoutEnd(writer, response);
  await untilStill('the lines', () => state.lines);
  clock.advance(maxStallMs - 1);
  const { lines } = state;
  reader.resume();
  await waitFor('more lines', () => state.lines > lines + 5_000);
  reader.pause();
  await untilStill('the lines', () => state.lines);
  clock.advance(maxStallMs - 1);
  expect(response.destroyed).toBe(false);
  clock.advance(1);
  await written;
});
