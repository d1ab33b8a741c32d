import { describe, expect, it } from 'vitest';
import { credentialObject, recordOf } from '../../../test/builders/credential-object.ts';
import { confirmedGroupsOf } from './lineage.ts';

const many = (count: number, length = 10): readonly string[] =>
  Array.from({ length: count }, (_, index) => String(index).padStart(length, 'g'));

describe('the groups that are confirmed of a token without a key above', () => {
  const token = recordOf(credentialObject({ kind: 'DirectClusterEndpointToken', spec: {} }));
  const of = (groups: readonly string[], record = token) =>
    confirmedGroupsOf(record, { kind: 'requester', user: 'alice', groups });

  it.each([
    ['none', []],
    ['as many as there may be', many(512)],
    ['one as long as there may be', many(1, 1_024)],
  ])('are those of its requester: %s', (_, groups) => {
    expect(of(groups)).toEqual({ confirmedGroups: groups });
  });

  it.each([
    ['too many', many(513)],
    ['one too long', many(1, 1_025)],
    ['too much of them', many(17, 1_000)],
  ])('are left out where the status has no room for them: %s', (_, groups) => {
    expect(of(groups)).toEqual({});
  });

  it('stay as they are while no one can be asked, and are none of a key', () => {
    const status = { confirmedGroups: ['dev'] };
    const known = recordOf(credentialObject({ kind: 'DirectClusterEndpointToken', spec: {}, status }));
    expect(confirmedGroupsOf(known, undefined)).toEqual(status);
    const key = recordOf(credentialObject({ spec: { user: 'alice', groups: ['dev'] } }));
    expect(of(['dev'], key)).toEqual({});
  });
});
