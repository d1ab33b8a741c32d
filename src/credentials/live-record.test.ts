import { describe, expect, it } from 'vitest';
import {
  type CredentialParts,
  confirmed,
  created,
  credentialObject,
  recordOf,
} from '../../test/builders/credential-object.ts';
import { annotations } from '../api/names.ts';
import { toCredentialRecord } from './credential-record.ts';
import { toLiveRecord } from './live-record.ts';
import { isLive } from './liveness.ts';
import type { CredentialRecord, LiveRecord } from './record.ts';

const options = { activityInterval: 60_000 };
const scope = { clusters: [{ cluster: 'east' }] };
const parent = confirmed(credentialObject({ name: 'root' }));
const child = { accessKey: 'root' };

const cases: readonly (readonly [string, CredentialParts])[] = [
  ['a key', { spec: { user: 'alice', key: 'example-plain-key', scope } }],
  ['a key that is disabled', { spec: { user: 'alice', key: 'example-plain-key-of-ci', disabled: true } }],
  ['a key in a Secret', { spec: { user: 'alice', secretRef: { namespace: 'n', name: 's' } } }],
  ['a key below another', { spec: { ...child, key: 'example-plain-key-of-ci' } }],
  ['a key with a life', { spec: { user: 'alice', key: 'example-plain-key-of-ci', ttl: 60 } }],
  [
    'an idle key',
    { spec: { user: 'a', key: 'example-plain-key-of-ci', ttl: 60, ttlAfterLastActivity: true } },
  ],
  ['a key of a refused user', { spec: { user: 'system:admin', key: 'example-plain-key-of-ci' } }],
  ['a key with a stamp that says nothing', { annotations: { 'management.platform.sh/created-with': '?' } }],
  ['a key changed beyond limits', { annotations: { 'management.platform.sh/changed-beyond-limits': 'a/1' } }],
  [
    'a key changed by a stranger',
    { annotations: { [annotations.changedBy]: 'mallory', [annotations.changedByGroups]: '[]' } },
  ],
  ['a token', { kind: 'DirectClusterEndpointToken', spec: { scope } }],
  ['a token below a key', { kind: 'DirectClusterEndpointToken', spec: child }],
  ['a token with another chain', { kind: 'DirectClusterEndpointToken', spec: child, status: { chain: 'x' } }],
  ['a kubeconfig', { kind: 'VirtualClusterInstanceKubeConfig', metadata: { namespace: 'p-one' } }],
];

const verdict = <R extends LiveRecord>(record: R, ancestor: R, now: number) =>
  isLive(record, (name) => (name === 'root' ? ancestor : undefined), now, options);

describe('toLiveRecord', () => {
  it.each(cases)('%s is judged like the whole record', (_, parts) => {
    const object = confirmed(credentialObject(parts), parts.spec?.['accessKey'] ? [recordOf(parent)] : []);
    for (const now of [created, created + 119_999, created + 120_000, created + 90_000_000]) {
      const whole = verdict<CredentialRecord>(recordOf(object), recordOf(parent), now);
      const live = verdict(toLiveRecord(object, object.kind), toLiveRecord(parent, parent.kind), now);
      const withoutAncestors = { ...whole, ...('ancestors' in whole && { ancestors: expect.anything() }) };
      expect(live).toEqual(withoutAncestors);
    }
  });

  it.each(cases)('of %s holds nothing that the whole record does not say', (_, parts) => {
    const object = confirmed(credentialObject(parts));
    const { status, secretRef: _keysOnly, ...live } = toLiveRecord(object, object.kind);
    expect(recordOf(object)).toMatchObject(JSON.parse(JSON.stringify(live)));
    expect(recordOf(object).status).toMatchObject(JSON.parse(JSON.stringify(status)));
  });

  it('holds equal scopes and identities once', () => {
    const [one, other] = ['one', 'other'].map((name) =>
      toLiveRecord(
        credentialObject({ name, spec: { user: 'alice', groups: ['dev'], scope } }),
        'OwnedAccessKey',
      ),
    );
    expect(one?.scope).toBe(other?.scope);
    expect(one?.identity).toBe(other?.identity);
    expect(one?.requester).toBe(other?.requester);
  });
});

describe('the size of an object', () => {
  const third = 333_000;
  const sixth = 166_000;

  it.each<[string, string, boolean]>([
    ['a letter has one byte', 'a'.repeat(990_000), true],
    ['a letter has one byte', 'a'.repeat(1_000_000), false],
    ['a euro sign has three', '€'.repeat(third), true],
    ['a euro sign has three', '€'.repeat(third + 1_000), false],
    ['a smiley has four', '😀'.repeat(249_000), true],
    ['a smiley has four', '😀'.repeat(250_000), false],
    ...['<', '>', '&', '\u2028', '\u2029', '\b', '\f', '\u0001', '\ud800'].flatMap(
      (text): [string, string, boolean][] => [
        [`${JSON.stringify(text)} has six`, text.repeat(sixth), true],
        [`${JSON.stringify(text)} has six`, text.repeat(sixth + 1_000), false],
      ],
    ),
    ['a quotation mark has two', '"'.repeat(499_000), true],
    ['a quotation mark has two', '"'.repeat(500_000), false],
  ])('counts as the API server stores it: %s', (_, text, isWithin) => {
    const { problem } = toLiveRecord(credentialObject({ annotations: { long: text } }), 'OwnedAccessKey');
    expect(problem?.reason).toBe(isWithin ? undefined : 'ObjectTooLarge');
  });

  const names = (bytes: number) => Array.from({ length: bytes / 16 }, () => 'x'.repeat(13));

  it.each<[string, object, boolean]>([
    ['a scope', { scope: { roles: [{ role: 'platform-user', projects: names(60_000) }] } }, true],
    ['a scope', { scope: { roles: [{ role: 'platform-user', projects: names(66_000) }] } }, false],
    ['rules', { rules: [{ verbs: names(66_000) }] }, false],
    ['an exchange', { exchange: { tokens: names(66_000) } }, false],
    [
      'the template of a Secret',
      { secretRef: { name: 'a', template: { entries: { b: names(66_000) } } } },
      false,
    ],
    ['a description', { description: 'x'.repeat(100_000) }, true],
  ])('has a smaller bound for what stays in memory, and then nothing of it does: %s', (_, spec, isWithin) => {
    const record = toCredentialRecord(
      credentialObject({ spec: { user: 'alice', ...spec } }),
      'OwnedAccessKey',
    );
    expect(record.problem?.reason).toBe(isWithin ? undefined : 'ObjectTooLarge');
    expect(JSON.stringify(record).length < 4_000).toBe(!isWithin || !('scope' in spec));
    // Without any scope it would have no limits.
    if (!isWithin) expect(record.scope).toEqual({});
  });

  it.each([annotations.createdWith, annotations.exchangedIssuer, annotations.exchangedSubject])(
    'has a bound for what stays in memory of the annotation %s',
    (name) => {
      const record = (length: number) =>
        toLiveRecord(
          credentialObject({
            annotations: { [annotations.exchangedIssuer]: 'ci', [name]: `a/${'x'.repeat(length)}` },
          }),
          'OwnedAccessKey',
        );
      expect(record(60).problem).toBeUndefined();
      expect(record(2_048).problem).toMatchObject({
        reason: 'ObjectTooLarge',
        message: expect.stringContaining(name),
      });
      expect(JSON.stringify(record(2_048)).length).toBeLessThan(2_000);
    },
  );

  it('is too large where it is nested too deep to be written', () => {
    let deep: unknown = 0;
    for (let level = 0; level < 100_000; level++) deep = [deep];
    const object = credentialObject({ spec: { user: 'alice', deep } });
    expect(toLiveRecord(object, 'OwnedAccessKey').problem?.reason).toBe('ObjectTooLarge');
  });
});
