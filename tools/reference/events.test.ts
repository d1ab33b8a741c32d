import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { conditionTypes } from '../../src/api/conditions.ts';
import { finalizers } from '../../src/api/names.ts';
import { reasonTexts } from '../../src/api/reason-texts.ts';
import { type Reason, reasons } from '../../src/api/reasons.ts';
import { toCredentialRecord } from '../../src/credentials/credential-record.ts';
import { toLockRecord } from '../../src/credentials/locks/lock-record.ts';
import type { EventInput } from '../../src/kube/events/event-object.ts';
import { AdmissionEvents } from '../../src/operator/admission/admission-events.ts';
import { recordNotSigned } from '../../src/operator/certificates/revocation-records.ts';
import { loginSecretsMoved } from '../../src/operator/credentials/access-keys/login-secrets.ts';
import type { DesiredStatus } from '../../src/operator/credentials/desired-status.ts';
import { credentialDeleted, leftBehind } from '../../src/operator/credentials/finalizer.ts';
import { transitionEvents } from '../../src/operator/credentials/transition-events.ts';
import { lockStatus, lockTransitions } from '../../src/operator/locks/lock-status.ts';
import {
  certificateNotRevoked,
  finalizerReleased,
  revocationUnreadable,
  signingKeyUnreadable,
  type TransitionEvent,
} from '../../src/operator/shared/events.ts';
import { targetTransitions } from '../../src/operator/targets/target-status.ts';
import { definitionFiles } from './api-page.ts';
import { readDocument } from './document.ts';

const kinds = definitionFiles().map(
  (file): string => parse(readDocument(`crds/${file}.yaml`)).spec.names.kind,
);
/** Of a summary, type and action are those of the events that it sums up. */
const withoutEvent: readonly Reason[] = [reasons.pending, reasons.storm];

const condition = (type: string, status: string, reason: string) => ({ type, status, reason });

/** A key that was issued once, with fingerprint and Ready condition as given. */
const recordWith = (ready: string, fingerprint = 'v1:old') =>
  toCredentialRecord(
    {
      metadata: { name: 'a', uid: '1' },
      spec: { user: 'alice' },
      status: { serial: 1, fingerprint, conditions: [condition(conditionTypes.ready, ready, 'Before')] },
    },
    'OwnedAccessKey',
  );

const desired = (change: Partial<DesiredStatus>): DesiredStatus => ({
  confirmation: { serial: 1 },
  ready: { status: 'True', reason: reasons.issued, message: '' },
  ...change,
});

const [present = ''] = recordWith('True').fingerprints;
const about = (reason: Reason) => ({ reason, message: '' });

const aLock = toLockRecord({ metadata: { name: 'a' }, spec: { user: 'a' } });

/** Events about policies that went missing and came back. */
const admissionEvents = await sayOfAdmission();

async function sayOfAdmission(): Promise<readonly TransitionEvent[]> {
  const seen: EventInput[] = [];
  const client = { get: async () => ({ metadata: { uid: '1' } }) };
  const recorder = { record: (event: EventInput) => void seen.push(event) };
  const events = new AdmissionEvents({ client: client as never, recorder });
  for (const problem of ['missing: a', undefined]) await events.report(problem);
  return seen as unknown as TransitionEvent[];
}

/** The events of a credential, for each action, with the reason given. */
const scenarios: Readonly<Record<string, (reason: Reason) => readonly TransitionEvent[]>> = {
  Issue: (reason) =>
    transitionEvents(
      recordWith('True'),
      desired({ confirmation: { serial: 2, credentialHash: 'b' } }),
      reason,
    ),
  Confirm: () =>
    transitionEvents(recordWith('True'), desired({ confirmation: { serial: 1, fingerprint: present } })),
  Refuse: (reason) =>
    transitionEvents(recordWith('True'), desired({ ready: { status: 'False', ...about(reason) } })),
  Enable: () => transitionEvents(recordWith('False', present), desired({})),
  Expire: (reason) => transitionEvents(recordWith('True'), desired({ expiringSoon: about(reason) })),
  Rotate: (reason) => transitionEvents(recordWith('True'), desired({ rotationNotPossible: about(reason) })),
  Match: (reason) => transitionEvents(recordWith('True'), desired({ scopeMatchesNothing: about(reason) })),
  Connect: (reason) =>
    targetTransitions({ conditions: [] }, { phase: 'Ready', ready: { status: 'True', reason, message: '' } }),
  Lock: () => lockTransitions(aLock, lockStatus(aLock, 0, 0)),
  Delete: () => [credentialDeleted(recordWith('True'), false)],
  Finalize: () => [finalizerReleased(leftBehind)],
  Revoke: () => [
    certificateNotRevoked('then', about(reasons.targetForbidden)),
    revocationUnreadable,
    recordNotSigned,
  ],
  Wait: () => admissionEvents.slice(0, 1),
  Resume: () => admissionEvents.slice(1),
  Keep: () => [signingKeyUnreadable('a.pem')],
  Move: () => [loginSecretsMoved],
};

const documented = Object.values(reasons).flatMap((reason) => {
  const { event } = reasonTexts[reason];
  return (event?.actions ?? []).map((action) => ({ reason, type: event?.type, action }));
});

describe('the catalogue of reasons', () => {
  it('has an event for every reason that can be one', () => {
    const silent = Object.values(reasons).filter((reason) => reasonTexts[reason].event === undefined);
    expect(silent.toSorted()).toEqual(withoutEvent.toSorted());
  });

  it.each(documented)('$reason is a $type event with the action $action', ({ reason, type, action }) => {
    const events = scenarios[action]?.(reason) ?? [];
    expect(events).toContainEqual(expect.objectContaining({ reason, type, action }));
  });
});

it('docs/reference/status.md says of which kinds a deletion is no event, because they have no finalizer', () => {
  const silent = kinds.filter((kind) => !(kind in finalizers));
  expect(silent.length).toBeGreaterThan(0);
  for (const kind of silent)
    expect(readDocument('docs/reference/status.md')).toContain(`the deletion of a \`${kind}\` is no event`);
});
