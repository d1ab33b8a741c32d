import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sharedControlPlane } from '../../../lab/controlplane/shared.ts';
import { operatorWorld } from '../../../lab/operator/world.ts';
import { outlineOf } from '../../../lab/operator/write.ts';
import { confirmationsOf, WriteGate } from '../../../lab/operator/write-gate.ts';
import { type Failure, FragileOperator } from './fragile-operator.ts';
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

/** Points that can be reached at the same time, each by an object of its own, so that one SIGKILL does for all: about half of them each time. */
const simultaneous = fates.flatMap(({ fate, when }) =>
  [true, false].map((isFirst) => ({
    ...{ when, fate, isFirst },
    together: points.filter((point) => point.fate === fate && (point.nth === 1) === isFirst),
  })),
);
/** A process that dies before a later write leaves what one leaves that dies after the write before it. */
const deaths = simultaneous.filter(({ fate, isFirst }) => isFirst || fate === 'unanswered');

type Point = (typeof points)[number];

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

/** Prepares an object for each point and begins what it is about; `fail` resolves when each has come to its point. */
async function reach(
  disturbed: readonly (Point & { readonly made: Subject })[],
  fail: (failures: readonly Failure[]) => Promise<void>,
): Promise<void> {
  await operator.untilAtWork();
  await Promise.all(disturbed.map(async ({ prepare, made }) => await prepare?.(made)));
  const failed = fail(disturbed.map(({ made, nth, fate }) => ({ isMeant: made.isMeantBy, nth, fate })));
  await Promise.all(disturbed.map(async ({ begin, made }) => await begin(made)));
  await failed;
}

describe.each(simultaneous)('with a connection that breaks right $when', ({ together }) => {
  const broken = together.map((point) => ({ ...point, made: subject() }));

  beforeAll(async () => await reach(broken, async (failures) => await operator.loseConnections(failures)));

  it.each(broken)(
    'write $nth, $write, $title goes on as if nothing was',
    async ({ end, made }) => await end(made),
  );
});

describe('with a connection that breaks while watches bring nothing', () => {
  const unanswered = points.filter(({ fate }) => fate === 'unanswered');

  it.each(unanswered)(
    '$title goes on as if nothing was when write $nth, $write, is not answered',
    async ({ prepare, begin, end, nth, fate }) => {
      await operator.untilAtWork();
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

describe.each(deaths)('with a SIGKILL right $when', ({ together }) => {
  const killed = together.map((point) => ({ ...point, made: subject() }));

  beforeAll(async () => {
    await reach(killed, async (failures) => await operator.die(failures));
    await operator.start();
  });

  it.each(killed)('write $nth, $write, $title is completed', async ({ end, made }) => await end(made));
});
