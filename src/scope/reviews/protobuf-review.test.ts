import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeAccessReview } from './protobuf-review.ts';

/** One field of bytes, shorter than 128. */
const field = (number: number, value: Buffer | string): Buffer =>
  Buffer.concat([Buffer.from([(number << 3) | 2, Buffer.byteLength(value)]), Buffer.from(value)]);

const join = (...parts: readonly Buffer[]): Buffer => Buffer.concat(parts);
const apiVersion = field(1, 'authorization.k8s.io/v1');
const type = field(1, join(apiVersion, field(2, 'SelfSubjectAccessReview')));
const around = (...parts: readonly Buffer[]): Buffer => join(Buffer.from('k8s\0'), ...parts);
const ofSpec = (...parts: readonly Buffer[]): Buffer =>
  around(type, field(2, join(field(1, ''), field(2, join(...parts)), field(3, join(field(1, ''))))));

describe('decodeAccessReview', () => {
  it('reads the resource that is asked about', () => {
    const names = ['default', 'get', 'apps', 'v1', 'deployments', 'scale', 'web'];
    const attributes = names.map((name, index) => field(index + 1, name));
    const selectors = [field(8, 'anything'), field(9, '')];
    expect(decodeAccessReview(ofSpec(field(1, join(...attributes, ...selectors))))).toEqual({
      resourceAttributes: {
        namespace: 'default',
        verb: 'get',
        group: 'apps',
        version: 'v1',
        resource: 'deployments',
        subresource: 'scale',
        name: 'web',
      },
    });
  });

  it('reads the path that is asked about', () => {
    expect(decodeAccessReview(ofSpec(field(2, join(field(1, '/metrics'), field(2, 'get')))))).toEqual({
      nonResourceAttributes: { path: '/metrics', verb: 'get' },
    });
  });

  const good = field(1, field(2, 'get'));
  it.each([
    ['no bytes', Buffer.alloc(0)],
    ['half of the magic', Buffer.from('k8s')],
    ['another magic', join(Buffer.from('k8s\x01'), type)],
    ['no type', around(field(2, ''))],
    ['another kind', around(field(1, join(apiVersion, field(2, 'SelfSubjectRulesReview'))))],
    [
      'another version',
      around(field(1, join(field(1, 'authorization.k8s.io/v1beta1'), field(2, 'SelfSubjectAccessReview')))),
    ],
    ['a compressed review', around(type, field(2, ''), field(3, 'gzip'))],
    ['a second type', around(type, type)],
    ['a second review', around(type, field(2, ''), field(2, field(2, good)))],
    ['a second spec', around(type, field(2, join(field(2, good), field(2, good))))],
    ['a second verb', ofSpec(field(1, join(field(2, 'get'), field(2, 'list'))))],
    ['an unknown field', ofSpec(good, field(3, ''))],
    ['field number zero', ofSpec(good, field(0, ''))],
    ['a number for a text', ofSpec(field(1, Buffer.from([0x10, 0x01])))],
    ['a text that is cut off', ofSpec(field(1, Buffer.from([0x12, 0x05, 0x61])))],
    ['a length without an end', ofSpec(Buffer.from([0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]))],
    ['a text that is no UTF-8', ofSpec(field(1, field(2, Buffer.from([0xff]))))],
    ['bytes behind the end', join(ofSpec(good), Buffer.from([0]))],
  ])('refuses %s', (_, bytes) => {
    expect(decodeAccessReview(bytes)).toBeUndefined();
  });

  it('keeps a byte order mark', () => {
    const bytes = ofSpec(field(1, field(7, '\ufeffweb')));
    expect(decodeAccessReview(bytes)).toMatchObject({ resourceAttributes: { name: '\ufeffweb' } });
  });

  it('reads any bytes without an error', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
        decodeAccessReview(around(type, Buffer.from(bytes)));
      }),
    );
  });
});
