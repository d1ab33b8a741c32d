import { describe, expect, it } from 'vitest';
import {
  type CredentialParts,
  credentialObject,
  recordOf,
} from '../../../test/builders/credential-object.ts';
import { annotations } from '../../api/names.ts';
import type { CredentialRecord } from '../../credentials/record.ts';
import { asksForMoreLife } from './wider-life.ts';

const token = { kind: 'DirectClusterEndpointToken' } as const;
const recordFor = (parts: CredentialParts): CredentialRecord => recordOf(credentialObject(parts));
const key = (spec: object): CredentialParts => ({ spec: { user: 'alice', ...spec } });
const tokenOf = (spec: Record<string, unknown>): CredentialParts => ({ ...token, spec });
const rotated = (value: string, observedRotation?: string): CredentialParts => ({
  annotations: { [annotations.rotate]: value },
  status: { ...(observedRotation !== undefined && { observedRotation }) },
});
const disabledBy = (...managers: readonly string[]): CredentialParts => ({
  ...key({ disabled: true }),
  metadata: {
    managedFields: managers.map((manager) => ({ manager, fieldsV1: { 'f:spec': { 'f:disabled': {} } } })),
  },
});

describe('a change that asks for more life', () => {
  it.each<[string, CredentialParts, CredentialParts]>([
    ['a rotation', {}, rotated('now')],
    ['another rotation', rotated('now', 'now'), rotated('again', 'now')],
    ['a longer ttl', key({ ttl: 60 }), key({ ttl: 61 })],
    ['a ttl of 0, which has no end', key({ ttl: 60 }), key({ ttl: 0 })],
    ['a ttl that is taken away', key({ ttl: 60 }), key({})],
    ['a longer ttl of a token', tokenOf({ ttl: 60 }), tokenOf({ ttl: 0 })],
    ['a life from the last use', key({ ttl: 60 }), key({ ttl: 60, ttlAfterLastActivity: true })],
    ['an earlier renewal', tokenOf({ ttl: 600 }), tokenOf({ ttl: 600, renewBefore: 60 })],
    ['an end to being disabled', disabledBy('kubectl'), key({})],
    ['the look of a key that the operator disabled', disabledBy('kubectl'), disabledBy('latchkey-operator')],
  ])('%s', (_, before, after) => {
    expect(asksForMoreLife(recordFor(before), recordFor(after))).toBe(true);
  });
});

describe('a change that asks for no more', () => {
  it.each<[string, CredentialParts, CredentialParts]>([
    ['a shorter ttl', key({}), key({ ttl: 60 })],
    ['the same life in other words', tokenOf({}), tokenOf({ ttl: 86_400 })],
    ['a life from the creation', key({ ttl: 60, ttlAfterLastActivity: true }), key({ ttl: 60 })],
    ['an emergency stop', key({}), disabledBy('kubectl')],
    ['the end that the operator makes', key({}), disabledBy('latchkey-operator')],
    ['the end that the operator takes back', disabledBy('latchkey-operator'), key({})],
    ['a rotation that is taken away', rotated('now', 'now'), { status: { observedRotation: 'now' } }],
    ['a rotation that is taken back', rotated('now', 'before'), rotated('before', 'before')],
  ])('%s', (_, before, after) => {
    expect(asksForMoreLife(recordFor(before), recordFor(after))).toBe(false);
  });
});
