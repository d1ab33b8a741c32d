import { describe, expect, it } from 'vitest';
import {
  type CredentialParts,
  credentialObject,
  liveRecord,
  recordOf,
  uidOf,
} from '../../../test/builders/credential-object.ts';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { annotations } from '../../api/names.ts';
import type { CredentialKind } from '../../credentials/record.ts';
import { TargetStores } from '../../platform/targets/target-stores.ts';
import { CredentialStores } from '../credentials/credential-stores.ts';
import { waitsForKind } from './create-credential-controllers.ts';

type Unserved = CredentialKind | 'instances' | 'clusters';

/** Whether it waits while the API server does not know a kind. */
function waits(parts: CredentialParts, unserved: Unserved, isIssued = false): boolean {
  const [stores, targets] = [new CredentialStores(new FakeClock()), new TargetStores(new FakeClock())];
  const isTarget = unserved === 'instances' || unserved === 'clusters';
  (isTarget ? targets[unserved] : stores.ofKind[unserved].store).setUnserved(true);
  const record = isIssued ? liveRecord(parts) : recordOf(credentialObject(parts));
  stores.ofKind[record.kind].store.upsert(record);
  return waitsForKind({ stores, targets }, record.kind, record.key);
}

const token = { kind: 'DirectClusterEndpointToken' } as const;
const kubeConfig: CredentialParts = {
  kind: 'VirtualClusterInstanceKubeConfig',
  metadata: { namespace: 'p-a' },
  spec: { virtualClusterInstance: 'vc' },
};
const below = { spec: { accessKey: 'parent' } };
const deletionTimestamp = '2026-11-21T11:00:00Z';
const madeWith = { annotations: { [annotations.createdWith]: `maker/${uidOf('maker')}` } };

describe('a credential waits', () => {
  it.each([
    ['of the missing kind', {}, 'OwnedAccessKey'],
    ['below a key, while keys are missing', { ...token, ...below }, 'OwnedAccessKey'],
    ['for an instance, while instances are missing', kubeConfig, 'instances'],
    ['made with one that may be of the missing kind', madeWith, 'DirectClusterEndpointToken'],
    [
      'made with one that may be below a key, while keys are missing',
      { ...token, ...madeWith },
      'OwnedAccessKey',
    ],
  ] as const)('%s', (_what, parts, unserved) => {
    expect(waits(parts, unserved)).toBe(true);
  });
});

describe('a credential does not wait', () => {
  it.each([
    ['for another kind', {}, 'DirectClusterEndpointToken'],
    ['for keys, below none', token, 'OwnedAccessKey'],
    [
      'for keys, when it is deleted',
      { ...token, ...below, metadata: { deletionTimestamp } },
      'OwnedAccessKey',
    ],
    ['for instances, when it leads to none', token, 'instances'],
    ['for clusters', kubeConfig, 'clusters'],
  ] as const)('%s', (_what, parts, unserved) => {
    expect(waits(parts, unserved)).toBe(false);
  });

  it('for what it was made with, once it was issued, unless it is a certificate', () => {
    const certificate = { ...kubeConfig, ...madeWith, spec: { ...kubeConfig.spec, clientCert: true } };
    expect(waits(certificate, 'OwnedAccessKey', true)).toBe(true);
    expect(waits(madeWith, 'DirectClusterEndpointToken', true)).toBe(false);
  });
});
