import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { clusterRoleBindings, configMaps, roleBindings } from '../../../api/resources.ts';
import { objectPath } from '../../../kube/resource-path.ts';
import { isUntrustedList, isUntrustedObject } from './untrusted-object.ts';

const meta = (parts: object) => ({ metadata: { name: 'a', ...parts } });
const everywhere = { limit: undefined };

describe('an object of an untrusted API server', () => {
  it.each([
    {},
    { name: 'system:node:a b' },
    { name: 'a'.repeat(300_000) },
    { name: 'a\n\0\u007f\u202eb' },
    { name: 'größe 😀 ?#\\' },
    { name: '...' },
    { name: ' ' },
    { generateName: 'x'.repeat(300_000) },
    { uid: 'x'.repeat(9_000), resourceVersion: 'x'.repeat(9_000) },
    { namespace: '' },
    { uid: 'u', resourceVersion: '5', generation: 2, creationTimestamp: null, deletionTimestamp: 't' },
    { finalizers: ['a/b'], labels: { a: 'b' }, annotations: {}, ownerReferences: [{}] },
    { managedFields: 'whatever' },
  ])('is one: %j', (parts) => {
    expect(isUntrustedObject(meta(parts), clusterRoleBindings)).toBe(true);
  });

  it.each([
    { name: undefined },
    { name: '' },
    { name: '.' },
    { name: '..' },
    { name: '../a' },
    { name: 'a/b' },
    { name: 'a%2f' },
    { name: 'a\ud800' },
    { name: ['a'] },
    { namespace: 'ns' },
    { namespace: {} },
    { uid: 5 },
    { uid: null },
    { resourceVersion: {} },
    { generateName: 5 },
    { generation: '2' },
    { creationTimestamp: 5 },
    { deletionTimestamp: {} },
    { finalizers: null },
    { finalizers: {} },
    { finalizers: [null] },
    { labels: null },
    { labels: ['a'] },
    { labels: { a: 1 } },
    { annotations: { a: { b: 'c' } } },
    { ownerReferences: [null] },
  ])('is none: %j', (parts) => {
    expect(isUntrustedObject(meta(parts), clusterRoleBindings)).toBe(false);
  });

  it.each([undefined, '', 'a/b', 5])('is none without the namespace that it needs: %j', (namespace) => {
    expect(isUntrustedObject(meta({ namespace }), configMaps)).toBe(false);
    expect(isUntrustedObject(meta({ namespace: 'ns' }), configMaps)).toBe(true);
  });

  it.each([null, 5, [], {}, { metadata: null }, { metadata: [] }])('is none: %j', (value) => {
    expect(isUntrustedObject(value, clusterRoleBindings)).toBe(false);
  });
});

describe('a list of an untrusted API server', () => {
  const isList = (value: unknown, limit?: number) => isUntrustedList(value, clusterRoleBindings, { limit });

  it('has objects, and a page marker that is text', () => {
    expect(isUntrustedList({ metadata: {}, items: [] }, clusterRoleBindings, everywhere)).toBe(true);
    expect(isList({ metadata: { continue: 'next', resourceVersion: '1' }, items: [meta({})] }, 1)).toBe(true);
    expect(isList({ metadata: { continue: 'a\n%/&'.repeat(200_000) }, items: [] })).toBe(true);
  });

  it.each<[string, unknown]>([
    ['more objects than asked for', { metadata: {}, items: [meta({}), meta({})] }],
    ['a page marker that is no text', { metadata: { continue: { toString: 1 } }, items: [] }],
    ['a version that is no text', { metadata: { resourceVersion: 5 }, items: [] }],
    ['no metadata', { items: [] }],
    ['no items', { metadata: {} }],
    ['an object that is none', { metadata: {}, items: [{}] }],
    ['nothing', null],
  ])('is none with %s', (_, value) => {
    expect(isList(value, 1)).toBe(false);
  });
});

describe('a name', () => {
  /** As `ValidatePathSegmentName` of Kubernetes has it; and an object has a name. */
  const isTaken = (name: string): boolean =>
    !['', '.', '..'].includes(name) && !name.includes('/') && !name.includes('%');
  const someText = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 300 }),
    fc.string({
      unit: fc.constantFrom('.', '/', '%', '2', 'f', ' ', '\n', '\0', '\u007f', '\ufffd', ':'),
      maxLength: 4,
    }),
    fc.nat({ max: 5_000 }).map((length) => 'x'.repeat(length)),
  );

  it('is judged as an API server judges it, and comes back from the path that is made of it', () => {
    fc.assert(
      fc.property(someText, (name) => {
        const object = JSON.parse(JSON.stringify({ metadata: { name, namespace: 'ns' } }));
        expect(isUntrustedObject(object, roleBindings)).toBe(isTaken(name));
        if (!isTaken(name)) {
          expect(() => objectPath(roleBindings, object.metadata)).toThrow();
          return;
        }
        const segments = objectPath(roleBindings, object.metadata).split('/');
        expect(decodeURIComponent(segments.at(-1) ?? '')).toBe(name);
        expect(segments).toHaveLength(8);
      }),
      { numRuns: 2_000 },
    );
  });
});
