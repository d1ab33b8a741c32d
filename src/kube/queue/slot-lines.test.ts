import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SlotLines, type SlotNeed } from './slot-lines.ts';

const limits = { perTarget: 2, perTenant: 3 };

/** A key `tenant/target/name` works on that target; `target/name` on one of no tenant, and one without a slash on nothing. */
function ownNeed(key: string): SlotNeed | undefined {
  const [first = '', second, third] = key.split('/');
  if (second === undefined) return undefined;
  return third === undefined ? { target: first } : { target: `${first}/${second}`, tenant: first };
}

function setUp() {
  const granted: string[] = [];
  const moved = new Map<string, SlotNeed | undefined>();
  const needOf = (key: string) => (moved.has(key) ? moved.get(key) : ownNeed(key));
  const lines = new SlotLines({ ...limits, needOf }, (key) => void granted.push(key));
  const enter = (...keys: string[]) => keys.filter((key) => lines.enter(key, 'ann'));
  const enterAs = (owner: string, ...keys: string[]) => keys.filter((key) => lines.enter(key, owner));
  const leave = (...keys: string[]) => {
    granted.length = 0;
    for (const key of keys) lines.leave(key);
    return [...granted];
  };
  return { lines, moved, enter, enterAs, leave };
}

describe('slots', () => {
  it('let so many keys work on one target and no more', () => {
    const { lines, enter } = setUp();
    expect(enter('a/slow/1', 'a/slow/2', 'a/slow/3')).toEqual(['a/slow/1', 'a/slow/2']);
    expect(lines.waiting).toBe(1);
  });

  it('let so many keys work on all targets of one tenant, and leave those of others alone', () => {
    const { enter } = setUp();
    expect(enter('a/t/1', 'a/u/1', 'a/v/1', 'a/w/1', 'b/t/1')).toEqual(['a/t/1', 'a/u/1', 'a/v/1', 'b/t/1']);
  });

  it('know no bound of a tenant for targets of none', () => {
    const { enter, leave } = setUp();
    const keys = ['t/1', 'u/1', 'v/1', 'w/1'];
    expect(enter(...keys, 't/2', 't/3')).toEqual([...keys, 't/2']);
    expect(leave('u/1', 't/1')).toEqual(['t/3']);
  });

  it('ask nothing of what works on no target', () => {
    const { lines, enter } = setUp();
    const keys = ['1', '2', '3', '4', '5'];
    expect(enter(...keys)).toEqual(keys);
    expect(lines.waiting).toBe(0);
  });
});

describe('who gives a slot back', () => {
  it('hands it to the key that came first', () => {
    const { enter, leave } = setUp();
    enter('a/t/1', 'a/t/2', 'a/t/3', 'a/t/4');
    expect(leave('a/t/2')).toEqual(['a/t/3']);
    expect(leave('a/t/1')).toEqual(['a/t/4']);
  });

  it('hands the one of its tenant to the first whose target has one too', () => {
    const { enter, leave } = setUp();
    enter('a/t/1', 'a/t/2', 'a/u/1', 'a/t/3', 'a/v/1', 'a/w/1');
    expect(leave('a/u/1')).toEqual(['a/v/1']);
    expect(leave('a/t/1')).toEqual(['a/t/3']);
    expect(leave('a/t/2')).toEqual(['a/w/1']);
  });

  it('goes behind those that wait when it comes again', () => {
    const { enter, leave } = setUp();
    enter('a/t/1', 'a/t/2', 'a/t/3');
    expect(leave('a/t/1')).toEqual(['a/t/3']);
    expect(enter('a/t/1')).toEqual([]);
    expect(leave('a/t/3')).toEqual(['a/t/1']);
  });
});

describe('owners whose keys wait for the same slots', () => {
  const many = (count: number) => Array.from({ length: count }, (_, index) => `a/t/eve-${index}`);

  it('take turns, so that a thousand keys of one delay a key of another by one', () => {
    const { enterAs, leave } = setUp();
    const [first = '', second = '', ...rest] = many(1_000);
    enterAs('eve', first, second, ...rest);
    enterAs('ann', 'a/t/ann-0', 'a/t/ann-1');
    enterAs('ben', 'a/t/ben-0');
    const got = [first, second, rest[0], 'a/t/ann-0', 'a/t/ben-0', rest[1]];
    expect(got.slice(0, 4).flatMap((key) => leave(key as string))).toEqual(got.slice(2));
    expect(leave('a/t/ben-0')).toEqual(['a/t/ann-1']);
  });

  it('take turns at the targets of a tenant together, and hold no slot of a target while they wait', () => {
    const { enterAs, leave } = setUp();
    enterAs('eve', 'a/t/1', 'a/u/1', 'a/v/1', 'a/w/1', 'a/w/2', 'a/w/3', 'a/x/1');
    enterAs('ann', 'a/w/4');
    expect(leave('a/t/1')).toEqual(['a/w/1']);
    expect(leave('a/u/1')).toEqual(['a/w/4']);
    expect(leave('a/v/1')).toEqual(['a/x/1']);
  });

  it('begin behind those that wait when they come again', () => {
    const { enterAs, leave } = setUp();
    enterAs('eve', ...many(4));
    enterAs('ann', 'a/t/1');
    for (const key of ['a/t/eve-0', 'a/t/eve-1']) leave(key);
    expect(leave('a/t/1')).toEqual(['a/t/eve-3']);
    enterAs('eve', 'a/t/eve-0');
    enterAs('ann', 'a/t/1');
    expect(leave('a/t/eve-2')).toEqual(['a/t/eve-0']);
  });
});

describe('what changed', () => {
  const listed = ['a/t/1', 'a/t/2', 'a/t/3', 'a/t/4', 'a/t/5'];

  const setUpListed = () => {
    const set = setUp();
    for (const key of listed) set.lines.enter(key, 'eve', true);
    return set;
  };

  it('goes before what is only listed of its owner at that target, in order of arrival', () => {
    const { enterAs, leave } = setUpListed();
    enterAs('eve', 'a/t/new', 'a/t/next');
    const got = ['a/t/1', 'a/t/2', 'a/t/new', 'a/t/next'].flatMap((key) => leave(key));
    expect(got).toEqual(['a/t/new', 'a/t/next', 'a/t/5', 'a/t/3']);
  });

  it('delays no key of another owner', () => {
    const { enterAs, leave } = setUpListed();
    enterAs('ann', 'a/t/ann');
    enterAs('eve', 'a/t/new');
    expect(['a/t/1', 'a/t/2', 'a/t/new'].flatMap((key) => leave(key))).toEqual([
      'a/t/new',
      'a/t/ann',
      'a/t/4',
    ]);
  });

  it('goes before the others also when it stood among them', () => {
    const { lines, leave } = setUpListed();
    lines.advance('a/t/5');
    expect(leave('a/t/1')).toEqual(['a/t/5']);
    expect(leave('a/t/2')).toEqual(['a/t/4']);
  });

  it('goes before the others also after several of them have changed', () => {
    const { lines, enterAs, leave } = setUpListed();
    lines.enter('a/t/6', 'eve', true);
    lines.enter('a/t/7', 'eve', true);
    lines.advance('a/t/5');
    lines.advance('a/t/7');
    enterAs('eve', 'a/t/new');
    const got = ['a/t/1', 'a/t/2', 'a/t/5'].flatMap((key) => leave(key));
    expect(got).toEqual(['a/t/5', 'a/t/7', 'a/t/new']);
  });
});

describe('a key in line', () => {
  it('has no place there any more when it leaves', () => {
    const { lines, enter, leave } = setUp();
    enter('a/t/1', 'a/t/2', 'a/t/3', 'a/t/4');
    expect(leave('a/t/3')).toEqual([]);
    expect(leave('a/t/1')).toEqual(['a/t/4']);
    expect(lines.waiting).toBe(0);
  });

  it('gives up the slot of its target when it leaves, while it waits for that of its tenant', () => {
    const { enter, leave } = setUp();
    enter('a/u/1', 'a/u/2', 'a/v/1', 'a/t/1', 'a/t/2', 'a/t/3');
    expect(leave('a/t/1')).toEqual([]);
    expect(leave('a/u/1', 'a/v/1')).toEqual(['a/t/2', 'a/t/3']);
  });

  it('is misplaced there once it needs other slots or none, and takes those as the last', () => {
    const { lines, moved, enter, leave } = setUp();
    enter('a/t/1', 'a/t/2', 'a/t/3');
    expect(lines.isMisplaced('a/t/3')).toBe(false);
    moved.set('a/t/3', undefined);
    expect(lines.isMisplaced('a/t/3')).toBe(true);
    expect(enter('a/t/3')).toEqual(['a/t/3']);
    expect([lines.waiting, leave('a/t/1')]).toEqual([0, []]);
  });

  it('that was given slots hands them on when it needs others by then', () => {
    const { moved, enter, leave } = setUp();
    enter('a/t/1', 'a/t/2', 'a/t/3', 'a/t/4');
    expect(leave('a/t/1')).toEqual(['a/t/3']);
    moved.set('a/t/3', { target: 'b/t', tenant: 'b' });
    expect(enter('a/t/3')).toEqual(['a/t/3']);
    expect(enter('a/t/4')).toEqual(['a/t/4']);
    expect(enter('a/t/5')).toEqual([]);
  });
});

it('forget all that wait when they are cleared, and hand nothing on to them', () => {
  const { lines, enter, leave } = setUp();
  enter('a/t/1', 'a/t/2', 'a/u/1', 'a/t/3', 'a/u/2', 'a/u/3', 'a/v/1');
  lines.clear();
  expect([lines.waiting, leave('a/t/1', 'a/t/2', 'a/u/1')]).toEqual([0, []]);
  expect(enter('a/t/1', 'a/u/2', 'a/v/1')).toEqual(['a/t/1', 'a/u/2', 'a/v/1']);
});

interface Waiting {
  readonly owner: string;
  readonly place: SlotNeed;
  readonly turn: number;
}

/** The promises of slots, without any of their machinery: of those that may, the one whose turn it is. */
class Model {
  readonly holding = new Map<string, SlotNeed>();
  readonly waiting = new Map<string, Waiting>();
  /** By tenant, or by target of none: the turn of the last that got a slot. */
  readonly #turns = new Map<string, number>();

  enter(key: string, owner: string, place: SlotNeed | undefined): void {
    const known = this.holding.get(key) ?? this.waiting.get(key)?.place;
    if (known !== undefined && known.target === place?.target && known.tenant === place.tenant) return;
    this.leave(key);
    if (place !== undefined) this.waiting.set(key, { owner, place, turn: this.#turnOf(owner, place) });
    this.#handOut();
  }

  leave(key: string): void {
    this.holding.delete(key);
    this.waiting.delete(key);
    this.#handOut();
  }

  #turnOf(owner: string, place: SlotNeed): number {
    const group = groupOf(place);
    const others = [...this.waiting.values()].filter((other) => groupOf(other.place) === group);
    const inUse = others.length > 0 || [...this.holding.values()].some((other) => groupOf(other) === group);
    if (!inUse) this.#turns.delete(group);
    const own = others.filter((other) => other.owner === owner).map(({ turn }) => turn);
    return Math.max(this.#turns.get(group) ?? 0, ...own) + 1;
  }

  #handOut(): void {
    for (;;) {
      const free = [...this.waiting].filter(([, { place }]) => this.#isFree(place));
      const [next] = free.toSorted(([, one], [, other]) => one.turn - other.turn);
      if (next === undefined) return;
      const [key, { place, turn }] = next;
      this.waiting.delete(key);
      this.holding.set(key, place);
      this.#turns.set(groupOf(place), Math.max(this.#turns.get(groupOf(place)) ?? 0, turn));
    }
  }

  #isFree({ target, tenant }: SlotNeed): boolean {
    const held = [...this.holding.values()];
    const ofTenant = tenant === undefined ? 0 : held.filter((other) => other.tenant === tenant).length;
    const ofTarget = held.filter((other) => other.target === target).length;
    return ofTarget < limits.perTarget && ofTenant < limits.perTenant;
  }
}

const groupOf = ({ target, tenant }: SlotNeed): string => tenant ?? `no tenant: ${target}`;

const placeNames = fc.constantFrom('a/t', 'a/u', 'a/v', 'a/w', 'b/t', 'b/u', 'c', '');
const keys = fc.constantFrom(...'klmnopqrstuv');
const owners = fc.constantFrom('ann', 'ben', 'eve');
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ key: keys, owner: owners, place: placeNames }) },
  { weight: 2, arbitrary: fc.record({ key: keys }) },
);

/** Holders as the lines and the model see them, while keys come, change their place and go. */
function replay(
  steps: readonly { readonly key: string; readonly owner?: string; readonly place?: string }[],
) {
  const holding = new Set<string>();
  const places = new Map<string, SlotNeed | undefined>();
  const needOf = (key: string) => places.get(key);
  const lines = new SlotLines({ ...limits, needOf }, (key) => void holding.add(key));
  const model = new Model();
  const leave = (key: string) => {
    holding.delete(key);
    lines.leave(key);
    model.leave(key);
  };
  const compare = () => {
    expect([...holding].toSorted()).toEqual([...model.holding.keys()].toSorted());
    expect(lines.waiting).toBe(model.waiting.size);
  };
  for (const { key, owner = '', place } of steps) {
    if (place === undefined) leave(key);
    else {
      places.set(key, place === '' ? undefined : ownNeed(`${place}/x`));
      holding.delete(key);
      if (lines.enter(key, owner) && place !== '') holding.add(key);
      model.enter(key, owner, places.get(key));
    }
    compare();
  }
  return { holding, model, leave, compare };
}

it('keep their bounds, the turns of owners and the order of arrival, whatever comes, changes and goes', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
      replay(steps);
    }),
    { numRuns: 500 },
  );
});

it('reach every key in the end when those that have slots give them back', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
      const { holding, model, leave, compare } = replay(steps);
      for (let turns = 0; holding.size > 0; turns++) {
        expect(turns).toBeLessThan(12);
        for (const key of [...holding]) leave(key);
        compare();
      }
      expect(model.waiting.size).toBe(0);
    }),
  );
});

it('reach every key in the end, also when some are listed and some of those change', () => {
  const entry = fc.record({ key: keys, owner: owners, place: placeNames, isListed: fc.boolean() });
  const property = fc.property(fc.array(entry, { maxLength: 80 }), fc.array(keys), (entries, changed) => {
    const holding = new Set<string>();
    const places = new Map<string, SlotNeed | undefined>();
    const options = { ...limits, needOf: (key: string) => places.get(key) };
    const lines = new SlotLines(options, (key) => void holding.add(key));
    for (const { key, owner, place, isListed } of entries) {
      places.set(key, ownNeed(`${place}/x`));
      holding.delete(key);
      if (lines.enter(key, owner, isListed)) holding.add(key);
      lines.advance(changed[holding.size] ?? '');
    }
    const missed = new Set(entries.map(({ key }) => key));
    for (const key of holding) {
      missed.delete(key);
      lines.leave(key);
    }
    expect([lines.waiting, [...missed]]).toEqual([0, []]);
  });
  fc.assert(property);
});
