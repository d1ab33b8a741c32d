import { describe, expect, it } from 'vitest';
import { generateAccessKey } from '../../credentials/keys/access-key.ts';
import { readBearer } from './bearer.ts';

const key = generateAccessKey(new Uint8Array(32).fill(7));
const read = (...rawHeaders: string[]) => readBearer(rawHeaders, 8_192);

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
