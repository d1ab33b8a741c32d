import { describe, expect, it } from 'vitest';
import { clusterRecord, instanceRecord, readyStatus } from '../../../test/builders/target-record.ts';
import { annotations, labels } from '../../api/names.ts';
import type { KubeObject } from '../../kube/object.ts';
import {
  type ProfiledRecord,
  planProfile,
  profileNameOf,
  targetNameOf,
  toProfileRecord,
} from './cluster-profile.ts';

const gateway = { issuer: 'https://latchkey.example.com', projectNamespacePrefix: 'p-', ca: 'PEM' };
const aPEM = Buffer.from('-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n').toString('base64');
const now = Date.parse('2026-11-27T08:00:00Z');
const plan = (record: ProfiledRecord, over = {}) =>
  planProfile({ record, gateway, present: undefined, now, ...over });
const withSecret = { kubeConfigSecretRef: { namespace: 'default', name: 'kc', key: 'value' } };
const edge = (spec: object = withSecret, status: object = {}) =>
  clusterRecord({ name: 'edge', spec: { ...spec }, status: { ...status } });
const shop = instanceRecord({ name: 'shop', metadata: { namespace: 'p-demo' } });

describe('the ClusterProfile', () => {
  it('of a cluster leads through the gateway', () => {
    expect(plan(edge())).toEqual({
      name: 'cluster.edge',
      labels: {
        'x-k8s.io/cluster-manager': 'latchkey',
        [labels.purpose]: 'cluster-profile',
        [labels.ownerUID]: 'uid-of-edge',
      },
      annotations: { [annotations.target]: 'cluster/edge' },
      spec: { displayName: 'cluster/edge', clusterManager: { name: 'latchkey' } },
      status: {
        accessProviders: [
          {
            name: 'latchkey',
            cluster: {
              server: 'https://latchkey.example.com/kubernetes/cluster/edge',
              'certificate-authority-data': Buffer.from('PEM').toString('base64'),
              extensions: [
                { name: 'client.authentication.k8s.io/exec', extension: { target: 'cluster/edge' } },
              ],
            },
          },
        ],
        conditions: [
          {
            ...{ type: 'ControlPlaneHealthy', status: 'Unknown', reason: 'NotChecked' },
            message: expect.any(String),
            lastTransitionTime: '2026-11-27T08:00:00Z',
          },
        ],
      },
      fingerprint: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
  });

  it('of a virtual cluster names its project', () => {
    expect(plan(shop)).toMatchObject({
      name: 'virtualcluster.demo.shop',
      status: {
        accessProviders: [
          {
            cluster: {
              server: 'https://latchkey.example.com/kubernetes/project/demo/virtualcluster/shop',
              extensions: [{ extension: { target: 'virtualcluster/demo/shop' } }],
            },
          },
        ],
      },
    });
  });

  it('names a direct endpoint as a provider of its own, and alone where the gateway has no way in', () => {
    const directEndpoint = { host: 'edge.example.com:8443', caData: aPEM };
    const direct = {
      name: 'latchkey-direct',
      cluster: {
        server: 'https://edge.example.com:8443/kubernetes/cluster/edge',
        'certificate-authority-data': aPEM,
        extensions: [
          { name: 'client.authentication.k8s.io/exec', extension: { target: 'cluster/edge', direct: true } },
        ],
      },
    };
    const both = plan(edge({ ...withSecret, directEndpoint }))?.status.accessProviders;
    expect(both).toEqual([expect.objectContaining({ name: 'latchkey' }), direct]);
    expect(plan(edge({ directEndpoint }))?.status.accessProviders).toEqual([direct]);
  });

  it('names a direct endpoint as a URL reads, and its authority as base64 that an API server takes', () => {
    const serverOf = (host: string, caData = aPEM) => {
      const [found] = plan(edge({ directEndpoint: { host, caData } }))?.status.accessProviders ?? [];
      return found;
    };
    const at = (server: string) => ({ cluster: { server: `${server}/kubernetes/cluster/edge` } });
    expect(serverOf('Edge.Example.com:443')).toMatchObject(at('https://edge.example.com'));
    expect(serverOf('[2001:DB8:0:0:0:0:0:1]:8443')).toMatchObject(at('https://[2001:db8::1]:8443'));
    expect(serverOf('edge.example.com:99999')).toBeUndefined();
    const withMore = `${aPEM}\n*`;
    expect(serverOf('edge', withMore)).toMatchObject({ cluster: { 'certificate-authority-data': aPEM } });
  });

  it('has no authority where clients trust the gateway anyway', () => {
    const { ca: _, ...trusted } = gateway;
    expect(JSON.stringify(plan(shop, { gateway: trusted }))).not.toContain('certificate-authority-data');
  });

  it.each<[string, object, string, string]>([
    ['is healthy where the operator reaches it', readyStatus('True', 'Ready'), 'True', 'Reachable'],
    [
      'is unknown, and not ill, where it does not',
      readyStatus('False', 'TargetUnreachable'),
      'Unknown',
      'TargetUnreachable',
    ],
  ])('%s', (_, status, health, reason) => {
    expect(plan(edge(withSecret, status))?.status.conditions[0]).toMatchObject({ status: health, reason });
  });

  it.each<[string, ProfiledRecord]>([
    ['of an instance outside of a project', instanceRecord({ metadata: { namespace: 'default' } })],
    ['of what is being deleted', clusterRecord({ metadata: { deletionTimestamp: '2026-11-27T07:00:00Z' } })],
  ])('%s is none', (_, record) => {
    expect(plan(record)).toBeUndefined();
  });
});

describe('the name of a profile', () => {
  it('is another one for each target', () => {
    const long = 'x'.repeat(70);
    const targets = [
      ...[
        'cluster/a',
        'cluster/a.b',
        'cluster/demo.a',
        'cluster/sha256.a',
        `cluster/${long}`,
        `cluster/${long}y`,
      ],
      ...['virtualcluster/a/b', 'virtualcluster/a-b/c', 'virtualcluster/a/b-c', 'virtualcluster/a/b.c'],
      ...[`virtualcluster/a/${long}`, `virtualcluster/${'a'.repeat(60)}/${long}`],
    ];
    const names = targets.map(profileNameOf);
    expect(new Set(names).size).toBe(targets.length);
    for (const name of names) {
      expect(name.length).toBeLessThanOrEqual(63);
      expect(name).toMatch(/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/);
    }
  });

  it('cannot be taken by a target that is named like the hash of another', () => {
    const hashed = profileNameOf(`cluster/${'x'.repeat(70)}`);
    for (const kind of ['cluster', 'virtualcluster/a'])
      expect(profileNameOf(`${kind}/${hashed.replace(/^cluster-/, '')}`)).not.toBe(hashed);
    expect(hashed).not.toMatch(/^cluster\./);
  });

  it('is made of no target to which the gateway has no path', () => {
    expect(targetNameOf(clusterRecord({ name: '..' }), 'p-')).toBeUndefined();
  });
});

/** A profile as the API server stores it. */
function stored(record: ProfiledRecord, over: object = {}): KubeObject {
  const desired = plan(record);
  if (desired === undefined) throw new Error('no profile');
  const { name, status, spec, fingerprint: _, ...marks } = desired;
  const metadata = {
    namespace: 'fleet',
    name,
    uid: 'u',
    resourceVersion: '1',
    creationTimestamp: '',
    ...marks,
  };
  return { metadata, spec, status, ...over } as KubeObject;
}

describe('a stored profile', () => {
  it('that is as it should be is left, with the time of its condition', () => {
    const present = toProfileRecord(stored(edge()));
    const later = plan(edge(), { present, now: now + 60_000 });
    expect(later?.fingerprint).toBe(present.fingerprint);
    expect(later?.status.conditions[0].lastTransitionTime).toBe('2026-11-27T08:00:00Z');
  });

  it.each<[string, object]>([
    [
      'another server',
      { status: { accessProviders: [{ name: 'latchkey', cluster: { server: 'https://evil' } }] } },
    ],
    ['no status yet', { status: undefined }],
    ['another display name', { spec: { displayName: 'x', clusterManager: { name: 'latchkey' } } }],
  ])('with %s is written again', (_, over) => {
    expect(toProfileRecord(stored(edge(), over)).fingerprint).not.toBe(plan(edge())?.fingerprint);
  });

  const display = (displayName?: string) => ({ displayName, clusterManager: { name: 'latchkey' } });

  it.each<[string, object, object]>([
    ['without the annotation', { annotations: {} }, display('cluster/edge')],
    ['without the label', { labels: {} }, display('cluster/edge')],
    ['without labels and annotations', { labels: {}, annotations: {} }, display('cluster/edge')],
    ['with another display name', {}, display('mine')],
  ])('%s is still of Latchkey', (_, over, spec) => {
    const object = stored(edge(), { spec });
    Object.assign(object.metadata, over);
    expect(toProfileRecord(object).owner).toBe('latchkey');
    expect(toProfileRecord(object).fingerprint).not.toBe(plan(edge())?.fingerprint);
  });

  it.each<[string, object, object]>([
    ['a copy under another name', { name: 'copy' }, display('cluster/edge')],
    ['a copy under the name of another target', { name: 'cluster.west' }, display('cluster/edge')],
    ['one that names no target', { annotations: {} }, display()],
    ['one that names another target', { annotations: {} }, display('cluster/west')],
  ])('%s is not surely of Latchkey', (_, over, spec) => {
    const object = stored(edge(), { spec });
    Object.assign(object.metadata, over);
    expect(toProfileRecord(object).owner).toBe('unnamed');
  });

  it.each<[string, object]>([
    ['another manager', { clusterManager: { name: 'another' } }],
    ['no manager', {}],
    ['a manager that is no object', { clusterManager: 'latchkey' }],
  ])('with our marks and %s is of somebody else', (_, spec) => {
    expect(toProfileRecord(stored(edge(), { spec })).owner).toBe('other');
  });

  it('goes with the Role where it says so', () => {
    const object = stored(edge());
    expect(toProfileRecord(object).hasRole).toBe(false);
    const role = { apiVersion: 'x', kind: 'Role', name: 'latchkey-cluster-profiles', uid: 'r' };
    const other = { apiVersion: 'v1', kind: 'ConfigMap', name: 'fleet', uid: 'c' };
    Object.assign(object.metadata, { ownerReferences: [role, other] });
    expect(toProfileRecord(object)).toMatchObject({ hasRole: true, otherOwners: [other] });
  });

  it('of endless depth is read', () => {
    let deep: object = {};
    for (let level = 0; level < 200; level += 1) deep = { deep };
    expect(toProfileRecord(stored(edge(), { status: { accessProviders: [deep] } })).fingerprint).toBe('');
  });
});
