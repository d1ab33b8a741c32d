import { describe, expect, it } from 'vitest';
import { instanceRecord, readyStatus } from '../../../test/builders/target-record.ts';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { reasons } from '../../api/reasons.ts';
import { Store } from '../../kube/cache/store.ts';
import { WorkQueue } from '../../kube/queue/work-queue.ts';
import { silentLogger } from '../../logger.ts';
import { TargetStores } from '../../platform/targets/target-stores.ts';
import { type RevocationRecord, revocationIndexes } from '../certificates/revocation-records.ts';
import { CredentialStores } from '../credentials/credential-stores.ts';
import { createRevocationController } from './create-system-controllers.ts';
import type { OperatorContext } from './operator-context.ts';

const instance = instanceRecord();

const record: RevocationRecord = {
  ...{ key: 'latchkey-system/record', name: 'record', uid: 'r', resourceVersion: '1', ownerUID: 'o' },
  instance: { namespace: 'default', name: 'shop', uid: instance.uid },
  secret: { namespace: 'default', name: 'vc-shop', key: 'config' },
  ...{ caFingerprint: 'f', serials: [1], notAfter: Date.UTC(9999, 1), readable: true },
};

/** `answers`: whether the virtual cluster answers. */
function setUp(answers = () => true) {
  const clock = new FakeClock();
  const targets = new TargetStores(clock);
  const recorded = new Store<RevocationRecord>(revocationIndexes);
  const forgotten: string[] = [];
  const opened: ((uid: string) => void)[] = [];
  let tries = 0;
  const problem = { reason: reasons.targetUnreachable, message: 'No answer.' };
  const tryRevoke = async () => {
    tries++;
    return answers() ? { caFingerprint: record.caFingerprint } : { problem };
  };
  const queue = new WorkQueue({ clock, random: () => 0 });
  const { reconcile } = createRevocationController({
    ...{ clock, targets, queues: { revocations: queue }, stores: new CredentialStores(clock) },
    certificates: { recorded, revoker: { tryRevoke }, records: { complete: async () => undefined } },
    ...{ random: () => 0, log: silentLogger, events: { publish: () => undefined } },
    metrics: { revocationsPending: { inc: () => undefined, dec: () => undefined } },
    targetClients: {
      forget: (uid: string) => void forgotten.push(uid),
      subscribe: (listener: (uid: string) => void) => void opened.push(listener),
    },
  } as unknown as OperatorContext);
  recorded.upsert(record);
  const isWoken = async () => {
    if (queue.length === 0) return false;
    const key = (await queue.get()) as string;
    queue.done(key);
    return key === record.key;
  };
  const change = (uid: string) => {
    for (const listener of opened) listener(uid);
  };
  return { ...{ clock, targets, recorded, forgotten, isWoken, change }, reconcile, tries: () => tries };
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

describe('a record that waits for its virtual cluster', () => {
  const withStatus = (resourceVersion: string, status: string, reason: string) =>
    instanceRecord({ metadata: { resourceVersion }, status: readyStatus(status, reason) });
  const away = withStatus('8', 'False', 'TargetUnreachable');
  const back = withStatus('9', 'True', 'Connected');

  it('is tried within a second when its instance is usable again, and not before', async () => {
    let answers = false;
    const { clock, targets, reconcile, isWoken, tries } = setUp(() => answers);
    targets.instances.upsert(away);
    for (let attempt = 0; attempt < 3; attempt++) await reconcile(record.key);
    expect([tries(), await isWoken()]).toEqual([1, false]);
    answers = true;
    targets.instances.upsert(back);
    expect(await isWoken()).toBe(true);
    clock.advance(1_000);
    await reconcile(record.key);
    expect(tries()).toBe(2);
  });

  it('is tried once a second at most, however often its instance goes and comes back', async () => {
    const { clock, targets, reconcile, isWoken, tries } = setUp(() => false);
    for (let flap = 0; flap < 100; flap++) {
      targets.instances.upsert(away);
      targets.instances.upsert(back);
      expect(await isWoken()).toBe(true);
      expect(await reconcile(record.key)).toEqual({ requeueAfterMs: expect.any(Number) });
      clock.advance(100);
    }
    // Half a second to a second apart; here half a second.
    expect(tries()).toBe(20);
  });

  it('is left alone by the checks of an instance that is usable, and by other instances', async () => {
    const { targets, isWoken } = setUp();
    targets.instances.upsert(back);
    await isWoken();
    targets.instances.upsert(withStatus('10', 'True', 'Connected'));
    targets.instances.upsert(instanceRecord({ name: 'other', status: readyStatus('True', 'Connected') }));
    expect(await isWoken()).toBe(false);
  });

  it('is tried at once when another instance with its Secret is usable', async () => {
    const { targets, isWoken } = setUp();
    const metadata = { uid: 'made again' };
    targets.instances.upsert(instanceRecord({ metadata, status: readyStatus('True', 'Connected') }));
    expect(await isWoken()).toBe(true);
  });

  it('is tried at once when the Secret of its instance holds something else', async () => {
    const { targets, isWoken, change } = setUp();
    targets.instances.upsert(away);
    change('of another');
    expect(await isWoken()).toBe(false);
    change(away.uid);
    expect(await isWoken()).toBe(true);
  });
});
