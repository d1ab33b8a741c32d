import { describe, expect, it } from 'vitest';
import type { EventInput } from '../../kube/events/event-object.ts';
import { AdmissionEvents } from './admission-events.ts';

function setUp(get: () => Promise<unknown> = async () => ({ metadata: { uid: 'u1' } })) {
  const recorded: EventInput[] = [];
  const recorder = { record: (event: EventInput) => void recorded.push(event) };
  const events = new AdmissionEvents({ client: { get } as never, recorder });
  return { events, recorded };
}

describe('AdmissionEvents', () => {
  it('says nothing while nothing was ever missing', async () => {
    const { events, recorded } = setUp();
    await events.report(undefined);
    expect(recorded).toEqual([]);
  });

  it('says once what is missing, again when something else is, and once that all is back', async () => {
    const { events, recorded } = setUp();
    for (const problem of ['missing: a', 'missing: a', 'missing: a, b', undefined, undefined])
      await events.report(problem);
    expect(recorded.map(({ type, reason }) => `${type} ${reason}`)).toEqual([
      'Warning AdmissionMissing',
      'Warning AdmissionMissing',
      'Normal AdmissionComplete',
    ]);
    expect(recorded[0]).toMatchObject({
      regarding: { kind: 'Deployment', namespace: 'latchkey-system', name: 'latchkey-operator', uid: 'u1' },
      note: expect.stringContaining('missing: a'),
    });
  });

  it('says it also where it cannot read the Deployment', async () => {
    const { events, recorded } = setUp(async () => Promise.reject(new Error('forbidden')));
    await events.report('missing: a');
    expect(recorded).toMatchObject([{ reason: 'AdmissionMissing', regarding: { uid: '' } }]);
  });
});
