import { describe, expect, it } from 'vitest';
import { HeldStreams } from './held-streams.ts';

/** An HTTP/2 frame of this stream. */
function frame(stream: number, text: string): Buffer {
  const header = Buffer.alloc(9);
  header.writeUIntBE(text.length, 0, 3);
  header.writeUInt32BE(stream, 5);
  return Buffer.concat([header, Buffer.from(text)]);
}

describe('HeldStreams', () => {
  const [connection, watch, request] = [frame(0, 'settings'), frame(1, 'event'), frame(3, 'answer')];

  it('passes everything on as it is, however it is cut', () => {
    const streams = new HeldStreams();
    const sent = Buffer.concat([connection, watch, request]);
    const passed = [...sent].map((byte) => streams.push(Buffer.from([byte])));
    expect(Buffer.concat(passed)).toEqual(sent);
  });

  it('holds the streams back that were open, and no others, until it releases them', () => {
    const streams = new HeldStreams();
    expect(streams.push(watch)).toEqual(watch);
    streams.hold();
    expect(streams.push(Buffer.concat([watch, request, connection]))).toEqual(
      Buffer.concat([request, connection]),
    );
    expect(streams.release()).toEqual(watch);
    expect(streams.push(watch)).toEqual(watch);
  });
});
