import { describe, expect, it } from 'vitest';
import { credentialObject, recordOf } from '../../../../test/builders/credential-object.ts';
import { instanceRecord } from '../../../../test/builders/target-record.ts';
import { type Reason, reasons } from '../../../api/reasons.ts';
import type { TargetProblem } from '../../../platform/targets/target-problem.ts';
import type { RevocationKey } from '../../certificates/revocation-records.ts';
import { type Finalization, releaseOf } from '../finalizer.ts';
import {
  type CertificateRemains,
  cleanUpCertificates,
  LastTries,
  remainderOf,
} from './certificate-clean-up.ts';

const deadline = 60_000;
const because = (reason: Reason) => ({ problem: { reason, message: '' } });
const away = because(reasons.targetUnreachable);

type Case = CertificateRemains & Omit<Finalization, 'left'>;
const base: Case = { secrets: 0, problem: undefined, instance: 'present', now: 1, deadline };

it.each<[string, Partial<Case>, ReturnType<typeof releaseOf>]>([
  ['nothing is left', {}, 'done'],
  ['a Secret is left', { secrets: 1 }, undefined],
  ['the virtual cluster is away', away, undefined],
  ['the virtual cluster is away until the limit', { ...away, now: deadline }, 'left'],
  ['a Secret is left at the limit', { secrets: 1, now: deadline }, 'left'],
  ['nothing is left, however late', { now: deadline + 1 }, 'done'],
  ['the instance is going and its cluster does not answer', { ...away, instance: 'going' }, 'left'],
  ['the instance is going and its cluster was cleaned', { instance: 'going' }, 'done'],
  ['the instance is gone', { ...away, instance: 'gone' }, 'left'],
  ['the administrator Secret is gone', because(reasons.kubeConfigNotFound), 'left'],
  ['the instance is gone and a Secret is left', { ...away, instance: 'gone', secrets: 1 }, undefined],
])('when %s', (_, change, release) => {
  const found = { ...base, ...change };
  expect(releaseOf({ ...found, left: remainderOf(found) })).toBe(release);
});

describe('a kubeconfig of a silent cluster at its limit', () => {
  const kind = 'VirtualClusterInstanceKubeConfig';
  const forbidden = { reason: reasons.targetForbidden, message: 'forbidden' };
  const setUp = (
    boundSerials: readonly number[],
    found: TargetProblem | null = forbidden,
    spec = { clientCert: true },
  ) => {
    const tried: string[] = [];
    const removed: string[] = [];
    const options = {
      targets: { instance: () => instanceRecord() },
      revoker: {
        tryRevoke: async ({ uid }: { uid: string }) => {
          tried.push(uid);
          return found === null ? { caFingerprint: 'f' } : { problem: found };
        },
      },
      revocations: { remove: async ({ caFingerprint }: RevocationKey) => void removed.push(caFingerprint) },
      tries: new LastTries(),
    };
    const metadata = { namespace: 'default' };
    const record = recordOf(credentialObject({ kind, metadata, spec, status: { serial: 1, boundSerials } }));
    const cleanUp = async (isLate: boolean) => {
      const { left, notice, forget } = await cleanUpCertificates(record, isLate, options);
      await forget?.();
      return { left, note: notice?.note };
    };
    return { cleanUp, tried, removed };
  };

  it('dials no more, and says why the last try failed', async () => {
    const { cleanUp, tried } = setUp([1]);
    await cleanUp(false);
    const { left, note } = await cleanUp(true);
    expect([left, tried.length]).toEqual(['something', 1]);
    expect(note).toContain('the cluster refused: forbidden');
  });

  it('says nothing of its certificates when the last try revoked them and only its Secret is left', async () => {
    const { cleanUp, tried, removed } = setUp([1], null);
    await cleanUp(false);
    expect(await cleanUp(true)).toEqual({ left: 'nothing', note: undefined });
    expect([tried.length, removed]).toEqual([1, ['f']]);
  });

  it('goes without any try when its turn never came', async () => {
    const { cleanUp, tried } = setUp([1]);
    const { left, note } = await cleanUp(true);
    expect([left, tried]).toEqual(['something', []]);
    expect(note).toContain('There was no try within LATCHKEY_FINALIZER_LIMIT');
  });

  it.each([
    ['late', true],
    ['in time, and its last try has failed', false],
  ])('keeps what is on record, also where nothing is known to be bound, when it is %s', async (_, isLate) => {
    const { cleanUp, removed } = setUp([]);
    expect((await cleanUp(isLate)).left).toBe('nothing');
    expect(removed).toEqual([]);
  });

  it('asks nothing more of the virtual cluster while it waits for its Secret, once all is revoked', async () => {
    const { cleanUp, tried } = setUp([1], null);
    for (let pass = 0; pass < 3; pass++) expect((await cleanUp(false)).left).toBe('nothing');
    expect(tried).toHaveLength(1);
  });

  it('has no record to forget where it has a token', async () => {
    const { cleanUp, removed } = setUp([], null, { clientCert: false });
    expect((await cleanUp(false)).left).toBe('nothing');
    expect(removed).toEqual([]);
  });

  it('forgets what is on record when its last try revoked it, also where nothing is known to be bound', async () => {
    const { cleanUp, removed } = setUp([], null);
    expect((await cleanUp(false)).left).toBe('nothing');
    expect(removed).toHaveLength(1);
  });
});
