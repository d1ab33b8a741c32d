import { describe, expect, it } from 'vitest';
import { cidrs, duration, httpsOrigin, httpsURL, integer, listenAddress, seconds, text } from './types.ts';

describe('httpsURL', () => {
  it.each([
    'https://a.example',
    'https://a.example:8443',
    'https://a.example/latchkey',
    'https://[::1]:8443',
  ])('takes %s', (value) => {
    expect(httpsURL.parse(value)).toEqual({ value });
  });

  it.each([
    ['latchkey', 'is no URL: write https://<host>[:<port>][/<path>]'],
    ['http://a.example', 'must begin with https://'],
    ['https://a@a.example', 'must not hold a user name or password: remove them'],
    ['https://a.example/', 'must not end with a slash: remove it'],
    ['https://a.example?', 'must not have a query or fragment: remove it'],
    ['https://a.example?x=1', 'must not have a query or fragment: remove it'],
    ['https://a.example#x', 'must not have a query or fragment: remove it'],
    ['https://A.example', 'is not in its plain form: write https://a.example'],
    ['https://a.example:443', 'is not in its plain form: write https://a.example'],
    ['https://a.example/x/../y', 'is not in its plain form: write https://a.example/y'],
    [' https://a.example', 'is not in its plain form: write https://a.example'],
    [`https://a.example/${'x'.repeat(250)}`, 'must have at most 255 characters'],
  ])('refuses %s', (value, problem) => {
    expect(httpsURL.parse(value)).toEqual({ problem });
  });
});

describe('httpsOrigin', () => {
  it.each(['https://a.example', 'https://10.96.0.77:8445', 'https://[::1]:8445'])('takes %s', (value) => {
    expect(httpsOrigin.parse(value)).toEqual({ value });
  });

  it.each([
    ['https://a.example:8445/x', 'must not have a path: write https://a.example:8445'],
    ['https://a.example/', 'must not end with a slash: remove it'],
    ['none', 'is no URL: write https://<host>[:<port>][/<path>]'],
  ])('refuses %s', (value, problem) => {
    expect(httpsOrigin.parse(value)).toEqual({ problem });
  });
});

describe('listenAddress', () => {
  it.each([
    [':8080', { port: 8080 }],
    ['127.0.0.1:0', { host: '127.0.0.1', port: 0 }],
    ['[::1]:8081', { host: '::1', port: 8081 }],
    ['localhost:65535', { host: 'localhost', port: 65_535 }],
  ])('reads %s', (value, address) => {
    expect(listenAddress.parse(value)).toEqual({ value: address });
  });

  it.each(['8080', ':', ':65536', '::1:8080', 'a b:80', 'http://x:80', ':-1'])('refuses %s', (value) => {
    expect(listenAddress.parse(value)).toEqual({
      problem: 'is no address: write :8080, 127.0.0.1:8080 or [::1]:8080',
    });
  });
});

describe('duration and seconds', () => {
  it('check the range, bounds included', () => {
    const type = duration('1s', '1h');
    expect(type.parse('1s')).toEqual({ value: 1_000 });
    expect(type.parse('60m')).toEqual({ value: 3_600_000 });
    expect(type.parse('999ms')).toEqual({ problem: 'must be a duration from 1s to 1h' });
    expect(type.parse('61m')).toEqual({ problem: 'must be a duration from 1s to 1h' });
  });

  it('give seconds where the API counts in seconds', () => {
    const type = seconds('60s', '90d');
    expect(type.parse('2h')).toEqual({ value: 7_200 });
    expect(type.parse('60.5s')).toEqual({ problem: 'must be whole seconds' });
    expect(type.parse('x')).toHaveProperty('problem');
  });

  it('are a programming error with a bound that is none', () => {
    expect(() => duration('1', '2s')).toThrow(new TypeError('"1" is no duration'));
  });
});

describe('integer and text', () => {
  it.each(['1.5', '-1', '0x10', '1e2', ' 5', '11', ''])('integer refuses "%s"', (value) => {
    expect(integer(0, 10).parse(value)).toEqual({ problem: 'must be a whole number from 0 to 10' });
  });

  it('integer takes its bounds', () => {
    expect(integer(0, 10).parse('10')).toEqual({ value: 10 });
  });

  it('text says its rule', () => {
    expect(text(/^a+$/, 'only a').parse('b')).toEqual({ problem: 'must be only a' });
    expect(text(/^a+$/, 'only a').parse('aa')).toEqual({ value: 'aa' });
  });
});

describe('cidrs', () => {
  it('takes ranges of both families, with space around them', () => {
    expect(cidrs.parse('10.0.0.0/8, 2001:db8::/32')).toEqual({ value: ['10.0.0.0/8', '2001:db8::/32'] });
  });

  it.each([
    ['nothing', '', 1],
    ['an address without a length', '10.0.0.0/8,10.0.0.1', 2],
    ['a length that is too long', '10.0.0.0/33', 1],
    ['an address inside its range', '10.0.0.1/8', 1],
    ['a name', 'localhost/8', 1],
  ])('refuses %s, by its place in the list', (_, text, place) => {
    expect(cidrs.parse(text)).toEqual({ problem: expect.stringContaining(`in entry ${place}:`) });
  });
});
