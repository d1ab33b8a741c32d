import { BlockList } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Cidr, contains, isWithin, parseAddress, parseCidr, sourceOf } from './cidr.ts';

const bytes = (text: string): number[] => [...(parseAddress(text) ?? [])];
const cidr = (text: string): Cidr => parseCidr(text)!;

describe('parseAddress', () => {
  it.each([
    ['10.1.2.255', [10, 1, 2, 255]],
    ['::', new Array(16).fill(0)],
    ['::1', [...new Array(15).fill(0), 1]],
    ['fd00:ec2::254', [0xfd, 0, 0x0e, 0xc2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0x54]],
    ['1:2:3:4:5:6:7:8', [0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 8]],
    ['1::', [0, 1, ...new Array(14).fill(0)]],
    ['::ffff:1.2.3.4', [...new Array(10).fill(0), 255, 255, 1, 2, 3, 4]],
    ['fe80::1%eth0', [0xfe, 0x80, ...new Array(13).fill(0), 1]],
  ])('reads %s', (text, expected) => {
    expect(bytes(text)).toEqual(expected);
  });

  it.each([
    '',
    'localhost',
    '1.2.3',
    '1.2.3.4.5',
    '256.0.0.1',
    '01.2.3.4',
    '0x7f.0.0.1',
    '2130706433',
    '1::2::3',
    '[::1]',
    '10.0.0.0/8',
  ])('does not take %j for an address', (text) => {
    expect(parseAddress(text)).toBeUndefined();
  });
});

describe('parseCidr', () => {
  it.each([
    '0.0.0.0/0',
    '10.0.0.0/8',
    '10.1.2.3/32',
    '::/0',
    'fd00::/8',
    '::1/128',
    '172.16.0.0/12',
    '10.0.0.128/25',
  ])('takes %s', (text) => {
    expect(parseCidr(text)).toBeDefined();
  });

  it.each([
    '',
    '10.0.0.0',
    '10.0.0.0/33',
    '10.0.0.1/8',
    '10.0.0.0/08',
    '10.0.0.0/-1',
    '10.0.0.0/8 ',
    ' 10.0.0.0/8',
    '::/129',
    'fe80::1%eth0/128',
    'fd00::1/8',
    'example.com/8',
    '10.0.0.0/8/8',
    '0x0a.0.0.0/8',
  ])('refuses %j', (text) => {
    expect(parseCidr(text)).toBeUndefined();
  });
});

describe('contains', () => {
  const four = fc.ipV4();
  const six = fc.ipV6();

  it('judges as the block list of Node does', () => {
    fc.assert(
      fc.property(four, four, fc.nat(32), (network, address, prefix) => {
        const range = { network: parseAddress(network)!, prefix };
        const list = new BlockList();
        list.addSubnet(network, prefix, 'ipv4');
        const masked = { ...range, network: range.network.map((byte, at) => byte & mask(prefix, at)) };
        expect(contains(masked, parseAddress(address)!)).toBe(list.check(address, 'ipv4'));
      }),
    );
    fc.assert(
      fc.property(six, six, fc.nat(128), (network, address, prefix) => {
        const range = { network: parseAddress(network)!, prefix };
        const list = new BlockList();
        list.addSubnet(network, prefix, 'ipv6');
        const masked = { ...range, network: range.network.map((byte, at) => byte & mask(prefix, at)) };
        expect(contains(masked, parseAddress(address)!)).toBe(list.check(address, 'ipv6'));
      }),
    );
  });

  it('keeps the families apart', () => {
    expect(contains(cidr('0.0.0.0/0'), parseAddress('::1')!)).toBe(false);
    expect(contains(cidr('::/0'), parseAddress('1.2.3.4')!)).toBe(false);
  });
});

describe('isWithin', () => {
  it.each([
    ['127.0.0.0/8', '127.0.0.0/8', true],
    ['127.0.0.1/32', '127.0.0.0/8', true],
    ['0.0.0.0/0', '127.0.0.0/8', false],
    ['128.0.0.0/8', '127.0.0.0/8', false],
    ['::/0', '127.0.0.0/8', false],
  ])('%s within %s is %s', (inner, outer, expected) => {
    expect(isWithin(cidr(inner), cidr(outer))).toBe(expected);
  });
});

const mask = (prefix: number, at: number): number =>
  (0xff00 >> Math.min(8, Math.max(0, prefix - at * 8))) & 0xff;

describe('the source of a connection', () => {
  it.each([
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::', '2001:db8:1:2::/64'],
    ['2001:db8:1:2:ffff::1', '2001:db8:1:2::/64'],
    ['2001:db8:1:3::1', '2001:db8:1:3::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['2001:db8:0:0:1::', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['::', '0:0:0:0::/64'],
    ['1::', '1:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['64:ff9b::1.2.3.4', '64:ff9b:0:0::/64'],
  ])('%s is %s', (address, source) => {
    expect(sourceOf(address)).toBe(source);
  });
});
