import { describe, expect, it } from 'vitest';
import { liveRecord } from '../../../../test/builders/credential-object.ts';
import { verdictFor } from '../../../../test/builders/gateway-stage.ts';
import type { CredentialKind } from '../../../api/credential-kinds.ts';
import { refusalOf } from '../own/await-issued.ts';
import {
  objectNameFor,
  parentOf,
  placeProblem,
  progressOf,
  toAnswer,
  toStoredObject,
} from './kubeconfig-object.ts';

const place = { namespace: 'p-red', name: 'shop' };

describe('what a client sends', () => {
  it.each([
    {},
    { metadata: null, spec: null },
    { metadata: { name: 'shop', namespace: 'p-red' }, spec: { certificateTTL: 600 } },
    { metadata: { name: '', namespace: '' } },
    { spec: { virtualClusterInstance: 'shop', secretRef: null } },
  ])('as %j is for the instance of the path', (object) => {
    expect(placeProblem(object, place)).toBeUndefined();
  });

  it.each([
    [{ metadata: { name: 'other' } }, 'metadata.name must be shop'],
    [{ metadata: { namespace: 'p-blue' } }, 'metadata.namespace must be p-red'],
    [{ metadata: { namespace: 1 } }, 'metadata.namespace must be p-red'],
    [{ spec: { virtualClusterInstance: 'other' } }, 'spec.virtualClusterInstance must be shop'],
    [{ spec: { secretRef: { name: 'a' } } }, 'make a VirtualClusterInstanceKubeConfig yourself'],
    [{ spec: { renewBefore: 60 } }, 'make a VirtualClusterInstanceKubeConfig yourself'],
  ])('as %j is refused', (object, problem) => {
    expect(placeProblem(object, place)).toContain(problem);
  });
});

describe('the parent of what is made', () => {
  const verdict = (kind: CredentialKind, scope?: Record<string, unknown>) => ({
    ...verdictFor(scope),
    record: liveRecord({ kind, name: 'ci' }),
  });

  it.each([
    ['of a key without limits is none', undefined, {}, undefined],
    ['of such a key is what the client says', undefined, { accessKey: 'a' }, 'a'],
    ['of a limited key is the key', {}, {}, 'ci'],
    ['of a limited key may be named', {}, { accessKey: 'ci' }, 'ci'],
  ] as const)('%s', (_, scope, spec, accessKey) => {
    expect(parentOf({ spec }, verdict('OwnedAccessKey', scope))).toEqual({ accessKey });
  });

  it.each([
    ['of a limited key cannot be another', 'OwnedAccessKey', { accessKey: 'other' }],
    ['of a kubeconfig there is none', 'VirtualClusterInstanceKubeConfig', {}],
    ['of a token there is none', 'DirectClusterEndpointToken', {}],
  ] as const)('%s', (_, kind, spec) => {
    expect(parentOf({ spec }, verdict(kind, {}))).toHaveProperty('refusal.status', 403);
  });
});

describe('what is stored for it', () => {
  it('goes with its instance, keeps the spec, and takes no annotation or label', () => {
    const sent = { metadata: { annotations: { a: 'b' }, labels: { c: 'd' } }, spec: { certificateTTL: 600 } };
    const parts = { ...place, objectName: 'shop-x', instanceUID: 'u', accessKey: undefined };
    expect(toStoredObject(sent, parts)).toEqual({
      apiVersion: 'management.platform.sh/v1',
      kind: 'VirtualClusterInstanceKubeConfig',
      metadata: {
        namespace: 'p-red',
        name: 'shop-x',
        ownerReferences: [
          {
            apiVersion: 'management.platform.sh/v1',
            kind: 'VirtualClusterInstance',
            name: 'shop',
            uid: 'u',
          },
        ],
      },
      spec: { certificateTTL: 600, virtualClusterInstance: 'shop' },
    });
  });

  it.each([
    ['shop', 'shop-abc'],
    ['a'.repeat(253), `${'a'.repeat(249)}-abc`],
    [`${'a'.repeat(248)}.bcde`, `${'a'.repeat(248)}-abc`],
  ])('has a name that an object may have', (name, expected) => {
    expect(objectNameFor({ namespace: 'p-red', name }, 'abc')).toBe(expected);
  });
});

describe('the answer', () => {
  it('is the object of the client, with its own name, and the kubeconfig', () => {
    const sent = {
      metadata: { labels: { a: 'b' }, uid: 'x' },
      spec: { clientCert: true },
      status: { kubeConfig: 'y' },
    };
    expect(toAnswer(sent, place, { kubeConfig: 'k', created: 'now' })).toEqual({
      apiVersion: 'management.platform.sh/v1',
      kind: 'VirtualClusterInstanceKubeConfig',
      metadata: { ...place, creationTimestamp: 'now', labels: { a: 'b' } },
      spec: { clientCert: true },
      status: { kubeConfig: 'k' },
    });
  });

  it('of a dry run has none', () => {
    expect(toAnswer({}, place, { created: 'now' })).toMatchObject({ spec: {}, status: {} });
  });
});

describe('how far the operator is', () => {
  const ready = { type: 'Ready', status: 'False', reason: 'Pending', message: 'm.', observedGeneration: 1 };
  const object = (condition: object, status: object = {}) =>
    ({
      metadata: { generation: 1 },
      status: { conditions: [{ ...ready, ...condition }], ...status },
    }) as never;

  it('is told by Ready of the present generation', () => {
    const issued = { status: 'True', reason: 'Issued' };
    expect(progressOf(object(issued, { kubeConfig: 'k' }))).toEqual({ state: 'issued', kubeConfig: 'k' });
    const former = object({ ...issued, observedGeneration: 0 }, { kubeConfig: 'k' });
    expect(progressOf(former)).toEqual({ state: 'waiting' });
    expect(progressOf(object(issued))).toMatchObject({ state: 'waiting' });
  });

  it.each([undefined, {}, { conditions: 'x' }, { conditions: [] }])('is not known from %j', (status) => {
    expect(progressOf({ metadata: { generation: 1 }, status } as never)).toEqual({ state: 'waiting' });
  });

  it.each([
    ['NoIngressEndpoint', 409],
    ['UseNotAllowed', 403],
    ['ClientCertNotAllowed', 403],
    ['RequesterNotAllowed', 403],
    ['AccessKeyNotAllowed', 403],
    ['AccessKeyRequired', 403],
    ['InstanceGone', 404],
    ['NoProject', 422],
    ['AccessKeyNotFound', 422],
    ['TokenTooLarge', 422],
  ])('%s is final: %d, with the reason and the words of the operator', (reason, status) => {
    const progress = progressOf(object({ reason, message: 'Do something else.' }));
    expect(progress).toMatchObject({ state: 'refused', refusal: { status } });
    const { message, details } = JSON.parse((progress as { refusal: { body: string } }).refusal.body);
    expect(message).toContain(`(${reason}): Do something else. `);
    // Of a 422 kubectl prints nothing else.
    expect(details.causes).toContainEqual(status === 422 ? { reason, field: 'spec', message } : { reason });
  });

  it.each([
    'InstanceNotReady',
    'InstanceNotFound',
    'TargetUnreachable',
    'CertificateTimeout',
    'AdmissionMissing',
  ])('%s may pass: it is waited for, and named at the end', (reason) => {
    const progress = progressOf(object({ reason }));
    expect(progress).toMatchObject({ state: 'waiting', ready: { reason } });
    const answer = refusalOf('ERR_KUBECONFIG_PENDING', { reason, message: 'm.' });
    expect([answer.status, answer.headers]).toEqual([503, expect.arrayContaining(['retry-after', '5'])]);
    expect(answer.body).toContain(`(${reason}): m. `);
  });
});
