import { describe, expect, it } from 'vitest';
import { instanceRecord } from '../../../test/builders/target-record.ts';
import { chooseServer } from './dialled-server.ts';

interface InstanceAddress {
  readonly name?: string;
  readonly namespace?: string;
  readonly spec?: Record<string, unknown>;
}

/** Chooses the address of an instance whose administrator kubeconfig says this. */
function dialled(written: string, { name = 'shop', namespace = 'p-demo', spec = {} }: InstanceAddress = {}) {
  const { kubeConfig } = instanceRecord({ name, metadata: { namespace }, spec });
  return chooseServer(new URL(written), kubeConfig)?.href;
}

const asItComes = 'https://localhost:8443';

describe('https://localhost:8443 in the kubeconfig of a vCluster', () => {
  it.each<[string, InstanceAddress, string]>([
    ['the Service of that name beside its Secret', {}, 'https://shop.p-demo/'],
    [
      'the Service of the virtual cluster that the instance names',
      { spec: { clusterRef: { virtualCluster: 'vc-1' } } },
      'https://vc-1.p-demo/',
    ],
    [
      'never a Service of a namespace that the instance names',
      { spec: { clusterRef: { namespace: 'p-other' }, kubeConfigSecretRef: { namespace: 'p-other' } } },
      'https://shop.p-demo/',
    ],
  ])('means %s, port 443', (_, place, expected) => {
    expect(dialled(asItComes, place)).toBe(expected);
  });

  it.each<[string, InstanceAddress]>([
    ['of another cluster', { spec: { clusterRef: { cluster: 'east' } } }],
    ['whose name has a dot, and so leads out of its namespace', { name: 'shop.example' }],
    ['whose two names are an address together', { name: '10', namespace: '1' }],
    ['whose two names are an address together, in hexadecimal', { name: '10', namespace: '0x1' }],
    ['whose name is too long for a Service', { name: 'a'.repeat(64) }],
  ])('means nothing else for an instance %s', (_, place) => {
    expect(dialled(asItComes, place)).toBe('https://localhost:8443/');
  });

  it.each([
    'https://localhost:6443',
    'https://localhost',
    'https://localhost:8443/path',
    'https://127.0.0.1:8443',
    'https://[::1]:8443',
    'https://localhost.:8443',
    'https://shop.p-demo.svc:8443',
  ])('is not %s, which is dialled as it stands', (written) => {
    expect(dialled(written)).toBe(new URL(written).href);
  });
});

describe('spec.server', () => {
  const server = 'https://shop.example.com:6443/path';

  it.each([asItComes, 'https://10.0.0.1:6443'])('goes before %s', (written) => {
    expect(dialled(written, { spec: { server } })).toBe(server);
    expect(dialled(written, { spec: { server, clusterRef: { cluster: 'east' } } })).toBe(server);
  });

  it('that is empty counts as absent', () => {
    expect(dialled('https://10.0.0.1:6443', { spec: { server: '' } })).toBe('https://10.0.0.1:6443/');
  });

  it.each(['http://a', 'https://user:password@a', 'https://a?b', 'https://a\\b', 'a', 'file:///etc/passwd'])(
    'that is %j is never dialled, and nothing else is in its place',
    (server) => {
      expect(dialled(asItComes, { spec: { server } })).toBeUndefined();
    },
  );
});
