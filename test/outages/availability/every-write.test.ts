import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sharedControlPlane } from '../../../lab/controlplane/shared.ts';
import { operatorWorld } from '../../../lab/operator/world.ts';
import { outlineOf } from '../../../lab/operator/write.ts';
import { confirmationsOf, WriteGate } from '../../../lab/operator/write-gate.ts';
import { FragileOperator } from './fragile-operator.ts';
import { type Scenario, Subject, scenarios } from './scenarios.ts';

const plane = await sharedControlPlane();
const gate = await WriteGate.start(plane);
// The operator gives its lease back through the gate, so the gate goes after the world.
afterAll(async () => await gate.close());
const world = await operatorWorld({ plane, operator: false });
const operator = new FragileOperator(world, gate);

const fates = [
  { fate: 'lost', when: 'before' },
  { fate: 'unanswered', when: 'after' },
] as const;

const points = scenarios.flatMap(({ writes, ...scenario }) =>
  writes.flatMap((write, index) =>
    fates.map(({ fate, when }) => ({ ...scenario, when, write, nth: index + 1, fate })),
  ),
);

/** Points that can be reached at the same time, each by an object of its own, so that one SIGKILL does for all. */
const simultaneous = fates.flatMap(({ fate, when }) =>
  [1, 2, 3, 4].map((nth) => ({
    when,
    nth,
    together: points.filter((point) => point.fate === fate && point.nth === nth),
  })),
);

function subject(): Subject {
  const name = world.name('subject');
  const confirmed = async () => {
    await gate.settled();
    return confirmationsOf(gate).flatMap((write) => (write.name === name ? [write.hash] : []));
  };
  return new Subject(world.admin, name, confirmed);
}

beforeAll(async () => await operator.start());

describe('undisturbed', () => {
  it.each<Scenario>(scenarios)(
    '$title takes the writes that are listed here',
    async ({ writes, ...scenario }) => {
      const made = subject();
      await scenario.prepare?.(made);
      // A write is seen before the gate has passed its answer on.
      await gate.settled();
      const before = gate.passed.length;
      await scenario.begin(made);
      await scenario.end(made);
      await gate.settled();
      const passed = gate.passed.slice(before).filter(made.isMeantBy);
      // A Secret may be deleted again before the operator has seen that it is gone.
      const lasting = passed.filter(({ method, status }) => method !== 'DELETE' || status !== 404);
      expect(lasting.map(outlineOf)).toEqual(writes);
    },
  );
});

describe('with a connection that breaks', () => {
  it.each(points)(
    '$title goes on as if nothing was when it breaks right $when write $nth, $write',
    async (point) => {
      const made = subject();
      await point.prepare?.(made);
      const broken = operator.loseConnection({ isMeant: made.isMeantBy, nth: point.nth, fate: point.fate });
      await point.begin(made);
      await broken;
      await point.end(made);
    },
  );
});

describe('with a connection that breaks while watches bring nothing', () => {
  const unanswered = points.filter(({ fate }) => fate === 'unanswered');

  it.each(unanswered)(
    '$title goes on as if nothing was when write $nth, $write, is not answered',
    async ({ prepare, begin, end, nth, fate }) => {
      const made = subject();
      await prepare?.(made);
      const failure = { isMeant: made.isMeantBy, nth, fate };
      const broken = operator.loseConnectionAndWatches(failure, made.name);
      await begin(made);
      await broken;
      await end(made);
    },
  );
});

describe.each(simultaneous)('with a SIGKILL right $when write $nth', ({ together }) => {
  const killed = together.map((point) => ({ ...point, made: subject() }));

  beforeAll(async () => {
    await Promise.all(killed.map(async ({ prepare, made }) => await prepare?.(made)));
    const dead = operator.die(killed.map(({ made, nth, fate }) => ({ isMeant: made.isMeantBy, nth, fate })));
    await Promise.all(killed.map(async ({ begin, made }) => await begin(made)));
    await dead;
    await operator.start();
  });

  it.each(killed)('$title is completed ($write)', async ({ end, made }) => await end(made));
});
