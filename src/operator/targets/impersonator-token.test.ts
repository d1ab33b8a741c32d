import { describe, expect, it } from 'vitest';
import { isCurrent } from './impersonator-token.ts';

const now = Date.UTC(2026, 10, 21);
const hour = 3_600_000;
const access = {
  ...{ server: 'https://vc.example.com/', ca: '-----BEGIN CERTIFICATE-----\nAA\n', token: 'a.b.c' },
  ...{ issued: now, expires: now + 24 * hour },
};
const server = new URL('https://vc.example.com');

describe('isCurrent', () => {
  it.each([
    ['at the beginning', true, now],
    ['before half of the life is gone', true, now + 12 * hour - 1],
    ['when half of the life is gone', false, now + 12 * hour],
    ['after the end', false, now + 25 * hour],
  ])('%s: %s', (_what, expected, when) => {
    expect(isCurrent(access, server, access.ca, when)).toBe(expected);
  });

  it.each([
    ['another port', 'https://vc.example.com:444', access.ca],
    ['another host', 'https://evil.example.com', access.ca],
    ['another path', 'https://vc.example.com/vc', access.ca],
    ['another authority', access.server, `${access.ca}AA`],
  ])('never for %s', (_what, at, ca) => {
    expect(isCurrent(access, new URL(at), ca, now)).toBe(false);
  });

  it('goes by the real life, however short it is', () => {
    const short = { ...access, expires: now + hour };
    expect(isCurrent(short, server, access.ca, now + hour / 2 - 1)).toBe(true);
    expect(isCurrent(short, server, access.ca, now + hour / 2)).toBe(false);
  });
});
