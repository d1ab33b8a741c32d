import { describe, expect, it } from 'vitest';
import type { KubeClient } from '../../kube/client/client.ts';
import { isCurrent, requestToken } from './impersonator-token.ts';

const now = Date.UTC(2026, 10, 21);
const hour = 3_600_000;
const access = {
  ...{ server: 'https://vc.example.com/', ca: '-----BEGIN CERTIFICATE-----\nAA\n', token: 'a.b.c' },
  ...{ issued: now, expires: now + 24 * hour, isPlatform: false },
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

describe('requestToken', () => {
  const answering = (expirationTimestamp: string) => ({
    client: {
      request: async () => ({ status: { token: 'a.b.c', expirationTimestamp } }),
    } as unknown as KubeClient,
    limits: () => ({ timeoutMs: 1_000, retries: 0 }),
  });
  const inSeconds = (seconds: number) => new Date(now + seconds * 1_000).toISOString();

  it.each([
    ['has ended', 'has ended already', 0],
    ['has 1.5 s to live', 'ends within five minutes', 1.5],
    ['ends before it could be renewed', 'ends within five minutes', 299],
  ])('takes no token that %s', async (_, message, seconds) => {
    await expect(requestToken(answering(inSeconds(seconds)), now, 24 * hour)).rejects.toThrow(message);
  });

  it('takes a token of ten minutes, and believes no longer life than it asked for', async () => {
    expect(await requestToken(answering(inSeconds(600)), now, 24 * hour)).toMatchObject({
      expires: now + 600_000,
    });
    expect(await requestToken(answering(inSeconds(90_000)), now, hour)).toMatchObject({
      expires: now + hour,
    });
  });
});
