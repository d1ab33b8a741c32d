import { describe, expect, it } from 'vitest';
import { virtualClusterInstanceKubeConfigs, virtualClusterInstances } from '../../../src/api/resources.ts';
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
const badPort =
  'spec.server: Invalid value: spec.server has a port that cannot be; write one from 1 to 65535, without leading zeros, or none for 443';
const badHost =
  'spec.server: Invalid value: spec.server must name a host that can be: 1 to 63 characters between dots, 253 in all, and an address (what ends in a number) of four numbers up to 255';

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

  it.each([
    ['a certificateTTL below a minute', { certificateTTL: 59 }, short],
    ['a certificate below ten minutes', { certificateTTL: 599, clientCert: true }, shortWithCertificate],
    ['a negative certificateTTL', { certificateTTL: -1 }, short.replace('59', '-1')],
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

/** Who gets a kubeconfig is sent there, and so is the operator with an instance. */
describe.each([virtualClusterInstanceKubeConfigs, virtualClusterInstances])(
  'the server of $plural',
  (resource) => {
    const judge = (spec: unknown): Promise<string> => verdict(world.admin, resource, spec);

    it.each([
      '',
      'https://vc.example.com',
      'https://10.0.0.1:8443/',
      'https://[::1]:6443',
      'https://a/k/p@v',
      'https://a:1/k:70000',
      'https://1a.x_1:65535',
      `https://${'a'.repeat(63)}.b`,
    ])('may have the server "%s"', async (server) => {
      expect(await judge({ server })).toBe('accepted');
    });

    it.each([
      'http://vc.example.com',
      'HTTPS://vc.example.com',
      'vc.example.com',
      'https://',
      'https://user@vc.example.com',
      'https://user:password@vc.example.com',
      'https://vc.example.com?a=b',
      'https://vc.example.com/#a',
      'https://vc.example.com/a b',
      'https://vc.example.com\n',
      'https://[nonsense]',
      'https://[:::]',
      ' https://vc.example.com',
    ])('is refused with the server %j, which the error does not repeat', async (server) => {
      expect(await judge({ server })).toBe(badServer);
    });

    it.each([
      'https://x.com:0',
      'https://x.com:65536',
      'https://x.com:99999/path',
      'https://x.com:123456',
      'https://x.com:0443',
      'https://[::1]:70000',
    ])('is refused with the port of %s', async (server) => {
      expect(await judge({ server })).toBe(badPort);
    });

    it.each([
      'https://x..y',
      'https://.x:8443',
      'https://x./path',
      'https://-x',
      'https://x-.y',
      'https://999.1.1.1',
      'https://1.2.3',
      'https://1.2.3.04:6443',
      'https://x.0x1f',
      `https://${'a'.repeat(64)}`,
      `https://${'a.'.repeat(127)}b`,
    ])('is refused with the host of %s', async (server) => {
      expect(await judge({ server })).toBe(badHost);
    });
  },
);
