import { describe, expect, it } from 'vitest';
import { manifestOf } from '../../../lab/operator/manifest.ts';
import { credentialLocks } from '../../../src/api/resources.ts';
import { crdWorld, keyOf, refusalOf, succeed, verdict } from './world.ts';

const world = await crdWorld();
const judge = (spec: unknown): Promise<string> => verdict(world.admin, credentialLocks, spec);
const time = '2026-11-26T18:00:00Z';
const hash = 'ab'.repeat(32);

describe('the selector of a lock', () => {
  it.each<[string, object]>([
    ['a user', { user: 'ada' }],
    ['a team', { user: 'team:shop' }],
    ['a group, older than a time', { group: 'dev', issuedBefore: time }],
    ['a requester of any name', { requester: 'system:serviceaccount:argocd:argocd' }],
    ['a key', { accessKey: { name: 'ci' } }],
    ['a key of a UID', { accessKey: { name: 'ci', uid: 'a-b' } }],
    ['a hash', { credentialHash: hash }],
    ['a hash as in spec.key', { credentialHash: `sha256:${hash}` }],
    ['an issuer', { exchange: { issuer: 'https://a.example' } }],
    [
      'a signing key, with an end and a reason',
      { signingKeyID: 'k1', expirationTimestamp: time, reason: 'INC-1' },
    ],
    ['everything older', { issuedBefore: time }],
  ])('may be %s', async (_, spec) => {
    expect(await judge(spec)).toBe('accepted');
  });

  it.each<[string, unknown, string]>([
    ['nothing', {}, 'set exactly one of spec.user'],
    ['nothing but an end', { expirationTimestamp: time }, 'set exactly one of spec.user'],
    ['two things', { user: 'ada', group: 'dev' }, 'set exactly one of spec.user'],
    [
      'two things and a time',
      { user: 'ada', signingKeyID: 'k', issuedBefore: time },
      'set exactly one of spec.user',
    ],
    ['a user of the control plane', { user: 'system:admin' }, 'no credential speaks for such a user'],
    ['everyone, by a group', { group: 'system:authenticated' }, 'spec.issuedBefore stops all'],
    ['a user with a space', { user: 'ada ' }, 'printable ASCII without a space at either end'],
    ['a user that looks the same', { user: '\u0430da' }, 'printable ASCII without a space at either end'],
    ['an empty user', { user: '' }, 'at least 1 chars long'],
    ['a long user', { user: 'a'.repeat(1_025) }, 'Too long'],
    ['a key without a name', { accessKey: { uid: 'a' } }, 'name: Required value'],
    ['half a hash', { credentialHash: 'ab12' }, 'should match'],
    ['a subject without an issuer', { exchange: { subject: 'a' } }, 'issuer: Required value'],
    ['a time that is none', { issuedBefore: 'yesterday' }, 'must be of type date-time'],
    ['a field of another release', { user: 'ada', role: 'x' }, 'unknown field'],
  ])('may not be %s', async (_, spec, message) => {
    expect(await judge(spec).catch(String)).toContain(message);
  });
});

it('what a lock stops never changes; its reason and its end do', async () => {
  const stored = await world.store(
    credentialLocks,
    manifestOf(credentialLocks, { user: 'ada', issuedBefore: time }),
  );
  const change = (spec: object) =>
    refusalOf(world.admin.mergePatch(credentialLocks, keyOf(stored), { spec }));
  for (const spec of [
    { user: 'bob' },
    { user: null, group: 'dev' },
    { issuedBefore: '2026-11-26T19:00:00Z' },
    { issuedBefore: null },
    { user: null },
    { user: null, accessKey: { name: 'a' } },
  ])
    expect(await change(spec)).toContain('what a lock stops never changes');
  expect(await change({ reason: 'INC-1', expirationTimestamp: time })).toBe('accepted');
  expect(await change({ reason: null, expirationTimestamp: null })).toBe('accepted');
});

it('a new lock waits for the operator, and kubectl shows what it stops', async () => {
  const stored = await world.store(
    credentialLocks,
    manifestOf(credentialLocks, { user: 'ada', reason: 'INC-1' }),
  );
  expect(stored.status).toMatchObject({ observedGeneration: -1, conditions: [{ status: 'Unknown' }] });
  const patch = { status: { stops: 'user ada', stoppedCredentials: 3, state: 'Ready' } };
  await world.operator.mergePatch(credentialLocks, keyOf(stored), patch, { subresource: 'status' });
  const get = async (...flags: string[]) =>
    await succeed(world.plane.kubectl(['get', 'locks', stored.metadata.name, ...flags]));
  expect(await get()).toMatch(/^NAME +STOPS +CREDENTIALS +STATE +UNTIL +AGE\n\S+ +user ada +3 +Ready/);
  expect(await get('-o', 'wide')).toContain('INC-1');
});
