import { describe, expect, it } from 'vitest';
import { credentialObject, recordOf } from '../../../test/builders/credential-object.ts';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { finalizers } from '../../api/names.ts';
import { reasons } from '../../api/reasons.ts';
import type { CredentialRecord } from '../../credentials/record.ts';
import { silentLogger } from '../../logger.ts';
import type { TargetProblem } from '../../platform/targets/target-problem.ts';
import type { CertificateRevoker } from './certificate-revoker.ts';
import { RevocationController } from './revocation-controller.ts';
import type { RevocationRecord } from './revocation-records.ts';

const kind = 'VirtualClusterInstanceKubeConfig';
/** The object of a record. */
const ownerWith = (status: Record<string, unknown>, change: Partial<CredentialRecord> = {}) => ({
  ...recordOf(
    credentialObject({ kind, metadata: { namespace: 'default', finalizers: [finalizers[kind]] }, status }),
  ),
  ...change,
});
const owner = ownerWith({});

interface Setting {
  readonly record?: Partial<RevocationRecord>;
  readonly owner?: CredentialRecord | undefined;
  /** The answers of the virtual cluster to each try. */
  readonly problems?: (TargetProblem | undefined)[];
}

function setUp(setting: Setting = {}) {
  const clock = new FakeClock();
  const revoked: (readonly number[])[] = [];
  const tries: Parameters<CertificateRevoker['tryRevoke']>[] = [];
  const notes: string[] = [];
  const pending: string[] = [];
  let completed = 0;
  let record: RevocationRecord = {
    key: 'latchkey-system/record',
    name: 'record',
    uid: 'r',
    resourceVersion: '1',
    ownerUID: owner.uid,
    instance: { namespace: 'default', name: 'shop', uid: 'i' },
    secret: { namespace: 'default', name: 'vc-shop', key: 'config' },
    caFingerprint: 'f',
    serials: [1],
    notAfter: clock.now() + 86_400_000,
    readable: true,
    ...setting.record,
  };
  const controller = new RevocationController({
    store: { get: () => record, byIndex: () => [record] },
    findOwner: () => ('owner' in setting ? setting.owner : owner),
    records: { complete: async () => void completed++ },
    revoker: {
      tryRevoke: async (...all) => {
        tries.push(all);
        revoked.push(all[1].serials);
        const problem = setting.problems?.shift();
        return problem === undefined ? { caFingerprint: 'f' } : { problem };
      },
      tryRevokeTogether: () => Promise.reject(new Error('there is one record only')),
    },
    events: { publish: (_, events) => void notes.push(...events.map(({ note }) => note)) },
    pending: {
      inc: ({ reason }) => void pending.push(`+${reason}`),
      dec: ({ reason }) => void pending.push(`-${reason}`),
    },
    clients: { forget: () => undefined },
    clock,
    random: () => 0,
    log: silentLogger,
  });
  const write = (change: Partial<RevocationRecord>) => {
    record = { ...record, ...change, resourceVersion: `${Number(record.resourceVersion) + 1}` };
  };
  const outcome = () => ({ notes, pending, completed });
  return { clock, revoked, tries, write, outcome, reconcile: () => controller.reconcile(record.key) };
}

describe('a record is acted on', () => {
  const deleted = 1;
  const bound = { serial: 1, boundSerials: [1] };

  it.each<[string, CredentialRecord | undefined]>([
    ['its object is gone', undefined],
    [
      'its object has lost its finalizer and another one keeps it',
      ownerWith(bound, { deleted, finalizers: ['a/b'] }),
    ],
    ['the instance went first, and status names no certificate any more', ownerWith({ serial: 1 })],
    ['that is so, and the object is being deleted', ownerWith({ serial: 1 }, { deleted })],
  ])('at once when %s', async (_, present) => {
    const { revoked, outcome, reconcile } = setUp({ owner: present });
    expect(await reconcile()).toBeUndefined();
    expect(revoked).toEqual([[1]]);
    expect(outcome().completed).toBe(1);
  });

  it.each<[string, CredentialRecord]>([
    ['lives', ownerWith(bound)],
    ['is being deleted, and has its finalizer', ownerWith(bound, { deleted })],
  ])('not while its object names the certificate and %s', async (_, present) => {
    const { revoked, outcome, reconcile } = setUp({ owner: present });
    expect(await reconcile()).toBeUndefined();
    expect(revoked).toEqual([]);
    expect(outcome().completed).toBe(0);
  });
});

describe('a record that is ahead of its status', () => {
  it('is acted on when the status has not followed in half a minute', async () => {
    const { clock, revoked, reconcile } = setUp();
    expect(await reconcile()).toEqual({ requeueAfterMs: 30_000 });
    clock.advance(30_000);
    await reconcile();
    expect(revoked).toEqual([[1]]);
  });

  it('has the whole half minute again with each try to issue, which has a serial of its own', async () => {
    const { clock, revoked, write, reconcile } = setUp();
    await reconcile();
    clock.advance(29_990);
    write({ serials: [5] });
    expect(await reconcile()).toEqual({ requeueAfterMs: 30_000 });
    clock.advance(29_999);
    expect(await reconcile()).toEqual({ requeueAfterMs: 1 });
    expect(revoked).toEqual([]);
  });
});

describe('a record whose object is gone', () => {
  const refused = { reason: reasons.targetForbidden, message: 'A policy there says no.' };
  const silent = { reason: reasons.targetUnreachable, message: 'No answer.' };

  it('is acted on by its Secret, and by what was read for the instance before', async () => {
    const { tries, reconcile } = setUp({ owner: undefined });
    await reconcile();
    const request = { uid: owner.uid, serials: [1], live: [], caFingerprint: 'f' };
    const secret = { namespace: 'default', name: 'vc-shop', key: 'config' };
    expect(tries).toEqual([[{ uid: 'record', secret }, request, 'i']]);
  });

  it('says once for each cause until when the certificate works, counts it, and is tried until it is done', async () => {
    const problems = [refused, refused, silent, undefined];
    const { clock, outcome, reconcile } = setUp({ owner: undefined, problems });
    const until = new Date(clock.now() + 86_400_000).toISOString().replace('.000Z', 'Z');
    for (let tries = 0; tries < 4; tries++) {
      const { requeueAfterMs = 0 } = (await reconcile()) ?? {};
      clock.advance(requeueAfterMs);
    }
    expect(outcome()).toEqual({
      notes: [
        `The certificate still works until ${until}, because the cluster refused: A policy there says no.`,
        `The certificate still works until ${until}, because the cluster was not reached: No answer.`,
      ],
      pending: ['+TargetForbidden', '-TargetForbidden', '+TargetUnreachable', '-TargetUnreachable'],
      completed: 1,
    });
  });

  it('goes without a try when the certificates have ended by themselves', async () => {
    const { clock, revoked, outcome, reconcile } = setUp({ owner: undefined });
    clock.advance(86_400_000);
    await reconcile();
    expect(revoked).toEqual([]);
    expect(outcome().completed).toBe(1);
  });

  it('is worked on without an end that can be read, and never given up', async () => {
    const record = { notAfter: Number.POSITIVE_INFINITY };
    const { clock, outcome, reconcile } = setUp({ owner: undefined, record, problems: [silent] });
    const waiting = await reconcile();
    expect(waiting).toEqual({ requeueAfterMs: expect.any(Number) });
    clock.advance(waiting?.requeueAfterMs ?? 0);
    await reconcile();
    expect(outcome()).toMatchObject({ notes: [expect.stringContaining('until it ends')], completed: 1 });
  });

  it('that cannot be read is an event and counted, is kept, and is read again', async () => {
    const { outcome, revoked, reconcile } = setUp({ owner: undefined, record: { readable: false } });
    expect(await reconcile()).toEqual({ requeueAfterMs: 60_000 });
    expect(await reconcile()).toEqual({ requeueAfterMs: 60_000 });
    expect(revoked).toEqual([]);
    expect(outcome()).toEqual({
      notes: [expect.stringContaining('cannot be read')],
      pending: ['+RevocationUnreadable'],
      completed: 0,
    });
  });

  it('is acted on once it can be read, and counted no more', async () => {
    const { outcome, revoked, write, reconcile } = setUp({ owner: undefined, record: { readable: false } });
    await reconcile();
    write({ readable: true });
    expect(await reconcile()).toBeUndefined();
    expect(revoked).toEqual([[1]]);
    expect(outcome()).toMatchObject({
      pending: ['+RevocationUnreadable', '-RevocationUnreadable'],
      completed: 1,
    });
  });

  it('is counted no more once it can be read, and not acted on before it is due', async () => {
    const living = ownerWith({ serial: 1, boundSerials: [1] });
    const { outcome, revoked, write, reconcile } = setUp({ owner: living, record: { readable: false } });
    await reconcile();
    write({ readable: true });
    expect(await reconcile()).toBeUndefined();
    expect(revoked).toEqual([]);
    expect(outcome()).toMatchObject({ pending: ['+RevocationUnreadable', '-RevocationUnreadable'] });
  });
});
