import { describe, expect, it } from 'vitest';
import { labels } from '../../api/names.ts';
import { type PolicyKind, policyVersion, shippedPolicies } from './generated/shipped-policies.ts';
import { toPolicyRecord } from './policy-record.ts';

const kind: PolicyKind = 'ValidatingAdmissionPolicyBinding';
const shipped = shippedPolicies.find((policy) => policy.kind === kind);
const spec = shipped?.spec ?? {};
const created = '2026-11-21T10:00:00Z';

function stateOf(name: string, version?: number | string, given: object = spec): unknown {
  const versions = version === undefined ? {} : { labels: { [labels.policyVersion]: version.toString() } };
  const metadata = { name, uid: 'u', resourceVersion: '1', creationTimestamp: created, ...versions };
  return toPolicyRecord({ metadata, spec: given } as never, kind)?.state;
}

describe('a policy or binding on the API server', () => {
  const name = shipped?.name ?? '';
  const audit = { ...spec, validationActions: ['Audit'] };

  it.each<[string, unknown, unknown]>([
    ['shipped', 'as this release has it', stateOf(name, policyVersion)],
    ['edited', 'set to Audit', stateOf(name, policyVersion, audit)],
    ['older', 'of the release before', stateOf(name, policyVersion - 1)],
    ['edited', 'without a version, as no release has it', stateOf(name)],
    ['edited', 'with a version that is no number', stateOf(name, 'latest')],
    ['newer', 'of the release that comes next', stateOf(name, policyVersion + 1, audit)],
    ['newer', 'of the next release, which added it', stateOf('latchkey-new', policyVersion + 1)],
    ['unknown', 'renamed since', stateOf('latchkey-old-name', policyVersion - 1)],
    ['unknown', 'with our label under another name', stateOf('old-name', policyVersion)],
    ['unknown', 'named like ours', stateOf('latchkey-by-hand')],
  ])('is %s: %s', (state, _, found) => {
    expect(found).toBe(state);
  });

  it('of somebody else is none of ours, nor one that stands only while a certificate is revoked', () => {
    expect(stateOf('somebody-elses')).toBeUndefined();
    expect(stateOf('latchkey-0c5e0e3e-6f0b-4e8a-9a53-0b54bd6a9bdb')).toBeUndefined();
  });

  it('names the label where that is what was edited', () => {
    const metadata = { name, uid: 'u', resourceVersion: '1', creationTimestamp: created };
    expect(toPolicyRecord({ metadata, spec } as never, kind)).toMatchObject({ edited: 'metadata.labels' });
  });

  it('remembers when it was last written, by the clock of the API server, without writes to its status', () => {
    const time = '2026-11-22T10:00:00Z';
    const metadata = { name, uid: 'u', resourceVersion: '1', creationTimestamp: created };
    const status = {
      manager: 'kube-controller-manager',
      subresource: 'status',
      time: '2026-11-22T10:00:01Z',
    };
    const managedFields = [{ manager: 'kubectl', time }, { manager: 'old' }, status];
    expect(toPolicyRecord({ metadata: { ...metadata, managedFields }, spec } as never, kind)).toMatchObject({
      createdAt: Date.parse(created),
      writtenAt: Date.parse(time),
    });
  });
});
