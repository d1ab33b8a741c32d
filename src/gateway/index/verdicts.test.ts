import { describe, expect, it } from 'vitest';
import {
  type CredentialObject,
  type CredentialParts,
  confirmed,
  created,
  credentialObject,
  plainKeyOf,
  recordOf,
  uidOf,
} from '../../../test/builders/credential-object.ts';
import { formatInstant } from '../../api/instant.ts';
import { credentialHash } from '../../credentials/keys/credential-hash.ts';
import { toLiveRecord } from '../../credentials/live-record.ts';
import type { LiveRecord } from '../../credentials/record.ts';
import type { KubeObject } from '../../kube/object.ts';
import { Locks } from '../../platform/locks.ts';
import { toInstanceRecord } from '../../platform/targets/target-record.ts';
import { CredentialRecords, hashesOf } from './credential-records.ts';
import { TargetRecords } from './target-records.ts';
import { Verdicts } from './verdicts.ts';

/** The index as informers would fill it. */
function start() {
  const records = new CredentialRecords();
  const targets = new TargetRecords('p-');
  const { instances } = targets;
  const dropped: string[] = [];
  let now = created;
  const verdicts = new Verdicts({
    records,
    targets,
    now: () => now,
    locks: new Locks(),
    activityInterval: 60_000,
    projectNamespacePrefix: 'p-',
    onDropped: (hash) => void dropped.push(hash),
  });
  const put = (object: CredentialObject) => {
    const record = toLiveRecord(object, object.kind);
    records.ofKind[object.kind].upsert(record);
    return record.status.credentialHash ?? record.specKey?.hash ?? '';
  };
  const isGood = (hash: string) => {
    const found = verdicts.find(hash);
    return found === undefined ? 'Unknown' : 'record' in found || found.reason;
  };
  const instance = (changes: object = {}) =>
    instances.upsert(
      toInstanceRecord({
        apiVersion: 'v1',
        kind: 'VirtualClusterInstance',
        metadata: { name: 'shop', namespace: 'p-one', uid: 'u1', resourceVersion: '1', ...changes },
      } as never),
    );
  const at = (ms: number) => {
    now = created + ms;
  };
  return { records, instances, verdicts, dropped, put, isGood, instance, at };
}

const key = (parts: CredentialParts = {}) => confirmed(credentialObject(parts));
const changed = (object: CredentialObject, parts: Partial<CredentialObject>): CredentialObject => ({
  ...object,
  ...parts,
  metadata: { ...object.metadata, resourceVersion: `${Math.random()}`, ...parts.metadata },
});
const hash = credentialHash(plainKeyOf('ci'));

describe('the verdict on a credential', () => {
  it('says who it speaks for and by which scopes, and stays the same object while nothing changes', () => {
    const { verdicts, put } = start();
    put(key({ spec: { user: 'alice', groups: ['dev'], key: plainKeyOf('ci'), scope: {} } }));
    const verdict = verdicts.find(hash);
    expect(verdict).toMatchObject({
      identity: { user: 'alice' },
      gateOwners: ['OwnedAccessKey "ci"'],
      impersonation: [
        'impersonate-user',
        'alice',
        'impersonate-group',
        'dev',
        'impersonate-extra-management.platform.sh%2Faccess-key',
        `ci/${uidOf('ci')}`,
        'impersonate-extra-management.platform.sh%2Faccess-key-limited',
        'true',
      ],
    });
    expect(verdicts.find(hash)).toBe(verdict);
  });

  it('has the gates of the keys above in common with others below them, and no gate of its own with any', () => {
    const { verdicts, put } = start();
    const scope = { projects: [{ project: 'shop' }] };
    const root = key({ name: 'root', spec: { user: 'alice', scope, key: plainKeyOf('root') } });
    put(root);
    const gatesOf = (name: string) => {
      const spec = { accessKey: 'root', scope, key: plainKeyOf(name) };
      const found = verdicts.find(put(confirmed(credentialObject({ name, spec }), [recordOf(root)])));
      return found !== undefined && 'gates' in found ? found.gates : [];
    };
    const [first, second] = [gatesOf('one'), gatesOf('two')];
    expect([first.length, second.length]).toEqual([2, 2]);
    expect(first[1]).toBe(second[1]);
    expect(first[0]).not.toBe(second[0]);
  });

  it.each<[string, (object: CredentialObject) => CredentialObject, string]>([
    ['disabled', (object) => changed(object, { spec: { ...object.spec, disabled: true } }), 'Disabled'],
    [
      'being deleted, with a finalizer',
      (object) =>
        changed(object, { metadata: { deletionTimestamp: formatInstant(created), finalizers: ['a'] } }),
      'Deleting',
    ],
    [
      'changed and not confirmed',
      (object) => changed(object, { spec: { ...object.spec, user: 'bob' } }),
      'Unconfirmed',
    ],
    [
      'one of the control plane, behind the back of all policies',
      (object) => changed(key({ spec: { ...object.spec, user: 'system:admin' } }), {}),
      'IdentityInvalid',
    ],
    [
      'one with the group system:masters, behind the back of all policies',
      (object) => changed(key({ spec: { ...object.spec, groups: ['system:masters'] } }), {}),
      'IdentityInvalid',
    ],
  ])('falls at once when the key is %s', (_, change, reason) => {
    const { put, isGood, dropped } = start();
    const object = key();
    put(object);
    expect(isGood(hash)).toBe(true);
    put(change(object));
    expect(dropped).toEqual([hash]);
    expect(isGood(hash)).toBe(reason);
  });

  it.each([
    ['an empty user', { user: '' }],
    ['a user of spaces', { user: ' ' }],
    ['no user at all', {}],
    ['an empty team', { team: '' }],
    ['an empty subject', { subject: '' }],
    ['a user that is no text', { user: 5 }],
    ['two users', { user: 'alice', team: 'ops' }],
    ['an empty group', { user: 'alice', groups: [''] }],
    ['a line break in its user', { user: 'alice\r\nImpersonate-Group: system:masters' }],
  ])('is none for a key with %s, behind the back of all policies', (_, spec) => {
    const { put, isGood } = start();
    put(key({ spec: { ...spec, key: plainKeyOf('ci') } as never }));
    expect(isGood(hash)).not.toBe(true);
  });

  it('falls when the object is gone', () => {
    const { put, isGood, records } = start();
    put(key());
    expect(isGood(hash)).toBe(true);
    records.ofKind.OwnedAccessKey.remove('ci');
    expect(isGood(hash)).toBe('Unknown');
  });

  it('falls at its end, without any change', () => {
    const { put, isGood, at } = start();
    put(key({ spec: { user: 'alice', key: plainKeyOf('ci'), ttl: 60 } }));
    at(59_999);
    expect(isGood(hash)).toBe(true);
    at(60_000);
    expect(isGood(hash)).toBe('Expired');
  });

  it('falls with an ancestor', () => {
    const { put, isGood, dropped } = start();
    const root = key({ name: 'root' });
    const middle = confirmed(
      credentialObject({ name: 'middle', spec: { accessKey: 'root', key: plainKeyOf('middle') } }),
      [recordOf(root)],
    );
    const leaf = confirmed(credentialObject({ spec: { accessKey: 'middle', key: plainKeyOf('ci') } }), [
      recordOf(middle),
      recordOf(root),
    ]);
    for (const object of [root, middle, leaf]) put(object);
    expect(isGood(hash)).toBe(true);
    put(changed(root, { spec: { ...root.spec, disabled: true } }));
    expect(dropped).toEqual([hash]);
    expect(isGood(hash)).toBe('AccessKeyNotLive');
    put(changed(root, {}));
    expect(isGood(hash)).toBe(true);
  });

  it.each([
    ['no end, scope or parent', { user: 'alice' }, false],
    ['a scope', { user: 'alice', scope: {} }, true],
    ['an end', { user: 'alice', ttl: 86_400 }, true],
    ['an end without use', { user: 'alice', ttl: 86_400, ttlAfterLastActivity: true }, true],
    ['a parent', { accessKey: 'root' }, true],
  ])('tells the target that the credential is limited, or not: %s', (_, own, isLimited) => {
    const { verdicts, put } = start();
    const root = key({ name: 'root', spec: { user: 'alice', key: plainKeyOf('root') } });
    const spec = { key: plainKeyOf('ci'), ...own };
    const ancestors = 'accessKey' in own ? [recordOf(root)] : [];
    for (const object of [root, confirmed(credentialObject({ spec }), ancestors)]) put(object);
    const verdict = verdicts.find(hash);
    if (verdict === undefined || 'reason' in verdict) throw new Error('it is refused');
    expect(verdict.isLimited).toBe(isLimited);
    const limited = verdict.impersonation.filter((text) => text.endsWith('access-key-limited'));
    expect(limited).toHaveLength(isLimited ? 1 : 0);
  });

  it('is none for a key that is only claimed in spec, or by two objects', () => {
    const { put, isGood } = start();
    put(credentialObject());
    expect(isGood(hash)).toBe('Unconfirmed');
    put(changed(key(), {}));
    expect(isGood(hash)).toBe(true);
    put(key({ name: 'other', spec: { user: 'mallory', key: plainKeyOf('ci') } }));
    expect(isGood(hash)).toBe('DuplicateKey');
  });

  it('is given for a predecessor until the overlap ends', () => {
    const { put, isGood, at } = start();
    const previous = {
      credentialHash: credentialHash('before'),
      serial: 1,
      expirationTimestamp: formatInstant(created + 10_000),
    };
    put(key({ status: { serial: 2, previous } }));
    expect(isGood(previous.credentialHash)).toBe(true);
    at(10_000);
    expect(isGood(previous.credentialHash)).toBe('Unconfirmed');
    expect(isGood(hash)).toBe(true);
  });
});

describe('the verdict on a token', () => {
  const token = (spec: object) =>
    confirmed(credentialObject({ kind: 'DirectClusterEndpointToken', spec: { ...spec } }));

  it.each([
    ['no scope', {}],
    ['clusters', { scope: { clusters: [{ cluster: '*' }] } }],
    ['another role', { scope: { roles: [{ role: 'agent' }] } }],
  ])('with %s is that it is not for the gateway', (_, spec) => {
    const { put, isGood } = start();
    expect(isGood(put(token(spec)))).toBe('NotForGateway');
  });

  it.each([[{ scope: { roles: [{ role: 'platform-cli' }] } }], [{ allowPlatformCli: true }]])(
    'for the command line client is good for its reads alone: %j',
    (spec) => {
      const { verdicts, put } = start();
      const verdict = verdicts.find(put(token(spec)));
      expect(verdict).toHaveProperty('gateOwners.0', 'DirectClusterEndpointToken "ci"');
    },
  );
});

describe('the verdict on a kubeconfig', () => {
  const kubeConfig = (parts: CredentialParts = {}) =>
    confirmed(
      credentialObject({
        kind: 'VirtualClusterInstanceKubeConfig',
        spec: { virtualClusterInstance: 'shop' },
        status: { virtualClusterInstanceUID: 'u1' },
        ...parts,
        metadata: { namespace: 'p-one' },
      }),
    );

  it('falls with its instance', () => {
    const { put, isGood, instance, instances, dropped } = start();
    const own = put(kubeConfig());
    expect(isGood(own)).toBe('InstanceGone');
    instance();
    expect(isGood(own)).toBe(true);
    instance({ resourceVersion: '2', deletionTimestamp: formatInstant(created) });
    expect(isGood(own)).toBe('InstanceGone');
    instance({ resourceVersion: '3' });
    expect(isGood(own)).toBe(true);
    instances.remove('p-one/shop');
    expect(isGood(own)).toBe('InstanceGone');
    instance({ resourceVersion: '4', uid: 'u2' });
    expect(isGood(own)).toBe('InstanceGone');
    expect(dropped).toHaveLength(2);
  });

  it.each([
    ['spec', { spec: { virtualClusterInstance: 'shop', clientCert: true } }],
    ['status alone', { status: { auth: 'ClientCertificate' } }],
  ])('is none where it holds a certificate by its %s: the hash of one is no secret', (_, parts) => {
    const readers = new Map<string, (object: KubeObject) => unknown>();
    new CredentialRecords().addTo({ add: (name, { toRecord }) => void readers.set(name, toRecord) });
    const toRecord = readers.get('virtualclusterinstancekubeconfigs');
    const hashesIn = (object: unknown) => hashesOf(toRecord?.(object as never) as LiveRecord);
    expect(hashesIn(kubeConfig())).toHaveLength(1);
    expect(hashesIn(kubeConfig(parts))).toEqual([]);
  });
});

it('an access key is judged by its name, for what is made below it', () => {
  const { put, verdicts, at } = start();
  put(key({ name: 'lasting' }));
  put(key({ name: 'ending', spec: { user: 'alice', ttl: 60, key: plainKeyOf('ending') } }));
  put(credentialObject({ name: 'unconfirmed' }));
  const found = (name: string) => {
    const verdict = verdicts.findKey(name);
    return verdict === undefined ? 'Unknown' : 'record' in verdict ? verdict.record.name : verdict.reason;
  };
  const all = ['lasting', 'ending', 'unconfirmed', 'none'];
  expect(all.map(found)).toEqual(['lasting', 'ending', 'Unconfirmed', 'Unknown']);
  at(60_000);
  expect(all.map(found)).toEqual(['lasting', 'Expired', 'Unconfirmed', 'Unknown']);
  expect(verdicts.size).toBe(0);
});
