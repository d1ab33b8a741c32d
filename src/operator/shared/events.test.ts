import { beforeEach, expect, it } from 'vitest';
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
const events = new ObjectEvents({ record: (event) => void written.push(event) }, log as never);

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

it('an event about another object names no one and no right', () => {
  events.publish(subject, [transition], [secret]);

  expect(written.map(({ type, note }) => [type, note])).toEqual([
    ['Warning', 'See the OwnedAccessKey ci.'],
    ['Warning', 'User "bob" needs the verb "impersonate".'],
  ]);
});

it.each(['Issued', 'Renewed', 'Rotated'] as const)(
  'an event %s says the same about all objects',
  (reason) => {
    const note = 'The credential with serial 2 was issued.';

    events.publish(subject, [{ type: 'Normal', reason, action: 'Issue', note }], [secret]);

    expect(written.map((event) => event.note)).toEqual([note, note]);
  },
);
