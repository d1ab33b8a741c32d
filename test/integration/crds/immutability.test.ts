import { describe, expect, it } from 'vitest';
import { manifestOf } from '../../../lab/operator/manifest.ts';
import {
  clusters,
  virtualClusterInstances as instances,
  ownedAccessKeys as keys,
  virtualClusterInstanceKubeConfigs as kubeConfigs,
  type Resource,
  spaceInstances as spaces,
  directClusterEndpointTokens as tokens,
} from '../../../src/api/resources.ts';
import { crdWorld, keyOf, refusalOf } from './world.ts';

const world = await crdWorld();

const fixed = (field: string, kind: string, how: string): string =>
  `spec.${field}: Invalid value: spec.${field} cannot change; delete the ${kind} and create one ${how}`;
const identity =
  'spec: Invalid value: spec.user, spec.team and spec.subject cannot change; delete the key and create one for the other identity';
const parentOf = (kind: string): string => fixed('accessKey', kind, 'under the other parent');
const instance = fixed('virtualClusterInstance', 'kubeconfig', 'for the other instance');
const sort = fixed('clientCert', 'kubeconfig', 'of the other sort');
const placeOf = (kind: string): string => fixed('clusterRef', kind, 'that refers to the other place');
const secretOf = (kind: string): string =>
  fixed('kubeConfigSecretRef', kind, 'that refers to the other Secret');
const server = fixed('server', 'instance', 'with the other server');

const place = { cluster: 'c', namespace: 'n' };
const secret = { namespace: 'n', name: 's' };
const otherSecret = { ...secret, key: 'value' };
const refTo = (kubeConfigSecretRef: object) => ({ kubeConfigSecretRef });
const inVirtual = { clusterRef: { ...place, virtualCluster: 'v' } };
const others = { user: 'a', ttl: 60, groups: ['g'], scope: {}, disabled: true };
const subject = { subject: 'a', scope: {} };
const viewed = { server: 'https://a', access: { clusterRole: 'view' } };
const direct = { ...refTo(secret), directEndpoint: {} };

describe('a stored object', () => {
  it.each<[string, Resource, object, object | undefined, string]>([
    ['another user', keys, { user: 'a' }, { user: 'b' }, identity],
    ['a team for a user', keys, { user: 'a' }, { team: 'a' }, identity],
    ['a subject for a team', keys, { team: 'a', scope: {} }, subject, identity],
    ['a second identity', keys, { user: 'a' }, { user: 'a', team: 'b' }, identity],
    ['an identity after all', keys, { accessKey: 'p' }, { accessKey: 'p', user: 'a' }, identity],
    ['another parent', keys, { accessKey: 'p' }, { accessKey: 'q' }, parentOf('key')],
    ['a parent after all', keys, { user: 'a' }, { user: 'a', accessKey: 'p' }, parentOf('key')],
    ['no parent', keys, { accessKey: 'p' }, { disabled: true }, parentOf('key')],
    ['no spec, so no parent', keys, { accessKey: 'p' }, undefined, parentOf('key')],
    ['another parent', tokens, { accessKey: 'p' }, { accessKey: 'q' }, parentOf('token')],
    ['a parent after all', tokens, {}, { accessKey: 'q' }, parentOf('token')],
    ['no spec, so no parent', tokens, { accessKey: 'p' }, undefined, parentOf('token')],
    ['another parent', kubeConfigs, { accessKey: 'p' }, { accessKey: 'q' }, parentOf('kubeconfig')],
    [
      'another instance',
      kubeConfigs,
      { virtualClusterInstance: 'a' },
      { virtualClusterInstance: 'b' },
      instance,
    ],
    ['an instance after all', kubeConfigs, {}, { virtualClusterInstance: 'b' }, instance],
    ['a certificate after all', kubeConfigs, {}, { clientCert: true }, sort],
    ['no certificate', kubeConfigs, { clientCert: true }, { clientCert: false }, sort],
    ['no spec, so no certificate', kubeConfigs, { clientCert: true }, undefined, sort],
    ['another place', instances, { clusterRef: place }, inVirtual, placeOf('instance')],
    ['a place after all', instances, {}, { clusterRef: place }, placeOf('instance')],
    ['no spec, so no place', instances, { clusterRef: place }, undefined, placeOf('instance')],
    ['another Secret', instances, refTo({ name: 'a' }), refTo({ name: 'b' }), secretOf('instance')],
    ['a Secret after all', instances, {}, refTo({ name: 'b' }), secretOf('instance')],
    ['another server', instances, { server: 'https://a' }, { server: 'https://a.example' }, server],
    ['a server after all', instances, {}, { server: 'https://a' }, server],
    ['no server', instances, { server: 'https://a' }, { displayName: 'x' }, server],
    ['no spec, so no server', instances, { server: 'https://a' }, undefined, server],
    ['another place', spaces, { clusterRef: place }, { clusterRef: {} }, placeOf('space')],
    ['a place in an empty one', spaces, { clusterRef: {} }, { clusterRef: place }, placeOf('space')],
    [
      'a place in an empty one',
      instances,
      { clusterRef: {} },
      { clusterRef: { virtualCluster: 'v' } },
      placeOf('instance'),
    ],
    ['a Secret in an empty reference', instances, refTo({}), refTo({ key: 'value' }), secretOf('instance')],
    ['no spec, so no place', spaces, { clusterRef: place }, undefined, placeOf('space')],
    ['another Secret', clusters, refTo(secret), refTo(otherSecret), secretOf('Cluster')],
    ['no spec, so no Secret', clusters, refTo(secret), undefined, secretOf('Cluster')],
  ])('does not take %s ($plural)', async (...[, resource, before, after, message]) => {
    const stored = await world.store(resource, manifestOf(resource, before));
    const update = world.admin.replace(resource, keyOf(stored), { ...stored, spec: after });
    expect(await refusalOf(update)).toBe(message);
  });

  it.each<[string, Resource, object, object]>([
    ['an empty name for none', keys, { user: 'a' }, { user: 'a', team: '' }],
    ['everything else of a key', keys, { user: 'a' }, others],
    ['false for no certificate', kubeConfigs, {}, { clientCert: false, certificateTTL: 90 }],
    ['another name', instances, { clusterRef: place }, { clusterRef: place, displayName: 'x' }],
    ['everything else beside a server', instances, { server: 'https://a' }, viewed],
    ['an empty server for none', instances, {}, { server: '' }],
    // A generator or a form writes an empty reference for none, and another one leaves it out.
    ['an empty place for none', instances, {}, { clusterRef: {} }],
    ['no place for an empty one', instances, { clusterRef: {} }, {}],
    ['an empty Secret for none', instances, {}, refTo({})],
    ['no Secret for an empty one', instances, refTo({}), {}],
    ['an empty place for none', spaces, {}, { clusterRef: {} }],
    ['no place for an empty one', spaces, { clusterRef: {} }, {}],
    ['another owner', instances, { owner: { user: 'a' } }, { owner: { team: 'b' } }],
    ['another endpoint', clusters, refTo(secret), direct],
  ])('takes %s ($plural)', async (_, resource, before, after) => {
    const stored = await world.store(resource, manifestOf(resource, before));
    const update = world.admin.replace(resource, keyOf(stored), { ...stored, spec: after });
    expect(await refusalOf(update)).toBe('accepted');
  });

  it.each([{ user: 'a' }, { team: 'a', scope: {} }, { subject: 'a', scope: {} }])(
    'never loses its identity %j to an update without spec',
    async (spec) => {
      const stored = await world.store(keys, manifestOf(keys, spec));
      const { spec: _, ...withoutSpec } = stored;
      const answer = await refusalOf(world.admin.replace(keys, keyOf(stored), withoutSpec));
      // The admission policies give the identity back, and then the scope is missing.
      expect([identity, 'scope' in spec ? 'spec.scope is missing' : 'accepted']).toContain(
        answer.replace(/^spec\.scope: Required value: .*$/, 'spec.scope is missing'),
      );
      const { spec: after } = await world.admin.get<typeof stored>(keys, keyOf(stored));
      expect(after).toEqual(spec);
    },
  );
});
