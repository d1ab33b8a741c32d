import { expect, it } from 'vitest';
import { expirationSeconds } from './certificate-issuer.ts';

const now = Date.UTC(2026, 10, 21, 10) + 317;
const year = 31_536_000;
/** Ends are whole seconds, rounded down. */
const endAfter = (seconds: number) => Math.floor((now + seconds * 1000) / 1000) * 1000;

it.each<[string, number | undefined, number, number | undefined]>([
  ['an absent certificateTTL asks for the default', undefined, 86_400, 86_400],
  ['0 leaves it to the signer', 0, year, undefined],
  ['0 asks for what policy or parent leave', 0, 3_600, 3_600],
  ['an hour is asked for as an hour', 3_600, 3_600, 3_600],
  ['the rest of a life is asked for', 3_600, 1_800, 1_800],
  ['less than the signer grants is never asked for', 3_600, 20, 600],
])('%s', (_, certificateTTL, seconds, asked) => {
  const life = certificateTTL === undefined ? {} : { certificateTTL };
  expect(expirationSeconds({ ...life, end: endAfter(seconds), now })).toBe(asked);
});
