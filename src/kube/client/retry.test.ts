import { describe, expect, it } from 'vitest';
import { retryDelay } from './retry.ts';

const read = { tries: 0, changesNothing: true, random: () => 0 };
const answer = (status: number, headers = {}) => ({ status, headers, body: '' });

describe('what is asked again', () => {
  it.each([429, 503])('%i is, whatever it was about, up to the last retry', (status) => {
    for (const tries of [0, 1, 2, 3])
      expect(retryDelay(answer(status), { ...read, tries, changesNothing: false })).toBe(100 * 2 ** tries);
  });

  it('500 is twice, where nothing was to be changed', () => {
    const delays = [0, 1, 2].map((tries) => retryDelay(answer(500), { ...read, tries }));
    expect(delays).toEqual([100, 200, undefined]);
  });

  it('500 is not where something was to be changed', () => {
    expect(retryDelay(answer(500), { ...read, changesNothing: false })).toBeUndefined();
  });

  it.each([200, 400, 401, 403, 404, 409, 410, 422, 501, 502, 504])('%i is final', (status) => {
    expect(retryDelay(answer(status, { 'retry-after': '1' }), read)).toBeUndefined();
  });
});

describe('the wait', () => {
  it.each([429, 500, 503])('is what the server asks for and up to a quarter more: %i', (status) => {
    const asked = answer(status, { 'retry-after': '4' });
    expect(retryDelay(asked, read)).toBe(4_000);
    expect(retryDelay(asked, { ...read, random: () => 0.5 })).toBe(4_500);
  });

  it.each([429, 500, 503])('is left to the caller where it is long: %i', (status) => {
    expect(retryDelay(answer(status, { 'retry-after': '31' }), read)).toBeUndefined();
  });
});
