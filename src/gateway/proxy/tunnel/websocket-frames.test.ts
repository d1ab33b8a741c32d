import fc from 'fast-check';
import { expect, it } from 'vitest';
import { closeFrame, WebSocketFrames } from './websocket-frames.ts';

/** A frame as a server sends it. */
function frame(payload: number, opcode = 2): Buffer {
  const head =
    payload < 126
      ? [payload]
      : payload < 65_536
        ? [126, payload >> 8, payload & 0xff]
        : [
            127,
            0,
            0,
            0,
            0,
            (payload >> 24) & 0xff,
            (payload >> 16) & 0xff,
            (payload >> 8) & 0xff,
            payload & 0xff,
          ];
  return Buffer.concat([Buffer.from([0x80 | opcode, ...head]), Buffer.alloc(payload, 0x88)]);
}

it('a frame of ours may stand where one has just ended, and nowhere else, however the bytes arrive', () => {
  const sizes = fc.array(fc.constantFrom(0, 1, 125, 126, 127, 65_535, 65_536, 70_000), { maxLength: 4 });
  fc.assert(
    fc.property(sizes, fc.integer({ min: 1, max: 5_000 }), (payloads, step) => {
      const all = payloads.map((payload) => frame(payload));
      const bytes = Buffer.concat(all);
      const ends = all.map((_, index) => Buffer.concat(all.slice(0, index + 1)).length);
      const frames = new WebSocketFrames();
      const found: number[] = [];
      for (let at = 0; at < bytes.length; at += step) {
        frames.read(bytes.subarray(at, at + step));
        if (frames.mayAdd) found.push(Math.min(at + step, bytes.length));
      }
      expect(found).toEqual(ends.filter((end) => end === bytes.length || end % step === 0));
    }),
  );
});

it.each([
  ['the frame that ends all', frame(2, 8)],
  ['a frame that is masked, which no server may send', Buffer.from([0x82, 0x81, 1, 2, 3, 4, 5])],
])('nothing may stand behind %s', (_, bytes) => {
  const frames = new WebSocketFrames();
  frames.read(bytes);
  frames.read(frame(3));
  expect(frames.mayAdd).toBe(false);
});

it('the last frame holds its reason, as far as it fits and can be printed', () => {
  expect(closeFrame('why')).toEqual(Buffer.from('\x88\x05\x03\xf0why', 'latin1'));
  const long = closeFrame(`\u{1f511}\n${'a'.repeat(500)}`);
  expect([long.length, long[1]]).toEqual([127, 125]);
  expect(long.subarray(4).toString('utf8')).toMatch(/^ +a+$/);
});
