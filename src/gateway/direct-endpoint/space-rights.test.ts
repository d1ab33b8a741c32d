import { describe, expect, it } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { keyFor } from '../gate/entry-permissions.ts';
import { maxKeptRights, SpaceRights } from './space-rights.ts';

const ann = { kind: 'user', user: 'ann', groups: [] } as const;
const space = { verb: 'use', resource: 'spaceinstances', namespace: 'p-red', name: 'app' };
const cluster = { verb: 'use', resource: 'clusters', namespace: '', name: 'edge' };

/** Permissions that know nothing but `known`, as after every answer is too old. */
function setUp() {
  const clock = new FakeClock();
  const state = { isAway: false, isSpace: true, known: undefined as boolean | undefined, asked: 0 };
  const permissions = {
    find: () => state.known,
    ask: async () => {
      state.asked += 1;
    },
    mayStay: () => state.known === true,
  };
  const followed = {
    get isAway() {
      return state.isAway;
    },
  };
  const isSpace = () => state.isSpace;
  const rights = new SpaceRights({ permissions, clock, followed, isSpace, staleAfterMs: 45_000 });
  return { clock, state, rights };
}

describe('the right to enter', () => {
  it('is there for the cluster with every token that the stream names', () => {
    const { rights } = setUp();
    expect([rights.find(ann, cluster), rights.mayStay(ann, cluster)]).toEqual([true, true]);
  });

  it('is asked for a space', () => {
    const { rights, state } = setUp();
    expect([rights.find(ann, space), rights.mayStay(ann, space)]).toEqual([undefined, false]);
    state.known = true;
    expect([rights.find(ann, space), rights.mayStay(ann, space)]).toEqual([true, true]);
  });

  it('is not there, and not asked for, where no such space is in the cluster', () => {
    const { rights, state } = setUp();
    state.isSpace = false;
    expect(rights.find(ann, space)).toBe(false);
  });

  it('lasts through an outage where the last answer was a yes, and there alone', () => {
    const { rights, state } = setUp();
    rights.onAnswer(keyFor(ann, space), true);
    state.isAway = true;
    expect([rights.find(ann, space), rights.mayStay(ann, space)]).toEqual([true, true]);
    expect(rights.find({ ...ann, user: 'eve' }, space)).toBeUndefined();
    rights.onAnswer(keyFor(ann, space), false);
    expect([rights.find(ann, space), rights.mayStay(ann, space)]).toEqual([undefined, false]);
  });

  it('is not waited for in an outage', async () => {
    const { rights, state } = setUp();
    state.isAway = true;
    await expect(rights.ask(ann, space)).rejects.toThrow('the platform is away');
    expect(state.asked).toBe(0);
  });

  it('is asked again after an outage, and requests under way wait for that, but not for long', () => {
    const { rights, state, clock } = setUp();
    rights.onAnswer(keyFor(ann, space), true);
    state.isAway = true;
    rights.mayStay(ann, space);
    state.isAway = false;
    expect(rights.mayStay(ann, space)).toBe(true);
    expect(state.asked).toBe(1);
    clock.advance(45_000);
    expect(rights.mayStay(ann, space)).toBe(false);
  });

  it('is kept for as many as the memory is meant for, the newest', () => {
    const { rights } = setUp();
    for (let index = 0; index <= maxKeptRights; index += 1) rights.onAnswer(`${index}`, true);
    expect(rights.kept).toHaveLength(maxKeptRights);
    expect(rights.kept.at(0)).toBe('1');
    const { rights: later } = setUp();
    later.restore(rights.kept);
    expect(later.kept).toEqual(rights.kept);
  });
});
