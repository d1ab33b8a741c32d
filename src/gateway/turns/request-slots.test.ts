import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RequestSlot, RequestSlots, type RequestSlotsOptions } from './request-slots.ts';

/** The slots of a test: who holds one, who waits, and whose turn came when. */
class Stage {
  readonly slots: RequestSlots;
  readonly entered: TestSlot[] = [];
  readonly turns: TestSlot[] = [];

  constructor(options: RequestSlotsOptions) {
    this.slots = new RequestSlots(options);
  }

  enter(user: string): TestSlot | undefined {
    const slot = new TestSlot(user, (taken) => void this.turns.push(taken));
    if (!this.slots.enter(slot)) return undefined;
    this.entered.push(slot);
    return slot;
  }

  enterMany(user: string, count: number): (TestSlot | undefined)[] {
    return Array.from({ length: count }, () => this.enter(user));
  }

  of(user: string, state: RequestSlot['state']): TestSlot[] {
    return this.entered.filter((slot) => slot.user === user && slot.state === state);
  }
}

class TestSlot extends RequestSlot {
  isRefused = false;
  readonly #onTurn: (slot: TestSlot) => void;

  constructor(user: string, onTurn: (slot: TestSlot) => void) {
    super(user);
    this.#onTurn = onTurn;
  }

  override onTurn(): void {
    this.#onTurn(this);
  }

  override onRefused(): void {
    this.isRefused = true;
  }
}

const statesOf = (slots: readonly (RequestSlot | undefined)[]) => slots.map((slot) => slot?.state);

describe('slots', () => {
  it('are free for anyone while there are some', () => {
    const stage = new Stage({ max: 4, maxWaiting: 0 });
    expect(statesOf([stage.enter('a'), stage.enter('b'), stage.enter('c'), stage.enter('d')])).toEqual(
      Array(4).fill('taken'),
    );
    expect(stage.enter('e')).toBeUndefined();
  });

  it.each([
    [1, 1],
    [2, 1],
    [3, 1],
    [4, 2],
    [256, 128],
  ])('of %i go to one user up to %i', (max, share) => {
    const stage = new Stage({ max, maxWaiting: 0 });
    expect(stage.enterMany('a', max).filter(Boolean)).toHaveLength(share);
    expect(stage.enter('b') !== undefined).toBe(max > 1);
  });

  it('of which one user gave some back go to that user again, up to half, whichever those were', () => {
    const stage = new Stage({ max: 64, maxWaiting: 0 });
    const slots = stage.enterMany('a', 32);
    for (const slot of slots.slice(0, 16)) stage.slots.leave(slot as RequestSlot);
    expect(statesOf(stage.enterMany('a', 16))).toEqual(Array(16).fill('taken'));
    expect(stage.enter('a')).toBeUndefined();
  });

  it('are given back once, however often', () => {
    const stage = new Stage({ max: 2, maxWaiting: 0 });
    const first = stage.enter('a');
    stage.enter('b');
    for (let time = 0; time < 3; time += 1) stage.slots.leave(first as RequestSlot);
    expect(stage.slots.taken).toBe(1);
  });
});

describe('the line', () => {
  it('is half full with the requests of one user, and the others still get in', () => {
    const stage = new Stage({ max: 1, maxWaiting: 4 });
    stage.enter('a');
    expect(statesOf(stage.enterMany('a', 3))).toEqual(['waiting', 'waiting', undefined]);
    expect(statesOf(stage.enterMany('b', 3))).toEqual(['waiting', 'waiting', undefined]);
    expect(stage.enter('c')?.state).toBe('waiting');
    expect(stage.enter('a')).toBeUndefined();
  });

  it('that several users fill makes room for another: the last of who has the most leaves', () => {
    const stage = new Stage({ max: 2, maxWaiting: 8 });
    stage.enterMany('a', 5);
    stage.enterMany('b', 5);
    expect([stage.of('a', 'waiting').length, stage.of('b', 'waiting').length]).toEqual([4, 4]);
    const last = stage.of('a', 'waiting').at(-1);
    expect(stage.enter('c')?.state).toBe('waiting');
    expect([last?.state, last?.isRefused]).toEqual(['left', true]);
    expect(stage.enter('c')?.state).toBe('waiting');
    // Each has three, three and two: no one has more than one that another has.
    expect(stage.enter('c')).toBeUndefined();
    expect([stage.of('a', 'waiting').length, stage.of('b', 'waiting').length]).toEqual([3, 3]);
    expect(stage.slots.waiting).toBe(8);
    for (const slot of [...stage.of('b', 'taken'), ...stage.of('a', 'taken')]) stage.slots.leave(slot);
    expect(stage.of('c', 'taken')).toHaveLength(1);
  });

  it('has room again for each who leaves', () => {
    const stage = new Stage({ max: 1, maxWaiting: 2 });
    stage.enter('a');
    for (let time = 0; time < 10; time += 1) {
      const slot = stage.enter('b');
      expect(slot?.state).toBe('waiting');
      stage.slots.leave(slot as RequestSlot);
    }
    expect(stage.slots.waiting).toBe(0);
  });

  it('is served in turns of the users, and for each in the order of their requests', () => {
    const stage = new Stage({ max: 1, maxWaiting: 100 });
    const first = stage.enter('x');
    const slots = [...stage.enterMany('a', 3), ...stage.enterMany('b', 2), ...stage.enterMany('c', 1)];
    const [a1, a2, a3, b1, b2, c1] = slots;
    let held = first;
    while (held !== undefined) {
      stage.slots.leave(held);
      held = stage.turns.find(({ state }) => state === 'taken');
    }
    expect(stage.turns).toEqual([a1, b1, c1, a2, b2, a3]);
  });

  it('lets who has their share wait, and others pass', () => {
    const stage = new Stage({ max: 4, maxWaiting: 10 });
    const [a1, , a3] = stage.enterMany('a', 3);
    expect(a3?.state).toBe('waiting');
    const b1 = stage.enter('b');
    expect(b1?.state).toBe('taken');
    stage.slots.leave(b1 as RequestSlot);
    expect(a3?.state).toBe('waiting');
    stage.slots.leave(stage.of('a', 'taken').at(-1) as RequestSlot);
    expect([a1?.state, a3?.state]).toEqual(['taken', 'taken']);
  });
});

describe('users who ask for more than there is', () => {
  it('are served in full as soon as slots of theirs are free, whichever those were', () => {
    const stage = new Stage({ max: 64, maxWaiting: 100 });
    const slots = stage.enterMany('a', 40);
    for (const slot of slots.slice(0, 16)) stage.slots.leave(slot as RequestSlot);
    expect([stage.slots.taken, stage.slots.waiting]).toEqual([24, 0]);
  });

  it.each([2, 3, 4, 5, 8])('when %i of them always ask, each gets its part of what ends', (count) => {
    const max = 16;
    const stage = new Stage({ max, maxWaiting: 1_000 });
    const users = Array.from({ length: count }, (_, index) => `user-${index}`);
    const queue = users.flatMap((user) => stage.enterMany(user, 2 * max));
    const running = queue.filter((slot) => slot?.state === 'taken');
    const rounds = 100;
    for (let turn = 0; turn < rounds * count; turn += 1) {
      const before = stage.turns.length;
      const ended = running.shift();
      if (ended === undefined) break;
      stage.slots.leave(ended);
      stage.enter(ended.user);
      running.push(...stage.turns.slice(before));
    }
    const served = users.map((user) => stage.turns.filter((slot) => slot.user === user).length);
    // The first one or two began with half of the slots each, and so asked for a turn later.
    for (const turns of served) expect(turns).toBeGreaterThanOrEqual(rounds - max / 2);
    expect(stage.slots.taken).toBe(max);
  });
});

describe('whatever comes in whatever order', () => {
  const users = ['a', 'b', 'c', 'd'];
  const steps = fc.array(
    fc.oneof(
      fc.record({ enter: fc.constantFrom(...users) }),
      fc.record({ leave: fc.nat(), again: fc.boolean() }),
    ),
    { maxLength: 200 },
  );
  const sizes = fc.record({ max: fc.integer({ min: 1, max: 12 }), maxWaiting: fc.nat(8) });

  type Step = { enter: string } | { leave: number; again: boolean };
  function run(stage: Stage, step: Step): void {
    if ('enter' in step) return void stage.enter(step.enter);
    const slot = stage.entered[step.leave % Math.max(1, stage.entered.length)];
    if (slot === undefined) return;
    stage.slots.leave(slot);
    if (step.again) stage.slots.leave(slot);
  }

  /** The limit of one user, whatever came before: half, and one slot where half is none. */
  const half = (max: number) => Math.max(1, Math.floor(max / 2));

  /** Calls `check` after each step of a run. */
  const always = (check: (stage: Stage, options: RequestSlotsOptions) => void) =>
    fc.assert(
      fc.property(sizes, steps, (options, all) => {
        const stage = new Stage(options);
        for (const step of all) {
          run(stage, step);
          check(stage, options);
        }
      }),
      { numRuns: 500 },
    );

  it('the counts are those of the requests, and within the limits', () => {
    always(({ slots, entered }, { max, maxWaiting }) => {
      const count = (state: RequestSlot['state']) => entered.filter((slot) => slot.state === state).length;
      expect([slots.taken, slots.waiting]).toEqual([count('taken'), count('waiting')]);
      expect(slots.taken).toBeLessThanOrEqual(max);
      expect(slots.waiting).toBeLessThanOrEqual(maxWaiting);
    });
  });

  it('no user has more than half of the slots, or of the line', () => {
    always((stage, { max, maxWaiting }) => {
      for (const user of users) {
        expect(stage.of(user, 'taken').length).toBeLessThanOrEqual(half(max));
        expect(stage.of(user, 'waiting').length).toBeLessThanOrEqual(half(maxWaiting));
      }
    });
  });

  it('no slot idles: while one is free, only users with half of the slots wait', () => {
    always((stage, { max }) => {
      if (stage.slots.taken === max) return;
      for (const user of users)
        if (stage.of(user, 'waiting').length > 0) expect(stage.of(user, 'taken')).toHaveLength(half(max));
    });
  });

  it('who is alone gets half at once, and so does who comes next', () => {
    always((stage, { max }) => {
      const isAlone = users.slice(1).every((user) => stage.of(user, 'taken').length === 0);
      if (max === 1 || !isAlone || stage.slots.waiting > 0) return;
      for (const user of ['a', 'b']) {
        const held = stage.of(user, 'taken').length;
        const more = stage.enterMany(user, half(max) - held);
        expect(statesOf(more)).toEqual(Array(half(max) - held).fill('taken'));
        for (const slot of more) stage.slots.leave(slot as RequestSlot);
      }
    });
  });

  it('each user is served in the order of their requests', () => {
    always(({ entered, turns }) => {
      const order = new Map(entered.map((slot, index) => [slot, index]));
      for (const user of users) {
        const own = turns.filter((slot) => slot.user === user).map((slot) => order.get(slot) ?? -1);
        expect(own).toEqual([...own].sort((a, b) => a - b));
      }
    });
  });

  /** Who was served, since when a user may be, before that user. */
  class PassedBy {
    readonly #by = new Map<string, string[]>();

    step(stage: Stage, share: number, served: string | undefined): void {
      for (const user of users) {
        const isReady = stage.of(user, 'waiting').length > 0 && stage.of(user, 'taken').length < share;
        const former = isReady && served !== user ? (this.#by.get(user) ?? []) : [];
        const isPassed = isReady && served !== user && served !== undefined;
        this.#by.set(user, isPassed ? [...former, served] : former);
      }
    }

    get worst(): number {
      const twice = [...this.#by.values()].map((by) => by.length - new Set(by).size);
      return Math.max(0, ...twice);
    }
  }

  it('no one is passed over twice by the same user', () => {
    fc.assert(
      fc.property(sizes, steps, (options, all) => {
        const stage = new Stage(options);
        const passedBy = new PassedBy();
        for (const step of all) {
          const before = stage.turns.length;
          run(stage, step);
          passedBy.step(stage, half(options.max), stage.turns[before]?.user);
          expect(passedBy.worst).toBe(0);
        }
      }),
      { numRuns: 500 },
    );
  });

  it('when all have left, everything is free', () => {
    fc.assert(
      fc.property(sizes, steps, (options, all) => {
        const stage = new Stage(options);
        for (const step of all) run(stage, step);
        for (const slot of stage.entered) stage.slots.leave(slot);
        expect([stage.slots.taken, stage.slots.waiting]).toEqual([0, 0]);
        const fresh = Array.from({ length: options.max }, (_, index) => stage.enter(`new-${index}`));
        expect(statesOf(fresh)).toEqual(Array(options.max).fill('taken'));
      }),
      { numRuns: 500 },
    );
  });
});
