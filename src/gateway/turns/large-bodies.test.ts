import { EventEmitter } from 'node:events';
import { expect, it } from 'vitest';
import { FakeClock } from '../../kube/fake-clock.ts';
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
  const bodies = new LargeBodies({ clock, ofUser: 2, maxWaitMs: 1_000 });
  const seen: string[] = [];
  /** The end of its name is a number. */
  const send = (name: string) => {
    const answer = new Answer();
    const entered = bodies.enter(name.slice(0, -1), answer).then((mayBeRead) => {
      seen.push(mayBeRead ? name : `${name} not`);
      return mayBeRead;
    });
    return { close: () => answer.close(), entered };
  };
  return { clock, seen, send };
};
const settle = async () => await new Promise((resolve) => setImmediate(resolve));

it('of one user so many are read at once, and the next one when the answer to one is over', async () => {
  const { seen, send } = start();
  const [first, second] = [send('mallory1'), send('mallory2'), send('mallory3'), send('mallory4')] as const;
  await settle();
  expect(seen).toEqual(['mallory1', 'mallory2']);
  second.close();
  await settle();
  expect(seen).toEqual(['mallory1', 'mallory2', 'mallory3']);
  first.close();
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
  first.close();
  await settle();
  expect(seen.at(-1)).toBe('mallory4');
});

it('a client that leaves gives back its place, or leaves the line', async () => {
  const { seen, send } = start();
  const [first, , third] = [send('mallory1'), send('mallory2'), send('mallory3'), send('mallory4')] as const;
  third.close();
  expect(await third.entered).toBe(false);
  first.close();
  await settle();
  expect(seen).toEqual(['mallory1', 'mallory2', 'mallory3 not', 'mallory4']);
});

it('a client that leaves just as its turn comes gives its place to the next one', async () => {
  const { seen, send } = start();
  const [first, , third] = [send('mallory1'), send('mallory2'), send('mallory3'), send('mallory4')] as const;
  await settle();
  first.close();
  third.close();
  await settle();
  expect(seen.at(-1)).toBe('mallory4');
});
