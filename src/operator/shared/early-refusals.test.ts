import { beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import type { EventInput } from '../../kube/events/event-object.ts';
import { silentLogger } from '../../logger.ts';
import { referenceGrace } from './early-refusals.ts';
import { ObjectEvents, type TransitionEvent } from './events.ts';

const now = Date.parse('2026-11-25T10:00:00Z');
let clock: FakeClock;
let events: ObjectEvents;
let written: EventInput[];
beforeEach(() => {
  clock = new FakeClock(now);
  written = [];
  events = new ObjectEvents({ record: (event) => void written.push(event) }, silentLogger, clock);
});

const subject = { kind: 'SpaceInstance', key: 'p-demo/web', name: 'web', uid: 'u', resourceVersion: '1' };
const refusal: TransitionEvent = {
  ...{ type: 'Warning', reason: 'ClusterNotReady', action: 'Refuse', note: 'The cluster is not ready.' },
};
const connected: TransitionEvent = { ...refusal, type: 'Normal', reason: 'Connected', action: 'Connect' };
const refuse = (event = refusal, created = clock.now()) => events.publish({ ...subject, created }, [event]);
const said = () => written.map(({ type, action }) => `${type} ${action}`);

describe('an object that refers to what is not there yet', () => {
  it('waits at first, and is warned of when that lasts', () => {
    refuse();
    expect(written).toMatchObject([
      { type: 'Normal', reason: 'ClusterNotReady', action: 'Wait', note: refusal.note },
    ]);
    clock.advance(referenceGrace - 1);
    expect(said()).toEqual(['Normal Wait']);
    clock.advance(1);
    expect(said()).toEqual(['Normal Wait', 'Warning Refuse']);
    clock.advance(referenceGrace);
    expect(said()).toHaveLength(2);
  });

  it('is never warned of when what it waits for comes', () => {
    refuse();
    events.publish({ ...subject, created: now }, [connected]);
    clock.advance(referenceGrace);
    expect(said()).toEqual(['Normal Wait', 'Normal Connect']);
  });

  it('is warned of what is wrong since, and not of what was', () => {
    refuse();
    refuse({ ...refusal, reason: 'TargetForbidden' });
    clock.advance(referenceGrace);
    expect(said()).toEqual(['Normal Wait', 'Warning Refuse']);
    expect(written.at(-1)?.reason).toBe('TargetForbidden');
  });

  it('is warned of at once when it is older, or wrong in itself', () => {
    refuse(refusal, now - referenceGrace);
    refuse({ ...refusal, reason: 'TargetInUse' });
    events.publish(subject, [refusal]);
    expect(said()).toEqual(['Warning Refuse', 'Warning Refuse', 'Warning Refuse']);
  });

  it('is warned of no more by an operator that leads no longer', () => {
    refuse();
    events.close();
    clock.advance(referenceGrace);
    expect(said()).toEqual(['Normal Wait']);
  });
});
