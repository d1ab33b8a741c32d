import { expect, it } from 'vitest';
import { configMaps, namespaces, ownedAccessKeys } from '../api/resources.ts';
import { collectionPath, objectPath } from './resource-path.ts';

it.each([
  [collectionPath(configMaps), '/api/v1/configmaps'],
  [collectionPath(configMaps, 'ns'), '/api/v1/namespaces/ns/configmaps'],
  [collectionPath(ownedAccessKeys), '/apis/management.platform.sh/v1/ownedaccesskeys'],
  [objectPath(namespaces, { name: 'ns' }), '/api/v1/namespaces/ns'],
  [objectPath(configMaps, { namespace: 'ns', name: 'a' }), '/api/v1/namespaces/ns/configmaps/a'],
  [
    objectPath(ownedAccessKeys, { name: 'a' }, 'status'),
    '/apis/management.platform.sh/v1/ownedaccesskeys/a/status',
  ],
  [objectPath(namespaces, { name: 'a:b?c#d\n' }), '/api/v1/namespaces/a%3Ab%3Fc%23d%0A'],
])('%s', (path, expected) => {
  expect(path).toBe(expected);
});

it('refuses a namespace for objects that have none', () => {
  expect(() => collectionPath(namespaces, 'ns')).toThrow(
    'namespaces are not namespaced: leave out the namespace',
  );
});

it.each([
  '',
  '.',
  '..',
  'CANARY7f3a/status',
  'CANARY7f3a%2f',
  'CANARY7f3a\ud800',
  { CANARY7f3a: 1 },
  5,
  undefined,
])('refuses a name that is none, without repeating it: %j', (name) => {
  expect(() => objectPath(namespaces, { name: name as string })).toThrow(
    /^a name in a path must be a plain name$/,
  );
});
