import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { labels } from '../../../src/api/names.ts';
import type { Connection } from '../../../src/operator/targets/target-connector.ts';
import { clusterRecord, instanceRecord, readyStatus } from '../../builders/target-record.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { InstanceOperator, StagedInstance } from './staged-instance.ts';
import { connection, everything, nothing, owner, TargetStage } from './target-stage.ts';

let clock: FakeClock;
let stage: TargetStage;
beforeEach(async () => {
  clock = new FakeClock();
  stage = await TargetStage.open(clock);
});
afterEach(async () => await stage.close());

const { clusterRole: _, ...withoutUsers } = connection;
const cluster: Connection = { ...withoutUsers, owner: { kind: 'Cluster', uid: 'u2' } };
const instance: Connection = { ...connection, owner: { ...owner, uid: 'u2' } };
const connect = (which: Connection) => stage.connector.connect(which);
const disconnect = (which: Connection) => stage.connector.disconnect(which);

const plurals = ['serviceaccounts', 'clusterroles', 'clusterrolebindings'];
const inTarget = () => plurals.flatMap((plural) => stage.target.server.storage(plural).list());
const uids = () => inTarget().map(({ metadata }) => metadata.uid);
const ownersInTarget = () => new Set(inTarget().map(({ metadata }) => metadata.labels?.[labels.ownerUID]));

describe('a target that several share', () => {
  it('is left labelled for the first as long as they want the same', async () => {
    await connect(connection);
    stage.others.add('u1');
    expect(await connect(cluster)).toBeUndefined();
    expect(ownersInTarget()).toEqual(new Set(['u1']));
  });

  it('is refused to one that wants another role for its users', async () => {
    await connect(connection);
    stage.others.add('u1');
    expect(await connect({ ...instance, clusterRole: 'view' })).toMatchObject({ reason: 'TargetInUse' });
  });

  it('is taken over when the first is gone', async () => {
    await connect(connection);
    expect(await connect({ ...instance, clusterRole: 'view' })).toBeUndefined();
    expect(await disconnect(instance)).toBe('clean');
    expect(stage.left).toEqual(nothing);
  });
});

describe('the first owner of a shared target, when it is deleted', () => {
  /** Both work with the target, and the first is being deleted. */
  const share = async (second: Connection) => {
    await connect(connection);
    stage.others.add('u1');
    expect(await connect(second)).toBeUndefined();
    stage.others.delete('u1');
  };
  const record = (status: string) =>
    instanceRecord({ name: 'b', metadata: { uid: 'u2' }, status: readyStatus(status, 'Connected') });

  it('leaves everything to the other one, whose token goes on working', async () => {
    await share(instance);
    stage.sharers.push(record('True'));
    const before = uids();
    expect(await disconnect(connection)).toBe('kept');
    expect([stage.secret, stage.rechecked]).toEqual([undefined, ['default/b']]);
    expect(await connect(instance)).toBeUndefined();
    expect(await disconnect(connection)).toBe('clean');
    expect([uids(), ownersInTarget()]).toEqual([before, new Set(['u2'])]);
    expect(stage.target.tokens).toHaveLength(2);
  });

  it('leaves nothing behind when the other one goes before it has taken anything over', async () => {
    await share(instance);
    stage.sharers.push(record('True'));
    expect(await disconnect(connection)).toBe('kept');
    stage.sharers.pop();
    expect(await disconnect(instance)).toBe('clean');
    expect(await disconnect(connection)).toBe('clean');
    expect(stage.left).toEqual(nothing);
  });

  it('takes the role of its users away where only a cluster is left', async () => {
    await share(cluster);
    const status = readyStatus('True', 'Connected');
    stage.sharers.push(clusterRecord({ name: 'b', metadata: { uid: 'u2' }, status }));
    expect(await disconnect(connection)).toBe('kept');
    expect(stage.left).toEqual([...everything.slice(0, 2), ['latchkey-impersonator']]);
  });

  it('leaves nothing to one that is not ready, and has that one checked afterwards', async () => {
    await share(instance);
    stage.sharers.push(record('False'));
    expect(await disconnect(connection)).toBe('clean');
    expect([stage.left, stage.rechecked]).toEqual([nothing, ['default/b']]);
    expect(await connect(instance)).toBeUndefined();
    expect([stage.left, stage.target.tokens.length]).toEqual([everything, 3]);
  });

  it('goes once the other one has taken everything over, which is asked for at once', async () => {
    const first = new StagedInstance(stage, clock);
    const operator = new InstanceOperator(first);
    await operator.reconcile();
    stage.others.add('u1');
    await connect(instance);
    operator.observeOther(record('True'));
    first.delete();
    expect(await operator.reconcile()).toEqual({ requeueAfterMs: 1_000 });
    expect([first.isReleased, operator.enqueued]).toEqual([false, ['default/b']]);
    stage.others.delete('u1');
    await connect(instance);
    expect(await operator.reconcile()).toBeUndefined();
    expect([first.isReleased, operator.released, stage.left]).toEqual([true, 0, everything]);
  });

  it('deletes nothing that is taken over while it is about to', async () => {
    await share(instance);
    let isTakenOver = false;
    stage.target.server.script(async ({ method }) => {
      if (method !== 'DELETE' || isTakenOver) return false;
      isTakenOver = true;
      await connect(instance);
      return false;
    });
    expect(await disconnect(connection)).toBe('failed');
    expect(await disconnect(connection)).toBe('clean');
    expect([stage.left, ownersInTarget()]).toEqual([everything, new Set(['u2'])]);
  });
});
