import { describe, expect, it, vi } from 'vitest';
import { instanceRecord } from '../../../test/builders/target-record.ts';
import { annotations } from '../../api/names.ts';
import { ReferenceCheck, type ReferenceCheckOptions } from './reference-check.ts';

const record = instanceRecord({
  metadata: {
    annotations: {
      [annotations.requester]: 'ada',
      [annotations.requesterGroups]: '[]',
      [annotations.changedBy]: 'bob',
      [annotations.changedByGroups]: '[]',
    },
  },
});
const confirmed = instanceRecord({
  status: { confirmed: { secretRef: { namespace: 'default', name: 'vc-shop', key: 'config' } } },
});
const denial = { refusal: { reason: 'RequesterNotPermitted', message: 'no' }, waitMs: 1_000 } as const;

const waits = { problem: { reason: 'AdmissionMissing' }, waitMs: 10_000 };

function setUp() {
  const ask = vi.fn<ReferenceCheckOptions['reviews']['ask']>(async () => undefined);
  const assertAdmission = vi.fn();
  const has = vi.fn(() => false);
  const judged = vi.fn(async () => undefined);
  const references = new ReferenceCheck({
    ...{ reviews: { ask }, assertAdmission, trustedSince: () => 0 },
    unguarded: { has, judged },
  });
  return { ask, assertAdmission, has, judged, check: (one = record) => references.check(one, {}, false) };
}

describe('ReferenceCheck', () => {
  it('lets a reference be used that all who wrote it have a right to', async () => {
    const { ask, check } = setUp();
    expect(await check()).toEqual({ reference: record.reference });
    expect(ask.mock.calls.map(([, { asker }]) => asker.user)).toEqual(['ada', 'bob']);
  });

  it('takes the no of one for all, with a pause for each', async () => {
    const { ask, check } = setUp();
    ask.mockImplementation(async (_, { asker }) => (asker.user === 'bob' ? denial : undefined));
    expect(await check()).toEqual({ problem: denial.refusal, waitMs: 1_000 });
    expect(new Set(ask.mock.calls.map(([{ uid }]) => uid)).size).toBe(2);
  });

  it('asks nothing about an object of a time without policies', async () => {
    const { ask, has, check } = setUp();
    has.mockReturnValue(true);
    expect(await check()).toEqual({ problem: expect.objectContaining({ reason: 'RequesterUnknown' }) });
    expect(ask).not.toHaveBeenCalled();
  });

  it('asks nothing before it is known whether the policies have judged it', async () => {
    const { ask, judged, check } = setUp();
    judged.mockRejectedValue(new Error('not seen yet'));
    await expect(check()).rejects.toThrow('not seen yet');
    expect(ask).not.toHaveBeenCalled();
  });

  it('takes no answer for no no', async () => {
    const { ask, check } = setUp();
    ask.mockRejectedValue(new Error('down'));
    await expect(check()).rejects.toThrow('down');
  });

  it('asks about nothing while a policy is missing, and uses what is confirmed', async () => {
    const { ask, assertAdmission, check } = setUp();
    assertAdmission.mockImplementation(() => {
      throw new Error('missing');
    });
    expect(await check()).toMatchObject(waits);
    expect(ask).not.toHaveBeenCalled();
    expect(await check(confirmed)).toEqual({ reference: confirmed.confirmed });
  });

  it('confirms nothing where a policy has gone while it asked', async () => {
    const { ask, assertAdmission, check } = setUp();
    ask.mockImplementation(async () => {
      assertAdmission.mockImplementation(() => {
        throw new Error('missing');
      });
      return undefined;
    });
    expect(await check()).toMatchObject(waits);
  });
});
