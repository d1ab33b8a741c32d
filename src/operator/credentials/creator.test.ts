import { describe, expect, it } from 'vitest';
import { credentialObject, liveRecord, recordOf, uidOf } from '../../../test/builders/credential-object.ts';
import { annotations } from '../../api/names.ts';
import type { CredentialKind, CredentialRecord } from '../../credentials/record.ts';
import { creatorOf, creatorProblem } from './creator.ts';

const wide = liveRecord({ name: 'wide' });
const short = liveRecord({ name: 'short', spec: { user: 'alice', ttl: 900 } });
const idle = liveRecord({
  name: 'idle',
  spec: { user: 'alice', ttl: 900, ttlAfterLastActivity: true },
});
const bounded = liveRecord({ name: 'bounded' });
const ofSite = { ...bounded, status: { ...bounded.status, confirmedTTL: 900 } };
const scoped = liveRecord({
  name: 'scoped',
  spec: { user: 'alice', scope: { roles: [{ role: 'platform-cli' }] } },
});
const closed = liveRecord({ name: 'closed', spec: { user: 'alice', scope: {} } });
const below = liveRecord({ name: 'below', spec: { accessKey: 'scoped' } }, [scoped]);
const belowWide = liveRecord({ name: 'below-wide', spec: { accessKey: 'wide' } }, [wide]);
const orphan = liveRecord({ name: 'orphan', spec: { accessKey: 'gone' } }, [liveRecord({ name: 'gone' })]);
const ruled = liveRecord({ name: 'ruled', spec: { user: 'alice', rules: [{ verbs: ['get'] }] } });
const token = liveRecord({ kind: 'DirectClusterEndpointToken', name: 'token' });
const kubeConfig = liveRecord({ kind: 'VirtualClusterInstanceKubeConfig', name: 'kubeconfig' });
const beyond = { [annotations.changedBeyondLimits]: 'scoped/1' };
const lifted = liveRecord({ name: 'lifted', annotations: beyond });
const belowLifted = liveRecord({ name: 'below-lifted', spec: { accessKey: 'lifted' } }, [lifted]);
const all = [
  short,
  idle,
  ofSite,
  lifted,
  belowLifted,
  wide,
  scoped,
  closed,
  below,
  belowWide,
  orphan,
  ruled,
  token,
  kubeConfig,
];

const kinds = [
  'OwnedAccessKey',
  'DirectClusterEndpointToken',
  'VirtualClusterInstanceKubeConfig',
] as const satisfies readonly CredentialKind[];

const createdWith = (creator: string, accessKey?: string, kind: CredentialKind = 'OwnedAccessKey') =>
  recordOf(
    credentialObject({
      kind,
      name: 'made',
      annotations: { [annotations.createdWith]: creator },
      spec: accessKey === undefined ? (kind === 'OwnedAccessKey' ? { user: 'alice' } : {}) : { accessKey },
    }),
  );
const inputOf = (record: CredentialRecord) => ({
  record,
  lookup: (name: string) => all.find((other) => other.kind === 'OwnedAccessKey' && other.name === name),
  credentialByUID: (uid: string) => all.find((other) => other.uid === uid),
});
const reasonFor = (record: CredentialRecord): string | undefined => creatorProblem(inputOf(record))?.reason;
const stamp = ({ name, uid }: CredentialRecord): string => `${name}/${uid}`;

describe('the credential that an object was created with', () => {
  it('is none when the request came without one', () => {
    expect(creatorOf(inputOf(wide))).toEqual({ kind: 'none' });
  });

  it.each([
    ['limited and scoped by itself', scoped, true, true],
    ['limited and scoped, and lets nothing through', closed, true, true],
    ['limited and scoped by its deprecated rules', ruled, true, true],
    ['limited and scoped by the key above it', below, true, true],
    ['limited and scoped, as a kubeconfig is good for one instance', kubeConfig, true, true],
    ['free', wide, false, false],
    ['limited by its end', short, true, false],
    ['limited by its end without use', idle, true, false],
    ['limited by the end that the site gave it', ofSite, true, false],
    ['limited by the key above it', belowWide, true, false],
    ['limited by its end, as a token', token, true, false],
  ])('is %s', (_, credential, limited, scoped) => {
    expect(creatorOf(inputOf(createdWith(stamp(credential))))).toEqual({
      kind: 'known',
      credential,
      limited,
      scoped,
    });
  });

  it.each([
    ['no one knows its UID', `scoped/${uidOf('another')}`, 'gone'],
    ['its UID belongs to another name', `wide/${scoped.uid}`, 'gone'],
    ['it has no UID', 'scoped', 'gone'],
    ['the key above it is gone', stamp(orphan), 'broken'],
    ['a limited credential took its scope off', stamp(lifted), 'broken'],
    ['a limited credential took the scope off the key above it', stamp(belowLifted), 'broken'],
  ])('is not trusted when %s', (_, creator, kind) => {
    expect(creatorOf(inputOf(createdWith(creator)))).toEqual({ kind });
  });
});

describe.each(kinds)('a new %s', (kind) => {
  const problem = (creator: CredentialRecord, accessKey?: string) =>
    reasonFor(createdWith(stamp(creator), accessKey, kind));

  it.each([
    ['speaks for the requester', undefined],
    ['is below another key', 'wide'],
    ['is below the key above it', 'scoped'],
  ])('created with a credential below a scoped one is refused when it %s', (_, accessKey) => {
    expect(problem(below, accessKey)).toBe('AccessKeyRequired');
  });

  it.each([
    ['speaks for the requester', undefined],
    ['is below another key', 'wide'],
    ['is below a child of it', 'below'],
  ])('created with a scoped key is refused when it %s', (_, accessKey) => {
    expect(problem(scoped, accessKey)).toBe('AccessKeyRequired');
  });

  it('created with a scoped key may be below that key', () => {
    expect(problem(scoped, 'scoped')).toBeUndefined();
    expect(problem(below, 'below')).toBeUndefined();
  });

  it('created with a kubeconfig of the name of a key is not below it', () => {
    const namesake = { ...kubeConfig, name: 'wide' };
    const record = createdWith(stamp(namesake), 'wide', kind);
    const input = { ...inputOf(record), credentialByUID: () => namesake };
    expect(creatorProblem(input)?.reason).toBe('AccessKeyRequired');
  });

  it.each([short, idle, ofSite, belowWide])('created with $name is below it, or refused', (creator) => {
    expect(problem(creator)).toBe('AccessKeyRequired');
    expect(problem(creator, 'wide')).toBe('AccessKeyRequired');
    expect(problem(creator, creator.name)).toBeUndefined();
  });

  it('created with a credential without end, scope and parent may be anything', () => {
    for (const accessKey of [undefined, 'wide', 'scoped']) expect(problem(wide, accessKey)).toBeUndefined();
  });

  it.each([
    ['is gone', `gone/${uidOf('gone')}`],
    ['was replaced by another of its name', `scoped/${uidOf('scoped before')}`],
    ['has lost the key above it', stamp(orphan)],
  ])('is refused when what it was created with %s, even below that key', (_, creator) => {
    expect(reasonFor(createdWith(creator, undefined, kind))).toBe('RequesterUnknown');
    expect(reasonFor(createdWith(creator, 'scoped', kind))).toBe('RequesterUnknown');
  });

  it('that was issued once goes on without what it was created with', () => {
    const metadata = { annotations: { [annotations.createdWith]: `gone/${uidOf('gone')}` } };
    expect(reasonFor(liveRecord({ kind, name: 'made', metadata }))).toBeUndefined();
  });
});

describe('an access key', () => {
  it('that was issued once and refused since is not judged again', () => {
    const record = createdWith(`gone/${uidOf('gone')}`);
    expect(reasonFor({ ...record, status: { serial: 3 } })).toBeUndefined();
  });
});

describe('a kubeconfig with a client certificate', () => {
  it('is left to the rules for certificates', () => {
    const record = createdWith(stamp(scoped), undefined, 'VirtualClusterInstanceKubeConfig');
    const kubeConfigSpec = { instance: 'made', clientCert: true };
    expect(reasonFor({ ...record, kubeConfig: kubeConfigSpec })).toBeUndefined();
  });
});
