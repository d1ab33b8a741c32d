import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Gatherer } from './gatherer.ts';

/** Pieces of these sizes; after those that are marked everything is handed over. */
type Pieces = readonly (readonly [number, boolean])[];

function gather(pieces: Pieces) {
  const blocks: Buffer[] = [];
  const gatherer = new Gatherer((block) => void blocks.push(block));
  const sent: Buffer[] = [];
  for (const [index, [size, isLast]] of pieces.entries()) {
    const piece = Buffer.alloc(size, index);
    sent.push(Buffer.from(piece));
    gatherer.add(piece, 0, size);
    // The one who hands over a piece uses its memory again.
    piece.fill(0xff);
    if (isLast) gatherer.flush();
  }
  gatherer.flush();
  return { blocks, sent };
}

const memoryOf = (blocks: readonly Buffer[]): number =>
  blocks.reduce((sum, { buffer }) => sum + buffer.byteLength, 0);

it('hands over what it was given, in order, in memory of twice its size at most', () => {
  const piece = fc.tuple(fc.oneof(fc.nat(100), fc.nat(16_384)), fc.boolean());
  fc.assert(
    fc.property(fc.array(piece), (pieces) => {
      const { blocks, sent } = gather(pieces);
      expect(Buffer.concat(blocks).equals(Buffer.concat(sent))).toBe(true);
      expect(memoryOf(blocks)).toBeLessThanOrEqual(2 * Buffer.concat(sent).length);
    }),
  );
});

it('keeps no large block, and no memory of others, for a few bytes', () => {
  const { blocks } = gather(Array.from({ length: 2_000 }, (_, index) => [1, index % 2 === 1] as const));
  expect(memoryOf(blocks)).toBe(2_000);
});
