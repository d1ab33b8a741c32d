import { describe, expect, it } from 'vitest';
import { liveRecord } from '../../../../test/builders/credential-object.ts';
import { Refusal } from '../shared/reply.ts';
import { refuseBeyondLimits } from './checks.ts';

const self = liveRecord({ name: 'self' });
const itself = { metadata: { uid: self.uid }, spec: { ttl: 900, disabled: true } };
const childOf = (accessKey: string, status = {}) => ({ metadata: { uid: 'c' }, spec: { accessKey }, status });
const other = { metadata: { uid: 'o' }, spec: { ttl: 900 } };
const longer = { ttl: 31_536_000 };

describe('a limited credential', () => {
  it.each([
    ['a text of itself', itself, { displayName: 'a' }, true],
    ['the end of itself', itself, longer, false],
    ['its own scope', itself, { scope: {} }, false],
    ['the end of its use', { ...itself, spec: { ttl: 900 } }, { disabled: true }, true],
    ['its return', itself, { disabled: false }, false],
    ['a child', childOf('self'), longer, true],
    ['a child that is confirmed', childOf('self', { accessKeyUID: self.uid }), longer, true],
    ['a child of its former namesake', childOf('self', { accessKeyUID: 'x' }), longer, false],
    ['a child of a child', childOf('child'), longer, false],
    ['another one of its user', other, longer, false],
    ['a text of another one', other, { displayName: 'a' }, false],
    ['the end of use of another one', other, { disabled: true }, false],
  ])('changes %s: %j with %j: %s', (_, stored, spec, isAllowed) => {
    const change = { kind: self.kind, stored, result: { ...stored, spec: { ...stored.spec, ...spec } } };
    const attempt = () => refuseBeyondLimits({ record: self, isLimited: true }, change);
    if (isAllowed) expect(attempt).not.toThrow();
    else expect(attempt).toThrow(Refusal);
    expect(() => refuseBeyondLimits({ record: self, isLimited: false }, change)).not.toThrow();
  });

  it('that is a token has no child of the name of a key', () => {
    const token = liveRecord({ kind: 'DirectClusterEndpointToken', name: 'self' });
    const stored = childOf('self');
    const attempt = () =>
      refuseBeyondLimits({ record: token, isLimited: true }, { kind: self.kind, stored, result: stored });
    expect(attempt).toThrow(Refusal);
  });
});
