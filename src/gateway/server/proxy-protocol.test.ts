import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readProxyHeader } from './proxy-protocol.ts';

const signature = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1');

/** Version 2: a command, a family, and all that follows the length. */
const binary = (command: number, family: number, more: Buffer, length = more.length): Buffer => {
  const head = Buffer.alloc(4);
  head.writeUInt8(command, 0);
  head.writeUInt8(family, 1);
  head.writeUInt16BE(length, 2);
  return Buffer.concat([signature, head, more]);
};

const ipv4 = Buffer.from([203, 0, 113, 7, 10, 0, 0, 1, 0x30, 0x39, 0x01, 0xbb]);
const ipv6 = Buffer.from(`20010db8000000000000000000000007${'00'.repeat(15)}01${'303901bb'}`, 'hex');
const mapped = Buffer.from(`${'00'.repeat(10)}ffffcb007107${'00'.repeat(15)}01${'303901bb'}`, 'hex');

describe('a header of the PROXY protocol names the client', () => {
  it.each<[string, Buffer | string, string | undefined]>([
    ['version 1 over IPv4', 'PROXY TCP4 203.0.113.7 10.0.0.1 12345 443\r\n', '203.0.113.7'],
    ['version 1 over IPv6', 'PROXY TCP6 2001:DB8::7 ::1 12345 443\r\n', '2001:db8::7'],
    ['version 1, unknown', 'PROXY UNKNOWN\r\n', undefined],
    ['version 1, unknown with words', 'PROXY UNKNOWN ffff::1 ffff::2 1 2\r\n', undefined],
    ['version 2 over IPv4', binary(0x21, 0x11, ipv4), '203.0.113.7'],
    ['version 2 over IPv6', binary(0x21, 0x21, ipv6), '2001:db8::7'],
    ['version 2 with IPv4 in IPv6', binary(0x21, 0x21, mapped), '203.0.113.7'],
    [
      'version 2 with more behind',
      binary(0x21, 0x11, Buffer.concat([ipv4, Buffer.alloc(300)])),
      '203.0.113.7',
    ],
    ['version 2, the proxy itself', binary(0x20, 0x00, Buffer.alloc(0)), undefined],
    ['version 2, the proxy itself with addresses', binary(0x20, 0x11, ipv4), undefined],
    ['version 2, no family', binary(0x21, 0x00, Buffer.alloc(0)), undefined],
  ])('%s', (_, header, address) => {
    const bytes = Buffer.from(header);
    const behind = Buffer.concat([bytes, Buffer.from('PROXY TCP4 9.9.9.9 9.9.9.9 1 1\r\n')]);
    for (const given of [bytes, behind])
      expect(readProxyHeader(given)).toEqual({ state: 'whole', length: bytes.length, address });
    for (let end = 0; end < bytes.length; end += 1)
      expect(readProxyHeader(bytes.subarray(0, end))).toEqual({ state: 'incomplete' });
  });

  it.each<[string, Buffer | string]>([
    ['TLS', Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01])],
    ['HTTP', 'GET / HTTP/1.1\r\n\r\n'],
    ['small letters', 'proxy TCP4 203.0.113.7 10.0.0.1 1 2\r\n'],
    ['another family', 'PROXY UDP4 203.0.113.7 10.0.0.1 1 2\r\n'],
    ['an address of the other family', 'PROXY TCP4 ::1 ::1 1 2\r\n'],
    ['IPv4 as IPv6', 'PROXY TCP6 203.0.113.7 10.0.0.1 1 2\r\n'],
    ['a name', 'PROXY TCP4 localhost 10.0.0.1 1 2\r\n'],
    ['two spaces', 'PROXY TCP4  203.0.113.7 10.0.0.1 1 2\r\n'],
    ['a port too many', 'PROXY TCP4 203.0.113.7 10.0.0.1 1 2 3\r\n'],
    ['a port too few', 'PROXY TCP4 203.0.113.7 10.0.0.1 1\r\n'],
    ['a port beyond the last', 'PROXY TCP4 203.0.113.7 10.0.0.1 1 65536\r\n'],
    ['a port with a zero in front', 'PROXY TCP4 203.0.113.7 10.0.0.1 01 2\r\n'],
    ['only a line feed', `PROXY TCP4 203.0.113.7 10.0.0.1 1 2\n${' '.repeat(100)}`],
    ['a line without an end', `PROXY UNKNOWN ${'a'.repeat(107)}`],
    ['a line that ends too late', `PROXY UNKNOWN ${'a'.repeat(92)}\r\n`],
    ['version 1 in version 2', binary(0x11, 0x11, ipv4)],
    ['an unknown command', binary(0x22, 0x11, ipv4)],
    ['UDP', binary(0x21, 0x12, ipv4)],
    ['a socket of one machine', binary(0x21, 0x31, Buffer.alloc(216))],
    ['addresses that are cut off', binary(0x21, 0x11, ipv4.subarray(0, 11))],
    ['IPv6 with a length of IPv4', binary(0x21, 0x21, ipv4)],
    ['more than anyone says', binary(0x21, 0x11, ipv4, 65_535)],
  ])('takes %s for none', (_, header) => {
    expect(readProxyHeader(Buffer.from(header))).toEqual({ state: 'wrong' });
  });

  it('reads no byte behind the header, whatever comes', () => {
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 64 }).map((more) => Buffer.concat([signature, more])),
      fc.string({ maxLength: 120 }).map((more) => Buffer.from(`PROXY ${more}`)),
    );
    fc.assert(
      fc.property(bytes, fc.uint8Array({ maxLength: 8 }), (header, behind) => {
        const reading = readProxyHeader(header);
        if (reading.state !== 'whole') return;
        expect(reading.length).toBeLessThanOrEqual(header.length);
        expect(readProxyHeader(Buffer.concat([header, behind]))).toEqual(reading);
      }),
      { numRuns: 2_000 },
    );
  });
});
