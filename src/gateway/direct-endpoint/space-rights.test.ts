import { describe, expect, it } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { beatMs } from '../../api/live-credentials.ts';
import { UpstreamBusy } from '../turns/request-slots.ts';
import { maxKeptRights, maxKeptRightsOfUser, SpaceRights } from './space-rights.ts';

const ann = { kind: 'user', user: 'ann', groups: [] } as const;
const space = { verb: 'use', resource: 'spaceinstances', namespace: 'p-red', name: 'app' };
const hour = 3_600_000;
const cluster = { verb: 'use', resource: 'clusters', namespace: '', name: 'edge' };

/** Permissions that know nothing but `known`, as after every answer is too old. */
function setUp() {
  const clock = new FakeClock();
  const state = {
    proved: 0,
    uid: 's1' as string | undefined,
    known: undefined as boolean | undefined,
    asked: 0,
    answer: Promise.resolve(),
  };
  const permissions = {
    find: () => state.known,
    ask: async () => {
      state.asked += 1;
      await state.answer;
    },
    mayStay: () => state.known === true,
  };
  const followed = {
    get isAway() {
      return followed.silentMs > 6_000;
    },
    get silentMs() {
      return clock.monotonic() - state.proved;
    },
  };
  const spaceUID = () => state.uid;
  const limits = { staleAfterMs: 45_000, outageMs: hour };
  const rights = new SpaceRights({ permissions, clock, followed, spaceUID, ...limits });
  const answer = (isAllowed: boolean, user = 'ann', name = 'app') =>
    rights.onAnswer({
      ...{ identity: { ...ann, user }, entry: { ...space, name }, uid: state.uid ?? '', isAllowed },
    });
  /** The platform proves that it is there until now. */
  const prove = () => {
    state.proved = clock.monotonic();
  };
  return { clock, state, rights, answer, prove };
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
    state.uid = undefined;
    expect(rights.find(ann, space)).toBe(false);
  });

  it('lasts through an outage where the last answer was a yes, and there alone', () => {
    const { rights, clock, answer } = setUp();
    answer(true);
    expect(rights.find(ann, space)).toBeUndefined();
    clock.advance(6_001);
    expect([rights.find(ann, space), rights.mayStay(ann, space)]).toEqual([true, true]);
    expect(rights.find({ ...ann, user: 'eve' }, space)).toBeUndefined();
    answer(false);
    expect([rights.find(ann, space), rights.mayStay(ann, space)]).toEqual([undefined, false]);
  });

  it('does not come back in an outage that began long after the last yes', () => {
    const { rights, clock, answer, prove } = setUp();
    answer(true);
    clock.advance(hour);
    prove();
    clock.advance(6_001);
    expect(rights.find(ann, space)).toBe(true);
    prove();
    clock.advance(6_001);
    expect([rights.find(ann, space), rights.mayStay(ann, space)]).toEqual([undefined, false]);
  });

  it('lasts as long as the outage, which began soon after the last yes', () => {
    const { rights, clock, answer, prove } = setUp();
    answer(true);
    clock.advance(hour);
    prove();
    clock.advance(hour);
    expect([rights.find(ann, space), rights.mayStay(ann, space)]).toEqual([true, true]);
    prove();
    expect(rights.mayStay(ann, space)).toBe(true);
  });

  it('is not there for a space that was made again under its name', () => {
    const { rights, clock, state, answer } = setUp();
    answer(true);
    clock.advance(6_001);
    state.uid = 's2';
    expect([rights.find(ann, space), rights.mayStay(ann, space)]).toEqual([undefined, false]);
  });

  it('is not waited for in an outage', async () => {
    const { rights, state, clock } = setUp();
    clock.advance(6_001);
    await expect(rights.ask(ann, space)).rejects.toThrow('the platform is away');
    expect(state.asked).toBe(0);
  });

  it('is asked again after an outage, and requests under way wait for that, but not for long', () => {
    const { rights, state, clock, answer, prove } = setUp();
    answer(true);
    clock.advance(6_001);
    rights.mayStay(ann, space);
    prove();
    expect(rights.mayStay(ann, space)).toBe(true);
    expect(state.asked).toBe(1);
    for (let step = 0; step < 9; step += 1) {
      clock.advance(5_000);
      prove();
    }
    expect(rights.mayStay(ann, space)).toBe(false);
  });
});

describe('a question when the platform is lost, which the endpoint notices seconds later', () => {
  const refused = new Error('refused');

  /** The question is asked after three seconds without a word of the platform. */
  function askAfterLoss() {
    const all = setUp();
    all.answer(true);
    all.clock.advance(3_000);
    const { promise, reject } = Promise.withResolvers<void>();
    all.state.answer = promise;
    const outcome: { is: unknown } = { is: 'open' };
    const over = (is: unknown) => {
      outcome.is = is;
    };
    all.rights.ask(ann, space).then(() => over('over'), over);
    return { ...all, reject, outcome };
  }

  it.each(['is not answered', 'fails at once'])(
    'that %s is waited for until then, and the last yes counts',
    async (how) => {
      const { rights, clock, outcome, reject } = askAfterLoss();
      if (how === 'fails at once') reject(refused);
      await clock.advanceAsync(3_000);
      expect(outcome.is).toBe('open');
      await clock.advanceAsync(1);
      expect(outcome.is).toBe('over');
      expect(rights.find(ann, space)).toBe(true);
    },
  );

  it('that fails is asked once more as soon as the platform says another word, and then is a failure', async () => {
    const { rights, state, clock, outcome, reject, prove } = askAfterLoss();
    const again = Promise.withResolvers<void>();
    state.answer = again.promise;
    reject(new Error('the connection was reset'));
    await clock.settle();
    clock.advance(1);
    prove();
    await clock.advanceAsync(beatMs);
    expect([state.asked, outcome.is]).toEqual([2, 'open']);
    again.reject(refused);
    await clock.settle();
    expect(outcome.is).toBe(refused);
    expect(rights.find(ann, space)).toBeUndefined();
    expect(clock.pendingTimers).toBe(0);
  });

  it('that fails at the bound of questions is refused at once', async () => {
    const { clock, outcome, reject } = askAfterLoss();
    reject(new UpstreamBusy());
    await clock.settle();
    expect(outcome.is).toBeInstanceOf(UpstreamBusy);
    expect(clock.pendingTimers).toBe(0);
  });

  it('that is answered leaves no timer behind', async () => {
    const { rights, clock } = setUp();
    await rights.ask(ann, space);
    expect(clock.pendingTimers).toBe(0);
  });
});

describe('the rights that are kept', () => {
  const users = maxKeptRights / maxKeptRightsOfUser;
  const fill = (answer: (isAllowed: boolean, user: string, name: string) => void, user: string) => {
    for (let index = 0; index <= maxKeptRightsOfUser; index += 1) answer(true, user, `space-${index}`);
  };

  it('are the newest of a user, who pushes out no one else', () => {
    const { rights, clock, answer } = setUp();
    answer(true);
    fill(answer, 'mallory');
    expect(rights.kept).toHaveLength(1 + maxKeptRightsOfUser);
    clock.advance(6_001);
    const mallory = { ...ann, user: 'mallory' };
    expect(rights.find(ann, space)).toBe(true);
    expect(rights.find(mallory, { ...space, name: 'space-0' })).toBeUndefined();
    expect(rights.find(mallory, { ...space, name: 'space-1' })).toBe(true);
  });

  it('are as many as the memory is meant for; those of the user who was away for the longest go', () => {
    const { rights, answer } = setUp();
    for (let index = 0; index < users; index += 1) fill(answer, `user-${index}`);
    expect(rights.kept).toHaveLength(maxKeptRights);
    answer(true, 'user-0', 'space-1');
    answer(true, 'ann');
    expect(rights.kept).toHaveLength(maxKeptRights);
    expect(rights.kept.filter(({ user }) => user === 'user-0')).toHaveLength(maxKeptRightsOfUser);
    expect(rights.kept.filter(({ user }) => user === 'user-1')).toHaveLength(maxKeptRightsOfUser - 1);
  });

  it('are not kept for a restart when no outage may rest on them any more', () => {
    const { rights, clock, answer, prove } = setUp();
    answer(true);
    clock.advance(hour);
    expect(rights.kept).toHaveLength(1);
    prove();
    expect(rights.kept).toHaveLength(1);
    clock.advance(1);
    prove();
    expect(rights.kept).toEqual([]);
  });

  it('count after a restart with the age that they had', () => {
    const { rights, clock, answer } = setUp();
    answer(true);
    clock.advance(hour);
    answer(true, 'eve');
    const later = setUp();
    later.clock.set(clock.now());
    later.rights.restore(rights.kept);
    expect(later.rights.kept).toEqual(rights.kept);
    later.clock.advance(1_000);
    later.prove();
    later.clock.advance(6_001);
    expect(later.rights.find(ann, space)).toBeUndefined();
    expect(later.rights.find({ ...ann, user: 'eve' }, space)).toBe(true);
  });
});
