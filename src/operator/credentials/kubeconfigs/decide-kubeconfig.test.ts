import { describe, expect, it } from 'vitest';
import {
  type CredentialParts,
  confirmed,
  created,
  credentialObject,
  liveRecord,
  recordOf,
  stepOf,
  uidOf,
} from '../../../../test/builders/credential-object.ts';
import { instanceRecord, readyStatus } from '../../../../test/builders/target-record.ts';
import { annotations, finalizers } from '../../../api/names.ts';
import { reasons } from '../../../api/reasons.ts';
import type { CredentialRecord } from '../../../credentials/record.ts';
import { noSitePolicy } from '../../../credentials/site-policy.ts';
import { Locks } from '../../../platform/locks.ts';
import type { VirtualClusterInstanceRecord } from '../../../platform/targets/target-record.ts';
import { lineageOf } from '../lineage.ts';
import { decideKubeConfig } from './decide-kubeconfig.ts';
import { type Destination, type KubeConfigInput, targetHashOf } from './destination.ts';

const kind = 'VirtualClusterInstanceKubeConfig';
const second = 1_000;
const hour = 3_600 * second;
const issuer = 'https://latchkey.example.com';
const ca = '-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n';
const ingress = { accessPoint: { ingress: { enabled: true, host: 'shop.example.com:8443' } } };
const limits = {
  activityInterval: 60_000,
  expiredRetention: hour,
  rotationOverlap: 600_000,
  maxTTL: 31_536_000,
};

const instanceOf = (spec: object = ingress, status = readyStatus('True', 'Connected'), metadata = {}) =>
  instanceRecord({ spec: { ...spec }, status, metadata: { namespace: 'p-red', ...metadata } });
const instance = instanceOf();

const objectOf = (parts: CredentialParts = {}) =>
  credentialObject({
    kind,
    name: 'shop',
    ...parts,
    metadata: {
      namespace: 'p-red',
      finalizers: [finalizers[kind]],
      ...parts.metadata,
    },
  });
const kubeConfig = (parts: CredentialParts = {}): CredentialRecord => recordOf(objectOf(parts));
const withCertificate = (spec: object = {}, parts: CredentialParts = {}): CredentialRecord =>
  kubeConfig({ ...parts, spec: { clientCert: true, ...spec } });

const direct: Destination = { server: 'https://shop.example.com:8443', ca, clusterRole: 'cluster-admin' };
const byGateway: Destination = { server: `${issuer}/kubernetes/project/red/virtualcluster/shop` };

/** One that was issued at `created` with what stands in status. */
function issuedOf(
  parts: CredentialParts = {},
  ancestors: readonly CredentialRecord[] = [],
): CredentialRecord {
  const isDirect = parts.spec?.['clientCert'] === true;
  const object = objectOf(parts);
  const status = {
    signingKeyID: 'k1',
    criticalScopes: true,
    kubeConfig: 'the document',
    observedGeneration: 1,
    targetHash: targetHashOf(isDirect ? direct : byGateway),
    virtualClusterInstanceUID: instance.uid,
    ...(isDirect ? { boundSerials: [1] } : {}),
    ...object.status,
  };
  return recordOf(confirmed({ ...object, status }, ancestors));
}

interface Surroundings {
  readonly instance?: VirtualClusterInstanceRecord | undefined;
  readonly keys?: readonly CredentialRecord[];
  readonly others?: readonly CredentialRecord[];
  readonly now?: number;
  readonly targetCA?: string | undefined;
  readonly prefix?: string;
  readonly gatewayCA?: string;
  readonly earlierCAs?: readonly string[];
  readonly isCAPending?: boolean;
}

function inputOf(record: CredentialRecord, surroundings: Surroundings = {}): KubeConfigInput {
  const { keys = [], others = [], now = created + second, prefix = 'p-' } = surroundings;
  const { gatewayCA, earlierCAs = [], isCAPending = false } = surroundings;
  const present = 'instance' in surroundings ? surroundings.instance : instance;
  const known = 'targetCA' in surroundings ? surroundings.targetCA : ca;
  return reviewedInput({
    record,
    lookup: (name) => keys.find((key) => key.name === name),
    isPublished: () => true,
    audiences: () => undefined,
    unenforcedAudiences: () => undefined,
    issuer,
    ownSecrets: [],
    now,
    trustedSince: 0,
    isUnguarded: false,
    locks: new Locks(),
    sitePolicy: noSitePolicy,
    hasRoom: () => true,
    limits,
    ...(present === undefined ? {} : { instance: present }),
    ...(known === undefined ? {} : { targetCA: known }),
    gateway: {
      issuer,
      projectNamespacePrefix: prefix,
      earlierCAs,
      isCAPending,
      ...(gatewayCA === undefined ? {} : { ca: gatewayCA }),
    },
    credentialByUID: (uid) => [...keys, ...others].find((other) => other.uid === uid),
  });
}

/** The one who asked may have all that is asked about. */
function reviewedInput(input: KubeConfigInput): KubeConfigInput {
  const lineage = lineageOf(input);
  return lineage.kind === 'unreviewed' ? { ...input, reviewed: lineage.review } : input;
}

const decide = (record: CredentialRecord, surroundings?: Surroundings) =>
  decideKubeConfig(inputOf(record, surroundings));

const issued = (record: CredentialRecord, surroundings?: Surroundings) =>
  stepOf(decide(record, surroundings), 'issue');

const settled = (record: CredentialRecord, surroundings?: Surroundings) =>
  stepOf(decide(record, surroundings), 'commit');

/** Whether a refusal waits for something, or for a person. */
const refusal = (record: CredentialRecord, surroundings?: Surroundings) => {
  const { desired } = settled(record, surroundings);
  expect(desired.confirmation.credentialHash).toBeUndefined();
  expect(desired.credential).toBeNull();
  return { reason: desired.ready.reason, stalled: desired.stalled !== undefined };
};

const going = instanceOf(ingress, readyStatus('True', 'Connected'), {
  deletionTimestamp: '2026-11-21T10:00:00Z',
});
const reborn = instanceOf(ingress, readyStatus('True', 'Connected'), { uid: 'another-uid' });
const sick = instanceOf(ingress, readyStatus('False', 'TargetUnreachable'));

describe('the policy for a new kubeconfig', () => {
  it('adds the finalizer before anything else', () => {
    const record = kubeConfig({ metadata: { finalizers: [] } });
    expect(decide(record, { instance: undefined })).toEqual({ step: 'addFinalizer' });
  });

  it.each([
    ['absent', undefined, 86_400],
    ['0', 0, 31_536_000],
    ['600', 600, 600],
    ['beyond the maximum', 2_000_000_000, 31_536_000],
  ])('issues for the requester, with certificateTTL %s', (_, certificateTTL, ttl) => {
    const spec = certificateTTL === undefined ? {} : { certificateTTL };
    for (const record of [kubeConfig({ spec }), withCertificate(spec)]) {
      const issue = issued(record);
      expect(issue).toMatchObject({ identity: { user: 'alice', groups: ['dev'] }, serial: 1, ttl });
      expect(issue.end).toBe(created + second + ttl * second);
    }
  });

  it.each([
    [
      'of its own',
      {},
      /^There is no VirtualClusterInstance shop in the namespace p-red: .* another name, or with spec\./,
    ],
    [
      'in spec',
      { virtualClusterInstance: 'shpo' },
      /^There is no VirtualClusterInstance shpo in the namespace p-red: .* another spec\.virtualClusterInstance\.$/,
    ],
  ])('says which instance it looked for by a wrong name %s', (_, spec, message) => {
    const { desired } = settled(kubeConfig({ spec }), { instance: undefined });
    expect(desired.ready.message).toMatch(message);
  });

  it.each<[string, CredentialRecord, Surroundings, string, boolean]>([
    ['there is no instance', kubeConfig(), { instance: undefined }, 'InstanceNotFound', false],
    ['the instance is being deleted', kubeConfig(), { instance: going }, 'InstanceNotFound', false],
    ['the instance is not Ready', kubeConfig(), { instance: sick }, 'InstanceNotReady', false],
    [
      'its certificate has no Ready instance',
      withCertificate(),
      { instance: sick },
      'InstanceNotReady',
      false,
    ],
    ['its token has no project', kubeConfig(), { prefix: 'project-' }, 'NoProject', true],
    ['the prefix is all there is', kubeConfig(), { prefix: 'p-red' }, 'NoProject', true],
    [
      'its certificate has no address',
      withCertificate(),
      { instance: instanceOf({}) },
      'NoIngressEndpoint',
      true,
    ],
    [
      'the ingress is switched off',
      withCertificate(),
      { instance: instanceOf({ accessPoint: { ingress: { enabled: false, host: 'a' } } }) },
      'NoIngressEndpoint',
      true,
    ],
    ['the server cannot be used', withCertificate({ server: 'https://me@x' }), {}, 'NoIngressEndpoint', true],
    ['the server is no address', kubeConfig({ spec: { server: 'http://x' } }), {}, 'NoIngressEndpoint', true],
    [
      'its requester may have none',
      withCertificate({}, { annotations: { [annotations.requester]: 'system:x' } }),
      {},
      'RequesterNotAllowed',
      true,
    ],
  ])('issues nothing when %s', (_, record, surroundings, ...expected) => {
    const { reason, stalled } = refusal(record, surroundings);
    expect([reason, stalled]).toEqual(expected);
  });

  it('needs no ingress endpoint for a token, nor a project for a certificate', () => {
    expect(issued(kubeConfig(), { instance: instanceOf({}) }).cause).toBe('Issued');
    expect(issued(withCertificate(), { prefix: 'project-' }).cause).toBe('Issued');
    const server = 'https://10.0.0.1:6443';
    expect(issued(withCertificate({ server }), { instance: instanceOf({}) }).cause).toBe('Issued');
  });
});

describe('the policy for a client certificate and scopes', () => {
  const keyOf = (name: string, spec: object = {}, ancestors: readonly CredentialRecord[] = []) =>
    liveRecord(
      {
        name,
        spec: { user: 'alice', key: 'k'.repeat(30), ...spec },
        status: { observedGeneration: 1, allowedNamespaces: [{ name: 'p-red', uid: 'uid-of-red' }] },
      },
      ancestors,
    );
  const scope = { virtualClusters: [{ project: 'red', virtualCluster: 'shop' }] };
  const plain = keyOf('plain', { allowedNamespaces: ['p-red'] });
  const narrow = keyOf('narrow', { scope, allowedNamespaces: ['p-red'] });
  const below = keyOf('below', { user: undefined, accessKey: 'narrow', allowedNamespaces: ['p-red'] }, [
    narrow,
  ]);
  const keys = [plain, narrow, below];
  const stampOf = ({ name, uid }: { name: string; uid: string }) => ({
    annotations: { [annotations.createdWith]: `${name}/${uid}` },
  });

  it('issues one under a key without a scope', () => {
    expect(issued(withCertificate({ accessKey: 'plain' }), { keys }).ancestors).toHaveLength(1);
  });

  it.each([
    ['the key above has a scope', 'narrow', {}],
    ['a key further above has one', 'below', {}],
    ['it was made with the scoped key above', 'narrow', stampOf(narrow)],
    ['it was made with the key above, which is below a scoped one', 'below', stampOf(below)],
  ])('refuses one when %s', (_, accessKey, parts) => {
    const record = withCertificate({ accessKey }, parts);
    expect(refusal(record, { keys })).toEqual({ reason: 'ClientCertNotAllowed', stalled: true });
    expect(issued(kubeConfig({ ...parts, spec: { accessKey } }), { keys }).cause).toBe('Issued');
  });

  it.each([
    ['it was made with a scoped key', stampOf(narrow), 'AccessKeyRequired'],
    ['it was made with a key below a scoped one', stampOf(below), 'AccessKeyRequired'],
    ['what it was made with is not known', stampOf({ name: 'gone', uid: uidOf('gone') }), 'RequesterUnknown'],
    [
      'what it was made with is another object now',
      stampOf({ name: 'other', uid: plain.uid }),
      'RequesterUnknown',
    ],
  ])('refuses one under another key when %s, and one with a token, too', (_, parts, reason) => {
    const record = withCertificate({ accessKey: 'plain' }, parts);
    expect(refusal(record, { keys })).toEqual({ reason: 'ClientCertNotAllowed', stalled: true });
    const withToken = kubeConfig({ ...parts, spec: { accessKey: 'plain' } });
    expect(refusal(withToken, { keys })).toEqual({ reason, stalled: true });
  });

  it('refuses one that was made with a kubeconfig, which is good for one instance alone', () => {
    const author = kubeConfig({ name: 'author' });
    const record = withCertificate({}, stampOf(author));
    expect(refusal(record, { others: [author] }).reason).toBe('ClientCertNotAllowed');
  });

  it('is not ended because the login that made it is gone', () => {
    const record = issuedOf({ ...stampOf({ name: 'gone', uid: uidOf('gone') }), spec: { clientCert: true } });
    expect(settled(record).desired.ready.status).toBe('True');
    expect(issued({ ...record, rotate: 'now' }).cause).toBe('Rotated');
  });

  it('is revoked when a key above gets a scope', () => {
    const record = issuedOf({ spec: { clientCert: true, accessKey: 'plain' } }, [plain]);
    const scoped = keyOf('plain', { scope, allowedNamespaces: ['p-red'] });
    expect(refusal(record, { keys: [scoped] }).reason).toBe('ClientCertNotAllowed');
  });

  it('is revoked while a key above does not work, and comes back for the rest of its life', () => {
    const record = issuedOf({ spec: { clientCert: true, accessKey: 'plain', certificateTTL: 3600 } }, [
      plain,
    ]);
    const asleep = { ...plain, disabled: true };
    expect(refusal(record, { keys: [asleep] })).toEqual({ reason: 'AccessKeyNotLive', stalled: false });
    const { confirmation } = settled(record, { keys: [asleep] }).desired;
    const after = { ...record, holdsCredential: false, status: confirmation };
    const now = created + hour / 2;
    expect(issued(after, { keys, now })).toMatchObject({ end: created + hour, keepPrevious: false });
  });

  it('leaves a token alone while a key above does not work: verifiers ask about the key', () => {
    const record = issuedOf({ spec: { accessKey: 'plain' } }, [plain]);
    const { desired } = settled(record, { keys: [{ ...plain, disabled: true }] });
    expect(desired).toMatchObject({ ready: { reason: 'AccessKeyNotLive' } });
    expect(desired.confirmation.credentialHash).toBe(record.status.credentialHash);
  });
});

describe('the policy for a kubeconfig that was issued', () => {
  const token = issuedOf();
  const certificate = issuedOf({ spec: { clientCert: true } });

  it.each([
    ['a token', token],
    ['a certificate', certificate],
  ])('keeps %s while the virtual cluster is away', (_, record) => {
    expect(settled(record, { instance: sick }).desired.ready.status).toBe('True');
  });

  it.each([
    ['is missing', undefined],
    ['is being deleted', going],
    ['is another one of that name', reborn],
  ])('is over for good when the instance %s', (_, present) => {
    for (const record of [token, certificate]) {
      expect(refusal(record, { instance: present })).toEqual({ reason: 'InstanceGone', stalled: true });
      const { confirmation } = settled(record, { instance: present }).desired;
      const after = { ...record, holdsCredential: false, status: confirmation };
      expect(refusal(after, { instance: reborn }).reason).toBe('InstanceGone');
      expect(refusal({ ...after, rotate: 'now' }, { instance: reborn }).reason).toBe('InstanceGone');
    }
  });

  it('stays Expired when its instance goes afterwards', () => {
    for (const present of [undefined, going, reborn]) {
      const step = settled(token, { instance: present, now: created + 25 * hour });
      expect(step.desired.ready.reason).toBe('Expired');
    }
  });

  it.each<[string, CredentialRecord, Surroundings]>([
    ['the authority of the gateway', token, { gatewayCA: ca }],
    ['the authority of the virtual cluster', certificate, { targetCA: `${ca}\n` }],
    [
      'the ingress host',
      certificate,
      { instance: instanceOf({ accessPoint: { ingress: { enabled: true, host: 'other' } } }) },
    ],
    [
      'the role inside',
      certificate,
      { instance: instanceOf({ ...ingress, access: { clusterRole: 'view' } }) },
    ],
  ])('is replaced for the rest of its life when %s changes', (_, record, surroundings) => {
    expect(issued(record, surroundings)).toMatchObject({
      cause: 'TargetChanged',
      keepPrevious: false,
      end: created + 24 * hour,
    });
  });

  it('stays while what it says of the authority of the gateway is still good, and while that is not known', () => {
    const named = { ...token, status: { ...token.status, targetHash: targetHashOf({ ...byGateway, ca }) } };
    const both = `${ca}${ca}`;
    for (const surroundings of [
      { gatewayCA: ca },
      { gatewayCA: both, earlierCAs: [ca] },
      { isCAPending: true },
    ])
      expect(settled(named, surroundings).desired.confirmation.serial).toBe(1);
    expect(issued(named, { gatewayCA: both, earlierCAs: [both] }).cause).toBe('TargetChanged');
    expect(settled(named, { isCAPending: true }).requeueAt).toBe(created + second + 10_000);
  });

  it('has no address any more when the ingress is taken away', () => {
    expect(refusal(certificate, { instance: instanceOf({}) })).toEqual({
      reason: 'NoIngressEndpoint',
      stalled: true,
    });
  });

  it('is checked again soon while no one knows the authority of the virtual cluster', () => {
    const step = settled(certificate, { targetCA: undefined });
    expect(step.desired.ready.status).toBe('True');
    expect(step.requeueAt).toBe(created + second + 10_000);
    expect(settled(token, { targetCA: undefined }).requeueAt).toBeGreaterThan(created + hour);
  });

  it('is not lengthened by a replacement when the signer gave it less than was asked for', () => {
    const short = issuedOf({
      spec: { clientCert: true },
      status: { notAfter: new Date(created + hour).toISOString() },
    });
    const lost = { ...short, holdsCredential: false };
    expect(issued(lost, { now: created + hour / 2 }).end).toBe(created + hour);
    expect(issued({ ...lost, rotate: 'now' }, { now: created + hour / 2 }).end).toBe(created + hour);
    expect(issued({ ...short, ttl: 7200 }, { now: created + second }).end).toBe(created + hour);
  });

  it('has a new life after a rotation or another certificateTTL when it is below a key', () => {
    const spec = { user: 'alice', key: 'k'.repeat(30) };
    const keys = [liveRecord({ name: 'plain', spec, status: { observedGeneration: 1 } })];
    const short = issuedOf(
      {
        spec: { clientCert: true, accessKey: 'plain' },
        status: { notAfter: new Date(created + hour).toISOString() },
      },
      keys,
    );
    const end = (change: object, now: number) => issued({ ...short, ...change }, { keys, now }).end;
    expect(end({ rotate: 'now' }, created + hour / 2)).toBe(created + 24.5 * hour);
    expect(end({ ttl: 7200 }, created + second)).toBe(created + 2 * hour);
  });

  it('does not forget how long its certificate really lives when a shorter certificateTTL ends it', () => {
    const ended = settled({ ...certificate, ttl: 600 }, { now: created + hour });
    expect(ended.desired.ready.reason).toBe('Expired');
    expect(ended.desired.confirmation).toMatchObject({
      notAfter: created + 24 * hour,
      expirationTimestamp: created + 600 * second,
    });
  });
});

describe('what follows when nothing could be issued', () => {
  const parent = liveRecord({
    name: 'parent',
    spec: { user: 'alice', key: 'k'.repeat(30), allowedNamespaces: ['p-red'] },
    status: { observedGeneration: 1, allowedNamespaces: [{ name: 'p-red', uid: 'uid-of-red' }] },
  });
  const keys = [parent];
  const spec = { clientCert: true, accessKey: 'parent', certificateTTL: 3_600, renewBefore: 600 };
  const record = issuedOf({ spec }, keys);
  const due = { keys, now: created + 3_000 * second };
  const problem = { reason: reasons.useNotAllowed, message: 'denied', final: false };

  it('a planned renewal takes nothing away before the end', () => {
    const issue = issued(record, due);
    expect(issue).toMatchObject({ cause: 'Renewed', keepPrevious: true });
    const { desired, requeueAt } = afterFailedIssue(inputOf(record, due), issue, problem);
    expect(desired).toMatchObject({
      ready: { status: 'True' },
      reconciling: { reason: 'UseNotAllowed' },
      confirmation: { credentialHash: record.status.credentialHash, boundSerials: [1] },
    });
    expect(requeueAt).toBe(due.now + 60_000);
  });

  it.each([
    ['whose credential is not there to be read', { holdsCredential: false }, due],
    ['that has ended', {}, { keys, now: created + 3_600 * second }],
    ['that is to be rotated', { rotate: 'now' }, due],
    ['with another spec', { fingerprints: ['v1:other'] }, due],
  ])('a kubeconfig %s loses it', (_, change, at) => {
    const changed = { ...record, ...change };
    const { desired } = afterFailedIssue(inputOf(changed, at), issued(changed, at), problem);
    expect(desired).toMatchObject({ ready: { status: 'False', reason: 'UseNotAllowed' }, credential: null });
    expect(desired.confirmation).toMatchObject({ boundSerials: [1], instanceUID: instance.uid });
    expect(desired.confirmation.credentialHash).toBeUndefined();
  });
});

import { afterFailedIssue } from '../issued/failed-issue.ts';
