import fc from 'fast-check';
import { expect, it } from 'vitest';
import { startOf } from './delete-by-place.ts';

/** Bytes as they come: whole characters, halves of them, and the character that stands for what is none. */
const someBytes = fc
  .array(
    fc.constantFrom(
      ...['a', 'b', 'ä', '\ufffd', '😀', '\u0001', '.'].map((text) => Buffer.from(text)),
      ...[0xc2, 0xc3, 0xa4, 0xed, 0xef, 0xf0, 0xff].map((byte) => Buffer.of(byte)),
    ),
    { minLength: 1, maxLength: 5 },
  )
  .map((parts) => Buffer.concat(parts));

it('is a text between two neighbours in the order of their bytes, whatever is shown of these', () => {
  let told = 0;
  fc.assert(
    fc.property(someBytes, someBytes, (one, other) => {
      const order = Buffer.compare(one, other);
      if (order === 0) return;
      const [before, name] = order < 0 ? [one, other] : [other, one];
      const start = startOf(name.toString(), before.toString());
      if (start === undefined) return;
      told += 1;
      const bytes = Buffer.from(start);
      expect(Buffer.compare(before, bytes)).toBeLessThan(0);
      expect(Buffer.compare(bytes, name)).toBeLessThanOrEqual(0);
    }),
    { numRuns: 5_000 },
  );
  expect(told).toBeGreaterThan(1_000);
});

it.each<[string, string | undefined, string | undefined]>([
  ['b\ufffd', 'a', 'b'],
  ['a\ufffd', 'a', 'a\0'],
  ['\ufffd', 'zz', 'zz\0'],
  ['...\ufffd', '-', '...'],
  ['.\ufffd', '-', '-\0'],
  ['ab\ufffd', 'a\ufffd', 'ab'],
  ['a\ufffdb', 'a\ufffd', undefined],
  ['anything', undefined, ''],
])('of %j after %j is %j', (name, before, start) => {
  expect(startOf(name, before)).toBe(start);
});
