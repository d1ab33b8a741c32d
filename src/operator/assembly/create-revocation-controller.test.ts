import { expect, it } from 'vitest';
import { instanceRecord } from '../../../test/builders/target-record.ts';
import { Store } from '../../kube/cache/store.ts';
import { FakeClock } from '../../kube/fake-clock.ts';
import { TargetStores } from '../../platform/targets/target-stores.ts';
import type { RevocationRecord } from '../certificates/revocation-records.ts';
import { CredentialStores } from '../credentials/credential-stores.ts';
import { createRevocationController } from './create-revocation-controller.ts';
import type { OperatorContext } from './operator-context.ts';

const instance = instanceRecord();

const record: RevocationRecord = {
  ...{ key: 'latchkey-system/record', name: 'record', uid: 'r', resourceVersion: '1', ownerUID: 'o' },
  instance: { namespace: 'default', name: 'shop', uid: instance.uid },
  secret: { namespace: 'default', name: 'vc-shop', key: 'config' },
  ...{ caFingerprint: 'f', serials: [1], notAfter: 0, readable: true },
};

function setUp() {
  const clock = new FakeClock();
  const targets = new TargetStores(clock);
  const recorded = new Store<RevocationRecord>({ owner: ({ ownerUID }) => [ownerUID] });
  const forgotten: string[] = [];
  createRevocationController({
    ...{ clock, targets, queues: {}, stores: new CredentialStores(clock), certificates: { recorded } },
    metrics: {},
    targetClients: { forget: (uid: string) => void forgotten.push(uid) },
  } as unknown as OperatorContext);
  recorded.upsert(record);
  return { targets, recorded, forgotten };
}

it('forgets an instance that is gone when its certificates are revoked', () => {
  const { recorded, forgotten } = setUp();
  expect(forgotten).toEqual([]);
  recorded.remove(record.key);
  expect(forgotten).toEqual([instance.uid]);
});

it('leaves an instance that is there to its own controller', () => {
  const { targets, recorded, forgotten } = setUp();
  targets.instances.upsert(instance);
  recorded.remove(record.key);
  expect(forgotten).toEqual([]);
});
