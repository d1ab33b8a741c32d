import { describe, expect, it } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { silentLogger } from '../../logger.ts';
import { AccountTokens, ReviewUnavailable } from './account-tokens.ts';

const user = 'system:serviceaccount:ci:worker';
const audience = 'https://latchkey.example.com';
const token = { text: 'a.b.c', header: {}, claims: {}, issuer: 'https://kubernetes.default.svc' };

function start(create: () => Promise<unknown>) {
  const clock = new FakeClock();
  const warnings: unknown[] = [];
  const log = { ...silentLogger, warn: (...line: unknown[]) => void warnings.push(line) };
  const client = { as: () => ({ create }) } as never;
  return { tokens: new AccountTokens({ client, audience, clock, log }), clock, warnings };
}

describe('a token of a ServiceAccount', () => {
  it.each([
    ['of that account, for us', {}, true],
    ['of another account', { user: { username: `${user}2` } }, false],
    ['that does not hold', { authenticated: false }, false],
    ['for somebody else', { audiences: ['https://kubernetes.default.svc'] }, false],
    ['that was checked without an audience', { audiences: undefined }, false],
  ])('%s is judged by what the API server says', async (_, said, expected) => {
    const status = { authenticated: true, user: { username: user }, audiences: [audience], ...said };
    const { tokens } = start(async () => ({ status }));
    expect(await tokens.isOf(token, user)).toBe(expected);
  });

  it('cannot be checked while the API server is away: one line says so, however many strangers ask', async () => {
    const { tokens, clock, warnings } = start(async () => {
      throw new Error('away');
    });
    for (let count = 0; count < 100; count += 1)
      await expect(tokens.isOf(token, user)).rejects.toThrow(ReviewUnavailable);
    expect(warnings).toHaveLength(1);
    expect(JSON.stringify(warnings)).not.toContain(token.text);
    await clock.advanceAsync(30_000);
    await expect(tokens.isOf(token, user)).rejects.toThrow('the API server does not check tokens now');
    expect(warnings).toHaveLength(2);
  });

  it('waits for no place where eight others are checked', async () => {
    const { promise, resolve } = Promise.withResolvers<unknown>();
    const { tokens, warnings } = start(async () => await promise);
    const others = Array.from({ length: 8 }, async () => await tokens.isOf(token, user));
    await expect(tokens.isOf(token, user)).rejects.toThrow('too many tokens are being checked');
    resolve({ status: {} });
    expect(await Promise.all(others)).toEqual(Array(8).fill(false));
    expect([await tokens.isOf(token, user), warnings]).toEqual([false, []]);
  });
});
