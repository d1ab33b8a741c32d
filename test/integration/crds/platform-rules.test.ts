import { describe, expect, it } from 'vitest';
import { clusters, spaceInstances, virtualClusterInstances } from '../../../src/api/resources.ts';
import { crdWorld, verdict } from './world.ts';

const world = await crdWorld();

const objectName = "must be the name of an object (lower-case letters, digits, '-' and '.')";
const namespaceName = "must be the name of a namespace (lower-case letters, digits and '-')";
const badHost =
  'must be a host name with an optional port, as in vc.example.com:8443; remove scheme and path';
const portRange =
  'has a port that cannot be; write one from 1 to 65535, without leading zeros, or none for 443';
const hostForm =
  'must name a host that can be: 1 to 63 characters between dots, 253 in all, and an address (what ends in a number) of four numbers up to 255';
/** The text about one value of a field. */
const invalid = (field: string, value: string, rule: string): string =>
  `spec.${field}: Invalid value: "${value}": spec.${field} ${rule}`;
const secretName = "must be the name of a Secret (lower-case letters, digits, '-' and '.')";
const secretKey = "must be a key of a Secret (letters, digits, '-', '_' and '.')";
const roleName = "must be the name of a ClusterRole, not '.' or '..', and without '/' and '%'";
const noRole = 'must not be empty; name a ClusterRole, or remove the field for cluster-admin';
const ingress = (host: string) => ({ accessPoint: { ingress: { host } } });
const role = (clusterRole: string) => ({ access: { clusterRole } });
const ingressHost = 'accessPoint.ingress.host';
const clusterOf = (value: string) => invalid('clusterRef.cluster', value, objectName);
const namespaceOf = (value: string) => invalid('clusterRef.namespace', value, namespaceName);
const badPorts = ['x.com:0', 'x.com:65536', 'x.com:99999', 'x.com:123456', '10.0.0.1:080'];
const badHosts = ['x..y', 'x.-y:1', '999.1.1.1', '1.2.3', '10.0.0.01', 'x.0x1f:8443', 'a'.repeat(64)];

describe('a VirtualClusterInstance', () => {
  const judge = (spec: unknown): Promise<string> => verdict(world.admin, virtualClusterInstances, spec);

  it('takes every field', async () => {
    const spec = {
      displayName: 'Dev',
      description: 'for the team',
      owner: { user: 'alice', team: '' },
      clusterRef: { cluster: 'c.1', namespace: 'ns', virtualCluster: 'vc' },
      accessPoint: { ingress: { enabled: true, host: 'vc.example.com:8443' } },
      access: { clusterRole: 'system:view' },
      kubeConfigSecretRef: { name: 'vc-vc', key: 'value' },
      server: 'https://vc.example.com:6443',
    };
    expect(await judge(spec)).toBe('accepted');
    expect(await judge({})).toBe('accepted');
    expect(await judge({ kubeConfigSecretRef: {}, accessPoint: { ingress: { host: '' } } })).toBe('accepted');
    expect(await judge({ accessPoint: { ingress: { enabled: false } } })).toBe('accepted');
  });

  it.each(['10.0.0.1:8443', 'a:1', 'shop.vc.example.com:65535', '1.2.3.4a'])(
    'may have the ingress %s',
    async (host) => {
      expect(await judge({ accessPoint: { ingress: { enabled: true, host } } })).toBe('accepted');
    },
  );

  it.each(badPorts)('is refused with the port of the ingress %s', async (host) => {
    expect(await judge(ingress(host))).toBe(invalid(ingressHost, host, portRange));
  });

  it.each(badHosts)('is refused with the ingress host %s', async (host) => {
    expect(await judge(ingress(host))).toBe(invalid(ingressHost, host, hostForm));
  });

  it.each([{}, { host: '' }])('is refused with an ingress that is enabled and has %j', async (rest) => {
    expect(await judge({ accessPoint: { ingress: { enabled: true, ...rest } } })).toBe(
      'spec.accessPoint.ingress.host: Invalid value: spec.accessPoint.ingress.enabled needs a host; set spec.accessPoint.ingress.host, or enabled: false',
    );
  });

  it.each([
    [
      'two owners',
      { owner: { user: 'a', team: 'b' } },
      'spec.owner: Invalid value: spec.owner.user and spec.owner.team exclude each other; set one and remove the other',
    ],
    ['a cluster that cannot be', { clusterRef: { cluster: 'A' } }, clusterOf('A')],
    ['a namespace that cannot be', { clusterRef: { namespace: 'a.b' } }, namespaceOf('a.b')],
    [
      'a virtual cluster that cannot be',
      { clusterRef: { virtualCluster: '-' } },
      invalid('clusterRef.virtualCluster', '-', objectName),
    ],
    ['a URL as host', ingress('https://a'), invalid(ingressHost, 'https://a', badHost)],
    ['no role', role(''), invalid('access.clusterRole', '', noRole)],
    ['a parent folder as role', role('..'), invalid('access.clusterRole', '..', roleName)],
    ['a path as role', role('a/b'), invalid('access.clusterRole', 'a/b', roleName)],
    [
      'a Secret that cannot be',
      { kubeConfigSecretRef: { name: 'A' } },
      invalid('kubeConfigSecretRef.name', 'A', secretName),
    ],
    [
      'a key that cannot be',
      { kubeConfigSecretRef: { key: 'a/b' } },
      invalid('kubeConfigSecretRef.key', 'a/b', secretKey),
    ],
  ])('is refused with %s', async (_, spec, message) => {
    expect(await judge(spec)).toBe(message);
  });
});

describe('a SpaceInstance', () => {
  const judge = (spec: unknown): Promise<string> => verdict(world.admin, spaceInstances, spec);

  it('takes every field', async () => {
    const clusterRef = { cluster: 'c', namespace: 'ns' };
    expect(await judge({ displayName: 'Dev', clusterRef })).toBe('accepted');
    expect(await judge({})).toBe('accepted');
  });

  it.each([
    ['a cluster that cannot be', { clusterRef: { cluster: 'a/b' } }, clusterOf('a/b')],
    ['a namespace that cannot be', { clusterRef: { namespace: '*' } }, namespaceOf('*')],
  ])('is refused with %s', async (_, spec, message) => {
    expect(await judge(spec)).toBe(message);
  });
});

describe('a Cluster', () => {
  const judge = (spec: unknown): Promise<string> => verdict(world.admin, clusters, spec);
  const kubeConfigSecretRef = { namespace: 'ns', name: 'admin', key: 'config' };

  it('takes every field', async () => {
    const directEndpoint = { host: 'direct.example.com:8443', caData: 'LS0=' };
    expect(await judge({ displayName: 'Prod', kubeConfigSecretRef, directEndpoint })).toBe('accepted');
    expect(await judge({})).toBe('accepted');
    expect(await judge({ directEndpoint: { host: '[::1]:8443' } })).toBe('accepted');
    expect(await judge({ directEndpoint: { host: '' } })).toBe('accepted');
  });

  it.each([...badPorts, '[::1]:0'])('is refused with the port of the direct endpoint %s', async (host) => {
    expect(await judge({ directEndpoint: { host } })).toBe(invalid('directEndpoint.host', host, portRange));
  });

  it.each(badHosts)('is refused with the direct endpoint %s', async (host) => {
    expect(await judge({ directEndpoint: { host } })).toBe(invalid('directEndpoint.host', host, hostForm));
  });

  it('is refused with a URL as direct endpoint', async () => {
    const form =
      'must be a host name or an address with an optional port, as in cluster.example.com:8443; remove scheme and path';
    const verdictOfURL = await judge({ directEndpoint: { host: 'https://a' } });
    expect(verdictOfURL).toBe(invalid('directEndpoint.host', 'https://a', form));
  });
});
