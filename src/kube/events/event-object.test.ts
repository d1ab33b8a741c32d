import { describe, expect, it } from 'vitest';
import {
  type EventInput,
  type EventSeries,
  eventName,
  eventNamespace,
  eventObject,
  seriesKey,
} from './event-object.ts';

const input: EventInput = {
  regarding: { apiVersion: 'v1', kind: 'ConfigMap', name: 'a', namespace: 'ns', uid: 'u' },
  type: 'Normal',
  reason: 'Issued',
  action: 'Issue',
  note: 'a key was issued',
};
const reporter = { reportingController: 'latchkey-operator', reportingInstance: 'pod-1' };
const series: EventSeries = {
  input,
  name: 'a.1',
  first: Date.UTC(2026, 0, 1),
  last: Date.UTC(2026, 0, 2),
  count: 1,
};

describe('eventObject', () => {
  it('has every field that the API server asks for', () => {
    expect(eventObject(series, reporter)).toEqual({
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: { name: 'a.1', namespace: 'ns' },
      eventTime: '2026-01-01T00:00:00.000000Z',
      reportingController: 'latchkey-operator',
      reportingInstance: 'pod-1',
      action: 'Issue',
      reason: 'Issued',
      regarding: input.regarding,
      note: 'a key was issued',
      type: 'Normal',
    });
  });

  it('has the count and the last time when it happened more than once', () => {
    expect(eventObject({ ...series, count: 3 }, reporter)).toMatchObject({
      series: { count: 3, lastObservedTime: '2026-01-02T00:00:00.000000Z' },
    });
  });

  it.each(['x'.repeat(3_000), 'ä'.repeat(1_500), '🔑'.repeat(700)])(
    'cuts a note at 1,024 bytes, between characters',
    (note) => {
      const { note: cut } = eventObject({ ...series, input: { ...input, note } }, reporter) as {
        note: string;
      };
      const bytes = Buffer.byteLength(cut);
      expect(bytes).toBeLessThanOrEqual(1_024);
      expect(bytes).toBeGreaterThan(1_015);
      expect(note.startsWith(cut.slice(0, -1))).toBe(true);
    },
  );

  it('cuts what the API server limits to 128 characters', () => {
    const long = { ...input, action: 'a'.repeat(200) };
    const event = eventObject(
      { ...series, input: long },
      { ...reporter, reportingInstance: 'i'.repeat(200) },
    );
    expect(event).toMatchObject({ action: 'a'.repeat(128), reportingInstance: 'i'.repeat(128) });
  });
});

it('puts events of cluster-scoped objects into the namespace default', () => {
  const { namespace: _, ...clusterScoped } = input.regarding;
  expect([eventNamespace(input), eventNamespace({ ...input, regarding: clusterScoped })]).toEqual([
    'ns',
    'default',
  ]);
});

it('makes a name that is valid however long the object is called', () => {
  const regarding = { ...input.regarding, name: `${'a'.repeat(235)}.${'b'.repeat(17)}` };
  const name = eventName({ ...input, regarding }, '0123456789abcdef');
  expect(name).toBe(`${'a'.repeat(235)}.0123456789abcdef`);
  expect(name.length).toBeLessThanOrEqual(253);
});

it('takes events for the same one where only the version of the object differs', () => {
  const regarding = { ...input.regarding, resourceVersion: '8' };
  expect(seriesKey({ ...input, regarding })).toBe(seriesKey(input));
});

it.each([
  { note: 'another key was issued' },
  { reason: 'Other' },
  { action: 'Other' },
  { type: 'Warning' as const },
  { regarding: { ...input.regarding, uid: 'other' } },
])('tells events apart that differ in %j', (difference) => {
  expect(seriesKey({ ...input, ...difference })).not.toBe(seriesKey(input));
});
