import { beforeEach, expect, it } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import type { EventInput } from '../../kube/events/event-object.ts';
import { silentLogger } from '../../logger.ts';
import { ObjectEvents, type TransitionEvent } from './events.ts';

const subject = { kind: 'OwnedAccessKey', key: 'ci', name: 'ci', uid: 'u', resourceVersion: '1' };
const secret = {
  ...{ apiVersion: 'v1', kind: 'Secret', key: 'team/ci', name: 'ci', namespace: 'team' },
  ...{ uid: 's', resourceVersion: '2' },
};
const transition: TransitionEvent = {
  type: 'Warning',
  reason: 'RequesterNotPermitted',
  action: 'Refuse',
  note: 'User "bob" needs the verb "impersonate".',
};

const written: EventInput[] = [];
const lines: object[] = [];
const log = { ...silentLogger, info: (line: object) => void lines.push(line) };
const events = new ObjectEvents(
  { record: (event) => void written.push(event) },
  log as never,
  new FakeClock(),
);

beforeEach(() => {
  written.length = 0;
  lines.length = 0;
});

it('an event is written about each object that it is about, the first one last, and logged once', () => {
  events.publish(subject, [transition], [secret]);

  expect(
    written.map(({ regarding: { kind, namespace, uid }, reason }) => [kind, namespace, uid, reason]),
  ).toEqual([
    ['Secret', 'team', 's', 'RequesterNotPermitted'],
    ['OwnedAccessKey', undefined, 'u', 'RequesterNotPermitted'],
  ]);
  expect(lines).toEqual([{ kind: 'OwnedAccessKey', name: 'ci', reason: 'RequesterNotPermitted' }]);
});

const noteOfSecret = (action: string, reason: TransitionEvent['reason'] = transition.reason) => {
  events.publish(subject, [{ ...transition, action, reason }], [secret]);
  return written[0]?.note;
};

it('the event about a Secret names no one and no right, but what happened, whose it is, and where to read on', () => {
  expect(noteOfSecret('Refuse')).toBe(
    'The credential in this Secret does not work: RequesterNotPermitted. The conditions of the OwnedAccessKey ci say what to do.',
  );
  expect(written.map(({ type, note }) => [type, note])).toEqual([
    ['Warning', expect.not.stringContaining('bob')],
    ['Warning', 'User "bob" needs the verb "impersonate".'],
  ]);
});

it.each([
  ['Confirm', /^The changed spec of the OwnedAccessKey ci was confirmed\./],
  ['Expire', /^The credential in this Secret ends soon\. The OwnedAccessKey ci says when/],
  ['Rotate', /^The credential in this Secret stays the same\. The conditions of the OwnedAccessKey ci/],
])('the event about a Secret says what %s means there', (action, expected) => {
  expect(noteOfSecret(action)).toMatch(expected);
});

it.each(['Issued', 'Renewed', 'Rotated', 'SecretReplaced', 'TargetChanged'] as const)(
  'an event %s says the same about all objects',
  (reason) => {
    const note = 'The credential with serial 2 was issued.';

    events.publish(subject, [{ type: 'Normal', reason, action: 'Issue', note }], [secret]);

    expect(written.map((event) => event.note)).toEqual([note, note]);
  },
);
