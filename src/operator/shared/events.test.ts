import { expect, it } from 'vitest';
import type { EventInput } from '../../kube/events/event-object.ts';
import { silentLogger } from '../../logger.ts';
import { ObjectEvents } from './events.ts';

const subject = { kind: 'OwnedAccessKey', key: 'ci', name: 'ci', uid: 'u', resourceVersion: '1' };
const secret = {
  ...{ apiVersion: 'v1', kind: 'Secret', key: 'team/ci', name: 'ci', namespace: 'team' },
  ...{ uid: 's', resourceVersion: '2' },
};
const transition = {
  type: 'Warning',
  reason: 'Disabled',
  action: 'Refuse',
  note: 'It is disabled.',
} as const;

it('an event is written about each object that it is about, and logged once', () => {
  const written: EventInput[] = [];
  const lines: object[] = [];
  const log = { ...silentLogger, info: (line: object) => void lines.push(line) };
  const events = new ObjectEvents({ record: (event) => void written.push(event) }, log as never);

  events.publish(subject, [transition], [secret]);

  expect(
    written.map(({ regarding: { kind, namespace, uid }, reason }) => [kind, namespace, uid, reason]),
  ).toEqual([
    ['OwnedAccessKey', undefined, 'u', 'Disabled'],
    ['Secret', 'team', 's', 'Disabled'],
  ]);
  expect(lines).toEqual([{ kind: 'OwnedAccessKey', name: 'ci', reason: 'Disabled' }]);
});
