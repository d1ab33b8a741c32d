import { RunningOperator } from '../../../lab/operator/running-operator.ts';
import { until } from '../../../lab/operator/until.ts';
import { freeLease, untilLeading, type World } from '../../../lab/operator/world.ts';
import type { Write } from '../../../lab/operator/write.ts';
import type { Fate, WriteGate } from '../../../lab/operator/write-gate.ts';

/** The nth write of those that are meant, and what becomes of it. */
export interface Failure {
  readonly isMeant: (write: Write) => boolean;
  /** From 1. */
  readonly nth: number;
  readonly fate: Exclude<Fate, 'pass'>;
}

/** An operator behind a gate, which dies or loses its connection at exactly the write that the test says. */
export class FragileOperator {
  readonly gate: WriteGate;
  readonly #world: World;
  readonly #env: Readonly<Record<string, string>>;
  #running: RunningOperator | undefined;

  constructor(world: World, gate: WriteGate, env: Readonly<Record<string, string>> = {}) {
    this.#world = world;
    this.gate = gate;
    this.#env = env;
  }

  /** The present process. */
  get process(): RunningOperator {
    if (this.#running === undefined) throw new Error('the operator was not started');
    return this.#running;
  }

  /** The same where none works, as after a test that failed. */
  async untilAtWork(): Promise<void> {
    if (this.#running?.exited ?? true) await this.start();
  }

  /** Resolves when it leads. */
  async start(): Promise<void> {
    const name = this.#world.name('fragile');
    const { guard } = this.#world;
    this.#running = await RunningOperator.start(this.gate.access, guard, { name, env: this.#env });
    await untilLeading(this.#running);
  }

  /** The connection of each of these writes breaks, once. Resolves when that has happened. */
  async loseConnections(failures: readonly Failure[]): Promise<void> {
    await this.#fail(failures, () => undefined);
  }

  /** The same, and from that write on watches bring nothing until the operator has asked once more about the object. */
  async loseConnectionAndWatches(failure: Failure, name: string): Promise<void> {
    const { gate } = this;
    let count = 0;
    let seen = Number.POSITIVE_INFINITY;
    const isMeant = (write: Write) => {
      const meant = failure.isMeant(write);
      count += meant ? 1 : 0;
      if (meant && count === failure.nth) {
        gate.freezeWatches();
        seen = gate.requests.length;
      }
      return meant;
    };
    try {
      await this.#fail([{ ...failure, isMeant }], () => undefined);
      // An event about the object does not ask about it.
      const isAbout = (target: string) => target.includes(name) && !target.includes('/events/');
      const again = async () => gate.requests.slice(seen).some(isAbout);
      await until('the operator goes on', again, { everyMs: 5 });
    } finally {
      gate.thawWatches();
    }
  }

  /**
   * SIGKILL when each of these writes has come to its point; until the last one has, the others are held there.
   * Resolves when the process is gone and another one may lead at once.
   */
  async die(failures: readonly Failure[]): Promise<void> {
    const dead = Promise.withResolvers<void>();
    try {
      await this.#fail(failures, async () => await dead.promise);
    } finally {
      // Also where some never came to their point: what the next test does waits for no writes of this one.
      await this.process.end('SIGKILL');
      dead.resolve();
      await freeLease(this.#world.admin);
    }
  }

  async #fail(failures: readonly Failure[], onFailing: () => void | Promise<void>): Promise<void> {
    const counters = failures.map((failure) => ({ ...failure, count: 0 }));
    let failing = 0;
    this.gate.judge = (write) => {
      const counter = counters.find(({ isMeant }) => isMeant(write));
      if (counter === undefined) return 'pass';
      counter.count += 1;
      return counter.count === counter.nth ? counter.fate : 'pass';
    };
    this.gate.onFailing = async () => {
      failing += 1;
      await onFailing();
    };
    const all = async () => failing === failures.length;
    const seen = () => counters.map(({ nth, count }) => `write ${nth}: ${count} seen`);
    try {
      await until('the writes that fail', all, { everyMs: 5, seen });
    } finally {
      this.gate.judge = () => 'pass';
    }
  }
}
