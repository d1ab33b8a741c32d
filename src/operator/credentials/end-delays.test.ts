import { beforeEach, describe, expect, it } from 'vitest';
import {
  type CredentialParts,
  credentialObject,
  recordOf,
} from '../../../test/builders/credential-object.ts';
import type { CredentialRecord } from '../../credentials/record.ts';
import { Store } from '../../kube/cache/store.ts';
import { EndDelays } from './end-delays.ts';

let store: Store<CredentialRecord>;
let delays: EndDelays;
let seen: string[];
let now: number;
let version: number;

beforeEach(() => {
  now = 1_000_000;
  version = 0;
  seen = [];
  store = new Store();
  delays = new EndDelays({
    stores: [store],
    now: () => now,
    onRecorded: (kind, seconds) => seen.push(`${kind} ${seconds}`),
  });
});

/** The watch brings the object in this generation, with this reason in its Ready condition. */
function bring(generation: number, reason = 'Issued', parts: CredentialParts = {}): CredentialRecord {
  version++;
  const metadata = { resourceVersion: String(version), generation };
  const conditions = [{ type: 'Ready', status: 'True', reason, message: '' }];
  const record = recordOf(credentialObject({ ...parts, metadata, status: { conditions } }));
  store.upsert(record);
  return record;
}

describe('the delay with which an end is recorded', () => {
  it('counts from the end of the life, by kind', () => {
    delays.recorded(bring(1), 'Expired', now - 40);
    delays.recorded(bring(1, 'Issued', { kind: 'DirectClusterEndpointToken', name: 'a' }), 'Expired', now);
    expect(seen).toEqual(['OwnedAccessKey 0.04', 'DirectClusterEndpointToken 0']);
  });

  it('counts from the moment in which the watch brought that someone disabled the key', () => {
    bring(1);
    const disabled = bring(2);
    now += 250;
    delays.recorded(disabled, 'Disabled');
    expect(seen).toEqual(['OwnedAccessKey 0.25']);
  });

  it('counts from the change where a shorter life has its end before that', () => {
    bring(1);
    const shortened = bring(2);
    now += 30;
    delays.recorded(shortened, 'Expired', now - 3_600_000);
    expect(seen).toEqual(['OwnedAccessKey 0.03']);
  });

  it('is not below 0 when the wall clock was put back', () => {
    delays.recorded(bring(1), 'Expired', now + 5_000);
    expect(seen).toEqual(['OwnedAccessKey 0']);
  });

  it.each([
    ['another reason', 'Issued', 'AccessKeyNotLive'],
    ['what status has said before', 'Expired', 'Expired'],
    ['a key that was disabled before this process knew of it', 'Issued', 'Disabled'],
  ] as const)('is not measured for %s', (_what, before, after) => {
    delays.recorded(bring(1, before), after, after === 'Disabled' ? undefined : now - 1_000);
    expect(seen).toEqual([]);
  });

  it('counts from the change that status answers, not from an earlier one that it has answered', () => {
    bring(1);
    delays.recorded(bring(2), 'Issued');
    now += 60_000;
    const disabled = bring(3);
    now += 20;
    delays.recorded(disabled, 'Disabled');
    expect(seen).toEqual(['OwnedAccessKey 0.02']);
  });

  it('keeps a change that came while an older state was being written', () => {
    const old = bring(1);
    const disabled = bring(2);
    delays.recorded(old, 'Issued');
    now += 70;
    delays.recorded(disabled, 'Disabled');
    expect(seen).toEqual(['OwnedAccessKey 0.07']);
  });

  it('forgets what is gone', () => {
    bring(1);
    const disabled = bring(2);
    store.remove(disabled.key, disabled.uid);
    delays.recorded(disabled, 'Disabled');
    expect(seen).toEqual([]);
  });
});
