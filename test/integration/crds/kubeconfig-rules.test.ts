import { describe, expect, it } from 'vitest';
import { virtualClusterInstanceKubeConfigs } from '../../../src/api/resources.ts';
import { crdWorld, verdict } from './world.ts';

const world = await crdWorld();

const short =
  'spec.certificateTTL: Invalid value: 59: spec.certificateTTL must be 0 (the life that the signer chooses) or at least 60 seconds';
const shortWithCertificate =
  'spec.certificateTTL: Invalid value: spec.certificateTTL must be 0 or at least 600 seconds with spec.clientCert, the least that the signer accepts; raise it, or remove spec.clientCert';
const renewal =
  'spec.renewBefore: Invalid value: spec.renewBefore must be less than spec.certificateTTL (86400 when spec.certificateTTL is absent); lower spec.renewBefore';
const badServer =
  'spec.server: Invalid value: spec.server must be an https URL without user name, password, query and fragment, as in https://host:8443/path';

describe('a VirtualClusterInstanceKubeConfig', () => {
  const judge = (spec: unknown): Promise<string> =>
    verdict(world.admin, virtualClusterInstanceKubeConfigs, spec);

  it.each([
    ['empty', {}],
    ['missing', undefined],
    ['with the life that the signer chooses', { certificateTTL: 0, clientCert: true }],
    ['with the shortest token', { certificateTTL: 60 }],
    ['with the shortest certificate', { certificateTTL: 600, clientCert: true }],
    ['with the longest life', { certificateTTL: 2_147_483_647 }],
    ['for another instance', { virtualClusterInstance: 'vc-1' }],
    ['with a Secret of its namespace', { secretRef: { name: 'kubeconfig' } }],
    ['with renewal', { accessKey: 'ci', certificateTTL: 600, renewBefore: 300 }],
    [
      'with renewal and the life that the signer chooses',
      { accessKey: 'ci', certificateTTL: 0, renewBefore: 90_000 },
    ],
  ])('is accepted with a spec %s', async (_, spec) => {
    expect(await judge(spec)).toBe('accepted');
  });

  it.each(['', 'https://vc.example.com', 'https://10.0.0.1:8443/', 'https://[::1]:6443', 'https://a/k/p@v'])(
    'may have the server "%s"',
    async (server) => {
      expect(await judge({ server })).toBe('accepted');
    },
  );

  it.each([
    'http://vc.example.com',
    'HTTPS://vc.example.com',
    'vc.example.com',
    'https://',
    'https://user@vc.example.com',
    'https://user:password@vc.example.com',
    'https://vc.example.com:123456',
    'https://vc.example.com?a=b',
    'https://vc.example.com/#a',
    'https://vc.example.com/a b',
    'https://vc.example.com\n',
    'https://[nonsense]',
    ' https://vc.example.com',
  ])('is refused with the server %j, which the error does not repeat', async (server) => {
    expect(await judge({ server })).toBe(badServer);
  });

  it.each([
    ['a certificateTTL below a minute', { certificateTTL: 59 }, short],
    ['a certificate below ten minutes', { certificateTTL: 599, clientCert: true }, shortWithCertificate],
    [
      'a negative certificateTTL',
      { certificateTTL: -1 },
      'spec.certificateTTL: Invalid value: -1: spec.certificateTTL in body should be greater than or equal to 0',
    ],
    ['renewal as early as the issue', { accessKey: 'ci', certificateTTL: 600, renewBefore: 600 }, renewal],
    ['renewal before the default life', { accessKey: 'ci', renewBefore: 86_400 }, renewal],
    [
      'renewal without a parent',
      { renewBefore: 60 },
      'spec.renewBefore: Invalid value: spec.renewBefore needs spec.accessKey; name the access key that the kubeconfig is renewed under, or remove spec.renewBefore',
    ],
    [
      'an instance whose name cannot be',
      { virtualClusterInstance: 'a/b' },
      "spec.virtualClusterInstance: Invalid value: \"a/b\": spec.virtualClusterInstance must be the name of an object (lower-case letters, digits, '-' and '.')",
    ],
  ])('is refused with %s', async (_, spec, message) => {
    expect(await judge(spec)).toBe(message);
  });

  it('cannot name the namespace of its Secret, which is its own', async () => {
    expect(await judge({ secretRef: { name: 'a', namespace: 'b' } })).toContain(
      'strict decoding error: unknown field "spec.secretRef.namespace"',
    );
  });

  it('cannot have a life beyond 32 bits', async () => {
    expect(await judge({ certificateTTL: 2_147_483_648 })).toContain(
      'spec.certificateTTL in body should be less than or equal to 2147483647',
    );
  });
});
