import type { LookupAddress } from 'node:dns';
import { describe, expect, it } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { boundedResolver } from './resolver.ts';

const found: LookupAddress[] = [{ address: '10.0.0.1', family: 4 }];
const busy = { code: 'EAI_AGAIN' };
const timeout = Object.assign(new Error('timeout'), { code: 'ETIMEOUT' });

type Answer = PromiseWithResolvers<readonly LookupAddress[]>;

/** A resolver over one that answers when it is told to. */
class Stage {
  readonly clock = new FakeClock();
  readonly asked: string[] = [];
  readonly #answers = new Map<string, Answer>();
  readonly resolve = boundedResolver(
    (hostname) => {
      this.asked.push(hostname);
      const answer = Promise.withResolvers<readonly LookupAddress[]>();
      this.#answers.set(hostname, answer);
      return answer.promise;
    },
    { maxConcurrent: 2, maxWaiting: 2, maxWaitMs: 5_000, clock: this.clock, random: () => 1 },
  );

  /** Returns the end of a look-up: its addresses, or the code of its failure. */
  outcome(hostname: string): Promise<unknown> {
    return this.resolve(hostname).catch((error: { code?: string }) => error.code ?? error);
  }

  async answer(hostname: string, with_: readonly LookupAddress[] | Error = found): Promise<void> {
    await this.clock.settle();
    const answer = this.#answers.get(hostname);
    if (answer === undefined) throw new Error(`${hostname} is not being looked up`);
    this.#answers.delete(hostname);
    if (with_ instanceof Error) answer.reject(with_);
    else answer.resolve(with_);
    await this.clock.settle();
  }

  /** A whole look-up of so many milliseconds. */
  async lookUp(
    hostname: string,
    tookMs = 0,
    with_: readonly LookupAddress[] | Error = found,
  ): Promise<unknown> {
    const outcome = this.outcome(hostname);
    await this.clock.settle();
    this.clock.advance(tookMs);
    await this.answer(hostname, with_);
    return await outcome;
  }

  /** Until answers are remembered no more. */
  forgetAnswers(): void {
    this.clock.advance(60_000);
  }
}

describe('answers', () => {
  it('are shared by all who ask at the same time, and remembered for a minute', async () => {
    const stage = new Stage();
    const outcomes = [stage.outcome('a'), stage.outcome('a')];
    await stage.answer('a');
    expect(await Promise.all(outcomes)).toEqual([found, found]);
    stage.clock.advance(59_999);
    expect(await stage.outcome('a')).toEqual(found);
    expect(stage.asked).toEqual(['a']);
    stage.clock.advance(1);
    await stage.lookUp('a');
    expect(stage.asked).toEqual(['a', 'a']);
  });

  it('that are failures are not remembered when they came quickly', async () => {
    const stage = new Stage();
    expect(await stage.lookUp('a', 0, timeout)).toBe('ETIMEOUT');
    expect(await stage.lookUp('a')).toEqual(found);
  });

  it('are remembered for a bounded number of names', async () => {
    const stage = new Stage();
    for (let index = 0; index <= 4_096; index++) await stage.lookUp(`a${index}`);
    await stage.outcome('a4096');
    expect(stage.asked).toHaveLength(4_097);
    await stage.lookUp('a0');
    expect(stage.asked).toHaveLength(4_098);
  });
});

describe('look-ups', () => {
  it('are no more at once than allowed, one of them of names that have not proved quick', async () => {
    const stage = new Stage();
    for (const name of ['a', 'b', 'c']) await stage.lookUp(name);
    stage.forgetAnswers();
    const outcomes = ['new', 'newer', 'a', 'b', 'c'].map((name) => stage.outcome(name));
    await stage.clock.settle();
    expect(stage.asked.slice(3)).toEqual(['new', 'a']);
    await stage.answer('a');
    expect(stage.asked.slice(3)).toEqual(['new', 'a', 'b']);
    await stage.answer('new');
    expect(stage.asked.slice(3)).toEqual(['new', 'a', 'b', 'c']);
    await stage.answer('b');
    expect(stage.asked.slice(3)).toEqual(['new', 'a', 'b', 'c', 'newer']);
    await stage.answer('c');
    await stage.answer('newer', timeout);
    expect(await Promise.all(outcomes)).toEqual([found, 'ETIMEOUT', found, found, found]);
  });

  it('are refused at once when too many of the same standing wait', async () => {
    const stage = new Stage();
    const outcomes = ['a', 'b', 'c'].map((name) => stage.outcome(name));
    await expect(stage.resolve('d')).rejects.toMatchObject(busy);
    for (const name of ['a', 'b', 'c']) await stage.answer(name);
    expect(await Promise.all(outcomes)).toEqual([found, found, found]);
  });

  it('are not made when no one waits for them any more', async () => {
    const stage = new Stage();
    const outcomes = ['a', 'b'].map((name) => stage.outcome(name));
    await stage.clock.settle();
    stage.clock.advance(5_001);
    const late = stage.outcome('c');
    await stage.answer('a');
    expect(await outcomes[1]).toBe('EAI_AGAIN');
    expect(stage.asked).toEqual(['a', 'c']);
    await stage.answer('c');
    expect(await late).toEqual(found);
  });
});

describe('a name whose server does not answer', () => {
  it('is not asked for again for a while, each time for longer', async () => {
    const stage = new Stage();
    for (const restMs of [10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000]) {
      expect(await stage.lookUp('slow', 20_000, timeout)).toBe('ETIMEOUT');
      stage.clock.advance(restMs - 1);
      await expect(stage.resolve('slow')).rejects.toMatchObject(busy);
      stage.clock.advance(1);
    }
    expect(stage.asked).toHaveLength(7);
  });

  it('does not hold up names that have proved quick, however many there are of it', async () => {
    const stage = new Stage();
    await stage.lookUp('healthy');
    stage.forgetAnswers();
    const slow = Array.from({ length: 100 }, (_, index) => stage.outcome(`slow${index}`));
    expect(await stage.lookUp('healthy')).toEqual(found);
    await stage.answer('slow0', timeout);
    await stage.answer('slow1', timeout);
    await stage.answer('slow2', timeout);
    const outcomes = await Promise.all(slow);
    expect(outcomes.filter((outcome) => outcome === 'EAI_AGAIN')).toHaveLength(97);
  });

  it('waits until new names have been looked up', async () => {
    const stage = new Stage();
    await stage.lookUp('slow', 20_000, timeout);
    stage.clock.advance(10_000);
    const outcomes = ['new', 'slow', 'newer'].map((name) => stage.outcome(name));
    await stage.answer('new');
    await stage.answer('newer');
    await stage.answer('slow');
    expect(stage.asked).toEqual(['slow', 'new', 'newer', 'slow']);
    expect(await Promise.all(outcomes)).toEqual([found, found, found]);
  });

  it('has to be quick as often as it was slow to count as proven', async () => {
    const stage = new Stage();
    for (const tookMs of [1_000, 1_000, 0]) {
      expect(await stage.lookUp('a', tookMs)).toEqual(found);
      stage.forgetAnswers();
    }
    const outcomes = [stage.outcome('new'), stage.outcome('a')];
    await stage.clock.settle();
    expect(stage.asked.at(-1)).toBe('new');
    await stage.answer('new');
    await stage.answer('a');
    await Promise.all(outcomes);
    stage.forgetAnswers();
    const again = [stage.outcome('newer'), stage.outcome('a')];
    await stage.clock.settle();
    expect(stage.asked.slice(-2)).toEqual(['newer', 'a']);
    await stage.answer('newer');
    await stage.answer('a');
    await Promise.all(again);
  });
});
