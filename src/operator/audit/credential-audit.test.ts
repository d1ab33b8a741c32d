import { describe, expect, it } from 'vitest';
import { memorySink } from '../../../test/builders/audit-lines.ts';
import { liveRecord } from '../../../test/builders/credential-object.ts';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { reasons } from '../../api/reasons.ts';
import { keyIDOf } from '../../credentials/keys/credential-hash.ts';
import { systemClock } from '../../kube/clock.ts';
import type { TransitionEvent } from '../shared/events.ts';
import { CredentialAudit } from './credential-audit.ts';

const event = (action: string, reason: TransitionEvent['reason']): TransitionEvent => ({
  ...{ type: 'Normal', note: 'a note that may name people', action, reason },
});

const parent = liveRecord({ name: 'team' });
const record = liveRecord(
  { kind: 'DirectClusterEndpointToken', name: 'deploy', spec: { accessKey: 'team' } },
  [parent],
);

async function linesOf(events: readonly TransitionEvent[]) {
  const kept = memorySink();
  const audit = new CredentialAudit({ sink: kept.sink, clock: systemClock });
  audit.report(record, events, (name) => (name === 'team' ? parent : undefined));
  await kept.sink.close(1_000);
  return kept.events();
}

describe('the operator', () => {
  it('has a line about a credential that it issues: which one, for which user, below which key', async () => {
    const [line, another] = await linesOf([event('Issue', reasons.rotated)]);
    expect(another).toBeUndefined();
    expect(line).toMatchObject({
      ...{
        verb: 'issue',
        sourceIPs: [],
        user: { username: 'system:serviceaccount:latchkey-system:latchkey-operator' },
      },
      objectRef: { resource: 'directclusterendpointtokens', name: 'deploy', uid: record.uid },
    });
    const { credentialHash = '', subject } = record.status;
    expect(line?.annotations).toEqual({
      ...{ 'credential-kind': 'DirectClusterEndpointToken', credential: 'deploy' },
      ...{ 'credential-uid': record.uid, 'key-id': keyIDOf(credentialHash) },
      ...{ 'root-key': 'team', 'root-key-uid': parent.uid, 'root-key-id': expect.any(String) },
      ...{ chain: `${record.uid} ${parent.uid}`, decision: 'allow', action: 'issue', reason: 'Rotated' },
      ...{ requester: 'alice', ...(subject && { subject }) },
    });
  });

  it.each([
    ['Confirm', reasons.confirmed, 'allow'],
    ['Enable', reasons.enabled, 'allow'],
    ['Refuse', reasons.disabled, 'refuse'],
    ['Refuse', reasons.expired, 'refuse'],
    ['Delete', reasons.deleted, 'refuse'],
  ] as const)('has one about %s for the reason %s', async (action, reason, decision) => {
    const [line] = await linesOf([event(action, reason)]);
    expect(line?.annotations).toMatchObject({ action: action.toLowerCase(), reason, decision });
  });

  it('has none about what gives and takes nothing', async () => {
    expect(
      await linesOf([event('Expire', reasons.expiringSoon), event('Match', reasons.scopeMatchesNothing)]),
    ).toEqual([]);
  });

  it('confirms nothing while its lines are required and are not written', async () => {
    const clock = new FakeClock();
    const tried = Promise.withResolvers<void>();
    const output = {
      maxBytes: 4_096,
      write: async () => {
        tried.resolve();
        throw Object.assign(new Error('full'), { code: 'ENOSPC' });
      },
      close: async () => undefined,
    };
    const { sink } = memorySink({ mode: 'require', output, clock });
    const audit = new CredentialAudit({ sink, clock });
    audit.assertOpen();
    audit.report(record, [event('Issue', reasons.issued)], () => parent);
    clock.advance(100);
    await tried.promise;
    clock.advance(6_000);
    expect(() => audit.assertOpen()).toThrow(expect.objectContaining({ code: 'ERR_AUDIT_UNAVAILABLE' }));
  });
});
