import { expect, it } from 'vitest';
import { isTooEarly } from './cluster.ts';

it.each([
  ['Resource kind OwnedAccessKey not found. There can be a delay between when a CRD is created', true],
  ['error: no matches for kind "OwnedAccessKey" in version "management.platform.sh/v1"', true],
  ['Error from server (NotFound): the server could not find the requested resource', true],
  ['The OwnedAccessKey "a" is invalid: spec: Invalid value: spec.user', false],
  ['Error from server (Forbidden): User "alice" cannot create resource', false],
  ['', false],
])('tries again after "%s": %s', (stderr, expected) => {
  expect(isTooEarly({ stderr })).toBe(expected);
});
