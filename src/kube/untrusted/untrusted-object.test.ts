import { describe, expect, it } from 'vitest';
import { clusterRoleBindings, configMaps } from '../../api/resources.ts';
import { isUntrustedList, isUntrustedObject } from './untrusted-object.ts';

const meta = (parts: object) => ({ metadata: { name: 'a', ...parts } });
const everywhere = { limit: undefined };

describe('an object of an untrusted API server', () => {
  it.each([
    {},
    { name: 'system:node:a b' },
    { name: 'a'.repeat(253) },
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
    { name: 'a\n' },
    { name: 'a\ud800' },
    { name: 'a'.repeat(254) },
    { name: ['a'] },
    { namespace: 'ns' },
    { namespace: {} },
    { uid: 5 },
    { uid: null },
    { resourceVersion: 'x'.repeat(8_193) },
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
  });

  it.each<[string, unknown]>([
    ['more objects than asked for', { metadata: {}, items: [meta({}), meta({})] }],
    ['a page marker that is no text', { metadata: { continue: { toString: 1 } }, items: [] }],
    ['a page marker without end', { metadata: { continue: 'x'.repeat(8_193) }, items: [] }],
    ['a version that is no text', { metadata: { resourceVersion: 5 }, items: [] }],
    ['no metadata', { items: [] }],
    ['no items', { metadata: {} }],
    ['an object that is none', { metadata: {}, items: [{}] }],
    ['nothing', null],
  ])('is none with %s', (_, value) => {
    expect(isList(value, 1)).toBe(false);
  });
});
