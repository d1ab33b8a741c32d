import { describe, expect, it } from 'vitest';
import { verdictFor } from '../../../../test/builders/gateway-stage.ts';
import { Refusal } from '../shared/reply.ts';
import { refuseNewSecret } from './checks.ts';

const limited = verdictFor({ rules: [{}] });
const withRef = (secretRef: unknown) => ({ spec: { secretRef } });
const stored = { namespace: 'default', name: 'a', key: 'key' };

describe('a reference to a Secret from a credential with a scope', () => {
  it.each([
    ['new', stored, undefined],
    ['with another name', { ...stored, name: 'b' }, stored],
    ['with another entry', { ...stored, key: 'b' }, stored],
    ['without the entry', { namespace: 'default', name: 'a' }, stored],
    ['of no use', ['a'], stored],
  ])('is refused: %s', (_, sent, present) => {
    expect(() => refuseNewSecret(limited, withRef(sent), withRef(present))).toThrow(Refusal);
    expect(() => refuseNewSecret(limited, withRef(sent))).toThrow(Refusal);
  });

  it.each([
    ['as it is', { key: 'key', name: 'a', namespace: 'default' }],
    ['left out', undefined],
    ['null', null],
  ])('stays: %s', (_, sent) => {
    expect(() => refuseNewSecret(limited, withRef(sent), withRef(stored))).not.toThrow();
  });
});

it('a credential without a scope names any Secret', () => {
  expect(() => refuseNewSecret(verdictFor(), withRef(stored))).not.toThrow();
});
