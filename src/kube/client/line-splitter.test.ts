import fc from 'fast-check';
import { expect, it } from 'vitest';
import { LineSplitter, LineTooLong } from './line-splitter.ts';

const split = (chunks: readonly Buffer[], maxBytes = 100) => {
  const lines = new LineSplitter(maxBytes);
  return chunks.flatMap((chunk) => [...lines.push(chunk)]);
};

it('gives each line when it is complete, and none before', () => {
  const lines = new LineSplitter(100);
  expect([...lines.push(Buffer.from('one\ntw'))]).toEqual(['one']);
  expect([...lines.push(Buffer.from('o'))]).toEqual([]);
  expect([...lines.push(Buffer.from('\n\nthree\n'))]).toEqual(['two', 'three']);
});

it('gives the same lines however the bytes are cut', () => {
  const text = 'erste Zeile ä€🔑\nzweite\n\nß\n';
  const bytes = Buffer.from(text);
  const expected = split([bytes]);
  expect(expected).toEqual(['erste Zeile ä€🔑', 'zweite', 'ß']);
  fc.assert(
    fc.property(fc.array(fc.nat(bytes.length)), (cuts) => {
      const places = [0, ...cuts, bytes.length].toSorted((a, b) => a - b);
      const chunks = places.slice(1).map((end, index) => bytes.subarray(places[index], end));
      expect(split(chunks)).toEqual(expected);
    }),
  );
});

it.each([
  ['in one chunk', ['x'.repeat(11)]],
  ['over several chunks', ['x'.repeat(6), 'x'.repeat(5)]],
  ['with its end', [`${'x'.repeat(11)}\n`]],
])('refuses a line that is too long %s', (_how, chunks) => {
  expect(() =>
    split(
      chunks.map((text) => Buffer.from(text)),
      10,
    ),
  ).toThrow(LineTooLong);
});

it('takes any number of lines of the longest size', () => {
  expect(split([Buffer.from(`${'x'.repeat(10)}\n`.repeat(50))], 10).length).toBe(50);
});
