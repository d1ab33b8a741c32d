import { describe, expect, it } from 'vitest';
import { generateAccessKey } from '../../credentials/keys/access-key.ts';
import { readBearer } from './bearer.ts';

const key = generateAccessKey(new Uint8Array(32).fill(7));
const read = (...rawHeaders: string[]) => readBearer(rawHeaders, { maxBytes: 8_192, isWebSocket: false });

describe('readBearer', () => {
  it.each([
    ['Authorization', `Bearer ${key}`],
    ['AUTHORIZATION', `bearer ${key}`],
    ['authorization', `BEARER ${key}`],
  ])('finds the key in %s: %s', (name, value) => {
    expect(read('Host', 'a', name, value)).toEqual({ bearer: key, isAccessKey: true });
  });

  it('takes what is no key of ours as it stands', () => {
    expect(read('Authorization', 'Bearer abc.def')).toEqual({ bearer: 'abc.def', isAccessKey: false });
  });

  it.each([
    ['no header', [], 'Missing'],
    ['other headers only', ['X-Api-Key', key, 'Cookie', `token=${key}`], 'Missing'],
    ['an empty header', ['Authorization', ''], 'NotBearer'],
    ['the scheme alone', ['Authorization', 'Bearer'], 'NotBearer'],
    ['the scheme and a space', ['Authorization', 'Bearer '], 'NotBearer'],
    ['two spaces', ['Authorization', `Bearer  ${key}`], 'NotBearer'],
    ['a tab', ['Authorization', `Bearer\t${key}`], 'NotBearer'],
    ['a space behind', ['Authorization', `Bearer ${key} `], 'NotBearer'],
    ['two credentials', ['Authorization', `Bearer ${key} ${key}`], 'NotBearer'],
    ['another scheme', ['Authorization', `Basic ${key}`], 'NotBearer'],
    ['no scheme', ['Authorization', key], 'NotBearer'],
    ['bytes above ASCII', ['Authorization', `Bearer \xe4`], 'NotBearer'],
    ['two headers', ['Authorization', `Bearer ${key}`, 'authorization', `Bearer ${key}`], 'Twice'],
    ['9 KiB', ['Authorization', `Bearer ${'a'.repeat(9_216)}`], 'TooLong'],
    ['one character changed', ['Authorization', `Bearer ${key.slice(0, -1)}_`], 'MalformedKey'],
    ['one character less', ['Authorization', `Bearer ${key.slice(0, -1)}`], 'MalformedKey'],
    ['one character more', ['Authorization', `Bearer ${key}a`], 'MalformedKey'],
    ['the prefix only', ['Authorization', 'Bearer lk_'], 'MalformedKey'],
  ])('refuses %s', (_, rawHeaders, problem) => {
    expect(read(...rawHeaders)).toEqual({ problem });
  });
});

describe('readBearer of a websocket', () => {
  const encode = (text: string) => Buffer.from(text).toString('base64url');
  const bearerOf = (text: string) => `base64url.bearer.authorization.k8s.io.${text}`;
  const own = bearerOf(encode(key));
  const readSocket = (...rawHeaders: string[]) =>
    readBearer(rawHeaders, { maxBytes: 8_192, isWebSocket: true });
  const offer = (...values: string[]) => values.flatMap((value) => ['Sec-WebSocket-Protocol', value]);

  it.each([
    ['in front', [`${own}, v5.channel.k8s.io`]],
    ['behind, without a space', [`v5.channel.k8s.io,v4.channel.k8s.io,${own}`]],
    ['in a header of its own', ['v5.channel.k8s.io', own]],
  ])('finds the key %s of the other protocols', (_, values) => {
    expect(readSocket(...offer(...values))).toEqual({ bearer: key, isAccessKey: true });
  });

  it('finds the key in Authorization where no protocol holds one', () => {
    const headers = ['Authorization', `Bearer ${key}`, ...offer('v5.channel.k8s.io')];
    expect(readSocket(...headers)).toEqual({ bearer: key, isAccessKey: true });
  });

  it('takes what is no key of ours as it stands', () => {
    const headers = offer(`a, ${bearerOf(encode('abc.def'))}`);
    expect(readSocket(...headers)).toEqual({ bearer: 'abc.def', isAccessKey: false });
  });

  it.each([
    ['no credential', ['v5.channel.k8s.io'], 'Missing'],
    ['two credentials', [`a, ${own}, ${own}`], 'TwoProtocols'],
    ['two credentials in two headers', [`a, ${own}`, own], 'TwoProtocols'],
    ['nothing else', [own], 'OnlyProtocol'],
    ['nothing else but commas', [`,${own}, ,`], 'OnlyProtocol'],
    ['an empty credential', [`a, ${bearerOf('')}`], 'NotBase64url'],
    ['padding', [`a, ${bearerOf('YWI=')}`], 'NotBase64url'],
    ['the other alphabet', [`a, ${bearerOf('+/+/')}`], 'NotBase64url'],
    ['a character too many', [`a, ${bearerOf('YWJja')}`], 'NotBase64url'],
    ['a space inside', [`a, ${bearerOf('YWJj YWJj')}`], 'NotBase64url'],
    ['a line break', [`a, ${bearerOf(encode('a\nb'))}`], 'NotBase64url'],
    ['bytes above ASCII', [`a, ${bearerOf(encode('\xe4'))}`], 'NotBase64url'],
    ['9 KiB', [`a, ${bearerOf(encode('a'.repeat(9_216)))}`], 'TooLong'],
    ['a key with one character less', [`a, ${bearerOf(encode(key.slice(0, -1)))}`], 'MalformedKey'],
    ['another spelling of the prefix', [`a, ${own.replace('bearer', 'Bearer')}`], 'Missing'],
  ])('refuses %s', (_, values, problem) => {
    expect(readSocket(...offer(...values))).toEqual({ problem });
  });

  it('refuses two credentials in two places, whatever they are', () => {
    const headers = offer(`a, ${own}`);
    for (const value of [`Bearer ${key}`, 'Basic abc', ''])
      expect(readSocket('Authorization', value, ...headers)).toEqual({ problem: 'InTwoPlaces' });
  });

  it('is the only one: elsewhere no protocol is read', () => {
    expect(read(...offer(`a, ${own}`))).toEqual({ problem: 'Missing' });
  });
});
