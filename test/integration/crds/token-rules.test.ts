import { describe, expect, it } from 'vitest';
import { directClusterEndpointTokens } from '../../../src/api/resources.ts';
import { crdWorld, verdict } from './world.ts';

const world = await crdWorld();

const early =
  'spec.renewBefore: Invalid value: spec.renewBefore must be less than spec.ttl (86400 when spec.ttl is 0 or absent); lower spec.renewBefore';
const secretRef = { namespace: 'apps', name: 'token', key: 'token' };

describe('a DirectClusterEndpointToken', () => {
  const judge = (spec: unknown): Promise<string> => verdict(world.admin, directClusterEndpointTokens, spec);

  it.each([
    ['empty', {}],
    ['missing', undefined],
    ['without end of its own', { ttl: 0 }],
    ['with the shortest ttl', { ttl: 60 }],
    ['with a ttl that only a policy shortens', { ttl: 3_153_600_000 }],
    ['with the deprecated flag', { allowPlatformCli: true }],
    ['with no rules', { rules: [] }],
    ['with a parent, a Secret and renewal', { accessKey: 'ci', secretRef, ttl: 600, renewBefore: 599 }],
    ['with renewal before the default end', { accessKey: 'ci', renewBefore: 86_399 }],
    ['with no renewal', { accessKey: 'ci', ttl: 60, renewBefore: 0 }],
  ])('is accepted with a spec %s', async (_, spec) => {
    expect(await judge(spec)).toBe('accepted');
  });

  it.each<[string, object, string]>([
    ...[59, 1].map((ttl): [string, object, string] => [
      `a ttl of ${ttl} s`,
      { ttl },
      `spec.ttl: Invalid value: ${ttl}: spec.ttl must be 0 (which means 86400) or at least 60 seconds`,
    ]),
    [
      'a negative ttl',
      { ttl: -60 },
      'spec.ttl: Invalid value: -60: spec.ttl in body should be greater than or equal to 0',
    ],
    [
      'a ttl of more than a century',
      { ttl: 3_153_600_001 },
      'spec.ttl: Invalid value: 3153600001: spec.ttl in body should be less than or equal to 3153600000',
    ],
    [
      'renewal without a parent',
      { renewBefore: 60 },
      'spec.renewBefore: Invalid value: spec.renewBefore needs spec.accessKey; name the access key that the token is renewed under, or remove spec.renewBefore',
    ],
    ['renewal as early as the issue', { accessKey: 'ci', ttl: 600, renewBefore: 600 }, early],
    ['renewal before the default life', { accessKey: 'ci', ttl: 0, renewBefore: 86_400 }, early],
    [
      'negative renewal',
      { accessKey: 'ci', renewBefore: -1 },
      'spec.renewBefore: Invalid value: -1: spec.renewBefore in body should be greater than or equal to 0',
    ],
    [
      'a text as ttl',
      { ttl: '1h' },
      'spec.ttl: Invalid value: "string": spec.ttl in body must be of type integer: "string"',
    ],
  ])('is refused with %s', async (_, spec, message) => {
    expect(await judge(spec)).toBe(message);
  });
});
