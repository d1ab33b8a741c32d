import { describe, expect, it } from 'vitest';
import { manifestOf } from '../../../lab/operator/manifest.ts';
import {
  clusters,
  directClusterEndpointTokens,
  ownedAccessKeys,
  type Resource,
  spaceInstances,
  virtualClusterInstanceKubeConfigs,
  virtualClusterInstances,
} from '../../../src/api/resources.ts';
import { crdWorld, keyOf, refusalOf } from './world.ts';

const world = await crdWorld();

const identity =
  'spec: Invalid value: spec.user, spec.team and spec.subject cannot change; delete the key and create one for the other identity';
const parentOf = (kind: string): string =>
  `spec.accessKey: Invalid value: spec.accessKey cannot change; delete the ${kind} and create one under the other parent`;
const instance =
  'spec.virtualClusterInstance: Invalid value: spec.virtualClusterInstance cannot change; delete the kubeconfig and create one for the other instance';
const sort =
  'spec.clientCert: Invalid value: spec.clientCert cannot change; delete the kubeconfig and create one of the other sort';
const placeOf = (kind: string): string =>
  `spec.clusterRef: Invalid value: spec.clusterRef cannot change; delete the ${kind} and create one that refers to the other place`;
const secretOf = (kind: string): string =>
  `spec.kubeConfigSecretRef: Invalid value: spec.kubeConfigSecretRef cannot change; delete the ${kind} and create one that refers to the other Secret`;

const server =
  'spec.server: Invalid value: spec.server cannot change; delete the instance and create one with the other server';

const place = { cluster: 'c', namespace: 'n' };
const secret = { namespace: 'n', name: 's' };
const otherSecret = { ...secret, key: 'value' };

describe('a stored object', () => {
  it.each<[string, Resource, object, object | undefined, string]>([
    ['another user', ownedAccessKeys, { user: 'a' }, { user: 'b' }, identity],
    ['a team for a user', ownedAccessKeys, { user: 'a' }, { team: 'a' }, identity],
    [
      'a subject for a team',
      ownedAccessKeys,
      { team: 'a', scope: {} },
      { subject: 'a', scope: {} },
      identity,
    ],
    ['a second identity', ownedAccessKeys, { user: 'a' }, { user: 'a', team: 'b' }, identity],
    ['an identity after all', ownedAccessKeys, { accessKey: 'p' }, { accessKey: 'p', user: 'a' }, identity],
    ['another parent', ownedAccessKeys, { accessKey: 'p' }, { accessKey: 'q' }, parentOf('key')],
    ['a parent after all', ownedAccessKeys, { user: 'a' }, { user: 'a', accessKey: 'p' }, parentOf('key')],
    ['no parent', ownedAccessKeys, { accessKey: 'p' }, { disabled: true }, parentOf('key')],
    ['no spec, and so no parent', ownedAccessKeys, { accessKey: 'p' }, undefined, parentOf('key')],
    [
      'another parent',
      directClusterEndpointTokens,
      { accessKey: 'p' },
      { accessKey: 'q' },
      parentOf('token'),
    ],
    ['a parent after all', directClusterEndpointTokens, {}, { accessKey: 'q' }, parentOf('token')],
    [
      'no spec, and so no parent',
      directClusterEndpointTokens,
      { accessKey: 'p' },
      undefined,
      parentOf('token'),
    ],
    [
      'another parent',
      virtualClusterInstanceKubeConfigs,
      { accessKey: 'p' },
      { accessKey: 'q' },
      parentOf('kubeconfig'),
    ],
    [
      'another instance',
      virtualClusterInstanceKubeConfigs,
      { virtualClusterInstance: 'a' },
      { virtualClusterInstance: 'b' },
      instance,
    ],
    [
      'an instance after all',
      virtualClusterInstanceKubeConfigs,
      {},
      { virtualClusterInstance: 'b' },
      instance,
    ],
    ['a certificate after all', virtualClusterInstanceKubeConfigs, {}, { clientCert: true }, sort],
    ['no certificate', virtualClusterInstanceKubeConfigs, { clientCert: true }, { clientCert: false }, sort],
    [
      'no spec, and so no certificate',
      virtualClusterInstanceKubeConfigs,
      { clientCert: true },
      undefined,
      sort,
    ],
    [
      'another place',
      virtualClusterInstances,
      { clusterRef: place },
      { clusterRef: { ...place, virtualCluster: 'v' } },
      placeOf('instance'),
    ],
    ['a place after all', virtualClusterInstances, {}, { clusterRef: place }, placeOf('instance')],
    [
      'no spec, and so no place',
      virtualClusterInstances,
      { clusterRef: place },
      undefined,
      placeOf('instance'),
    ],
    [
      'another Secret',
      virtualClusterInstances,
      { kubeConfigSecretRef: { name: 'a' } },
      { kubeConfigSecretRef: { name: 'b' } },
      secretOf('instance'),
    ],
    [
      'a Secret after all',
      virtualClusterInstances,
      {},
      { kubeConfigSecretRef: { name: 'b' } },
      secretOf('instance'),
    ],
    [
      'another server',
      virtualClusterInstances,
      { server: 'https://a' },
      { server: 'https://a.example' },
      server,
    ],
    ['a server after all', virtualClusterInstances, {}, { server: 'https://a' }, server],
    ['no server', virtualClusterInstances, { server: 'https://a' }, { displayName: 'x' }, server],
    ['no spec, and so no server', virtualClusterInstances, { server: 'https://a' }, undefined, server],
    ['another place', spaceInstances, { clusterRef: place }, { clusterRef: {} }, placeOf('space')],
    ['a place in an empty one', spaceInstances, { clusterRef: {} }, { clusterRef: place }, placeOf('space')],
    [
      'a place in an empty one',
      virtualClusterInstances,
      { clusterRef: {} },
      { clusterRef: { virtualCluster: 'v' } },
      placeOf('instance'),
    ],
    [
      'a Secret in an empty reference',
      virtualClusterInstances,
      { kubeConfigSecretRef: {} },
      { kubeConfigSecretRef: { key: 'value' } },
      secretOf('instance'),
    ],
    ['no spec, and so no place', spaceInstances, { clusterRef: place }, undefined, placeOf('space')],
    [
      'another Secret',
      clusters,
      { kubeConfigSecretRef: secret },
      { kubeConfigSecretRef: otherSecret },
      secretOf('Cluster'),
    ],
    ['no spec, and so no Secret', clusters, { kubeConfigSecretRef: secret }, undefined, secretOf('Cluster')],
  ])('does not take %s ($plural)', async (...[, resource, before, after, message]) => {
    const stored = await world.store(resource, manifestOf(resource, before));
    const update = world.admin.replace(resource, keyOf(stored), { ...stored, spec: after });
    expect(await refusalOf(update)).toBe(message);
  });

  it.each<[string, Resource, object, object]>([
    ['an empty name for none', ownedAccessKeys, { user: 'a' }, { user: 'a', team: '' }],
    [
      'everything else of a key',
      ownedAccessKeys,
      { user: 'a' },
      { user: 'a', ttl: 60, groups: ['g'], scope: {}, disabled: true },
    ],
    [
      'false for no certificate',
      virtualClusterInstanceKubeConfigs,
      {},
      { clientCert: false, certificateTTL: 90 },
    ],
    ['another name', virtualClusterInstances, { clusterRef: place }, { clusterRef: place, displayName: 'x' }],
    [
      'everything else beside a server',
      virtualClusterInstances,
      { server: 'https://a' },
      { server: 'https://a', access: { clusterRole: 'view' } },
    ],
    ['an empty server for none', virtualClusterInstances, {}, { server: '' }],
    // A generator or a form writes an empty reference for none, and another one leaves it out.
    ['an empty place for none', virtualClusterInstances, {}, { clusterRef: {} }],
    ['no place for an empty one', virtualClusterInstances, { clusterRef: {} }, {}],
    ['an empty Secret for none', virtualClusterInstances, {}, { kubeConfigSecretRef: {} }],
    ['no Secret for an empty one', virtualClusterInstances, { kubeConfigSecretRef: {} }, {}],
    ['an empty place for none', spaceInstances, {}, { clusterRef: {} }],
    ['no place for an empty one', spaceInstances, { clusterRef: {} }, {}],
    ['another owner', virtualClusterInstances, { owner: { user: 'a' } }, { owner: { team: 'b' } }],
    [
      'another endpoint',
      clusters,
      { kubeConfigSecretRef: secret },
      { kubeConfigSecretRef: secret, directEndpoint: {} },
    ],
  ])('takes %s ($plural)', async (_, resource, before, after) => {
    const stored = await world.store(resource, manifestOf(resource, before));
    const update = world.admin.replace(resource, keyOf(stored), { ...stored, spec: after });
    expect(await refusalOf(update)).toBe('accepted');
  });

  it.each([{ user: 'a' }, { team: 'a', scope: {} }, { subject: 'a', scope: {} }])(
    'never loses its identity %j to an update without spec',
    async (spec) => {
      const stored = await world.store(ownedAccessKeys, manifestOf(ownedAccessKeys, spec));
      const { spec: _, ...withoutSpec } = stored;
      const answer = await refusalOf(world.admin.replace(ownedAccessKeys, keyOf(stored), withoutSpec));
      // The admission policies give the identity back, and then the scope is missing.
      expect([identity, 'scope' in spec ? 'spec.scope is missing' : 'accepted']).toContain(
        answer.replace(/^spec\.scope: Required value: .*$/, 'spec.scope is missing'),
      );
      const { spec: after } = await world.admin.get<typeof stored>(ownedAccessKeys, keyOf(stored));
      expect(after).toEqual(spec);
    },
  );
});
