import { EventEmitter } from 'node:events';
import { expect, it } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { LargeBodies } from './large-bodies.ts';

class Answer extends EventEmitter {
  destroyed = false;

  close(): void {
    this.destroyed = true;
    this.emit('close');
  }
}

const start = () => {
  const clock = new FakeClock();
  const limits = { ofUser: 2, ofCredential: 2, maxWaiting: 3, maxWaitMs: 1_000, maxHoldMs: 5_000 };
  const bodies = new LargeBodies({ clock, ...limits });
  const seen: string[] = [];
  /** The end of its name is a number. */
  const send = (name: string, credential = 'key') => {
    const answer = new Answer();
    let release: (() => void) | undefined;
    const entered = bodies.enter({ user: name.slice(0, -1), credential }, answer).then((given) => {
      release = given;
      seen.push(given === undefined ? `${name} not` : name);
    });
    const leave = () => {
      answer.close();
      release?.();
    };
    return { leave, release: () => release?.(), entered };
  };
  return { clock, seen, send };
};
const settle = async () => await new Promise((resolve) => setImmediate(resolve));

it('of one user so many are read at once, and the next one when one has been read', async () => {
  const { seen, send } = start();
  const [first, second] = [send('mallory1'), send('mallory2'), send('mallory3'), send('mallory4')] as const;
  await settle();
  expect(seen).toEqual(['mallory1', 'mallory2']);
  second.release();
  second.release();
  await settle();
  expect(seen).toEqual(['mallory1', 'mallory2', 'mallory3']);
  first.release();
  await settle();
  expect(seen.at(-1)).toBe('mallory4');
});

it('no one waits for another user', async () => {
  const { seen, send } = start();
  for (const number of [1, 2, 3]) send(`mallory${number}`);
  send('alice1');
  await settle();
  expect(seen).toEqual(['mallory1', 'mallory2', 'alice1']);
});

it('who would have to wait too long is told so, and takes no place', async () => {
  const { clock, seen, send } = start();
  const first = send('mallory1');
  for (const number of [2, 3]) send(`mallory${number}`);
  await settle();
  clock.advance(1_000);
  await settle();
  expect(seen.at(-1)).toBe('mallory3 not');
  send('mallory4');
  first.leave();
  await settle();
  expect(seen.at(-1)).toBe('mallory4');
});

it('a client that leaves gives back its place, or leaves the line', async () => {
  const { seen, send } = start();
  const [first, , third] = [send('mallory1'), send('mallory2'), send('mallory3'), send('mallory4')] as const;
  third.leave();
  await third.entered;
  first.leave();
  await settle();
  expect(seen).toEqual(['mallory1', 'mallory2', 'mallory3 not', 'mallory4']);
});

it('a client that leaves just as its turn comes gives its place to the next one', async () => {
  const { seen, send } = start();
  const [first, , third] = [send('mallory1'), send('mallory2'), send('mallory3'), send('mallory4')] as const;
  await settle();
  first.leave();
  third.leave();
  await settle();
  expect(seen.at(-1)).toBe('mallory4');
});

it('waiter and holder that leave at once lose no place', async () => {
  const { seen, send } = start();
  const [first, second, third] = [send('mallory1'), send('mallory2'), send('mallory3')] as const;
  await settle();
  third.leave();
  first.leave();
  second.leave();
  await settle();
  send('mallory4');
  send('mallory5');
  await settle();
  expect(seen.slice(-2)).toEqual(['mallory4', 'mallory5']);
});

it('one credential leaves a place to the others of its user', async () => {
  const clock = new FakeClock();
  const limits = { ofUser: 4, ofCredential: 2, maxWaiting: 100, maxWaitMs: 1_000, maxHoldMs: 5_000 };
  const bodies = new LargeBodies({ clock, ...limits });
  const entered: string[] = [];
  for (const credential of ['leaked', 'leaked', 'leaked', 'good'])
    void bodies.enter({ user: 'alice', credential }, new Answer()).then(() => entered.push(credential));
  await settle();
  expect(entered).toEqual(['leaked', 'leaked', 'good']);
});

it('a body that comes slowly keeps its place for so long only', async () => {
  const { clock, seen, send } = start();
  const slow = [send('mallory1'), send('mallory2')];
  await settle();
  clock.advance(4_500);
  send('mallory3');
  clock.advance(500);
  await settle();
  expect(seen.at(-1)).toBe('mallory3');
  // Its own end gives back nothing more.
  for (const one of slow) one.leave();
  for (const number of [4, 5]) send(`mallory${number}`);
  await settle();
  expect(seen.slice(-2)).toEqual(['mallory3', 'mallory4']);
});

it('no more wait than may', async () => {
  const { seen, send } = start();
  for (const number of [1, 2, 3, 4, 5, 6]) send(`mallory${number}`);
  await settle();
  expect(seen).toEqual(['mallory1', 'mallory2', 'mallory6 not']);
});
