import { describe, expect, it } from 'vitest';
import { TrustedProxies } from './trusted-proxies.ts';

const proxies = new TrustedProxies(['10.0.0.0/8', 'fd00::/8', '192.0.2.1/32']);

describe('X-Forwarded-For counts from a trusted proxy, and as far as trusted proxies wrote it', () => {
  it.each<[string, string, string | undefined, string]>([
    ['no header', '10.0.0.1', undefined, '10.0.0.1'],
    ['one client', '10.0.0.1', '203.0.113.7', '203.0.113.7'],
    ['a client that invents another one', '10.0.0.1', '198.51.100.1, 203.0.113.7', '203.0.113.7'],
    [
      'a client that invents a trusted proxy',
      '10.0.0.1',
      '198.51.100.1, 10.9.9.9, 203.0.113.7',
      '203.0.113.7',
    ],
    ['two proxies in a row', '10.0.0.1', '203.0.113.7, 192.0.2.1', '203.0.113.7'],
    ['a client on the network of the proxies', '10.0.0.1', '10.0.0.9', '10.0.0.9'],
    ['a peer that is no proxy', '203.0.113.9', '198.51.100.1', '203.0.113.9'],
    ['a peer of IPv4 in IPv6', '::ffff:10.0.0.1', '203.0.113.7', '203.0.113.7'],
    ['a client of IPv4 in IPv6', '10.0.0.1', '::ffff:203.0.113.7', '203.0.113.7'],
    ['a client of IPv6', 'fd00::1', '2001:DB8:0::7', '2001:db8::7'],
    ['a client with its port', '10.0.0.1', '203.0.113.7:51234', '203.0.113.7'],
    ['a client of IPv6 with its port', '10.0.0.1', '[2001:db8::7]:443', '2001:db8::7'],
    ['a client of IPv6 in brackets', '10.0.0.1', '[2001:db8::7]', '2001:db8::7'],
    ['an unknown client', '10.0.0.1', '198.51.100.1, unknown', '10.0.0.1'],
    ['a hidden client behind two proxies', '10.0.0.1', '198.51.100.1, _hidden, 192.0.2.1', '192.0.2.1'],
    ['nothing', '10.0.0.1', '', '10.0.0.1'],
    ['a comma at the end', '10.0.0.1', '203.0.113.7,', '10.0.0.1'],
    ['a name', '10.0.0.1', 'localhost', '10.0.0.1'],
    ['a number', '10.0.0.1', '3405803783', '10.0.0.1'],
    ['an address with a line in it', '10.0.0.1', '203.0.113.7\n', '203.0.113.7'],
    ['ten thousand entries', '10.0.0.1', `198.51.100.1,${'10.0.0.2,'.repeat(10_000)}10.0.0.3`, '10.0.0.2'],
  ])('%s', (_, peer, forwardedFor, client) => {
    expect(proxies.clientBehind(peer, forwardedFor)).toBe(client);
  });

  it('counts from no one where no proxy is trusted', () => {
    expect(new TrustedProxies([]).clientBehind('10.0.0.1', '203.0.113.7')).toBe('10.0.0.1');
  });
});
