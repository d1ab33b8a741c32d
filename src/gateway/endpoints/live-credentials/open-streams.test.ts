import { expect, it } from 'vitest';
import { OpenStreams } from './open-streams.ts';

function setUp() {
  const ended: string[] = [];
  const streams = new OpenStreams(4);
  const enter = (cluster: string, name: string) =>
    streams.enter(cluster, { destroy: () => void ended.push(name) });
  return { ended, enter };
}

it('ends the oldest stream of a cluster for one more, and none of another cluster', () => {
  const { ended, enter } = setUp();
  enter('east', 'other');
  for (const name of ['1', '2', '3', '4']) enter('west', name);
  expect(ended).toEqual([]);
  enter('west', '5');
  expect(ended).toEqual(['1']);
  enter('west', '6');
  expect(ended).toEqual(['1', '2']);
});

it('ends none where one has left, and none twice', () => {
  const { ended, enter } = setUp();
  const leave = ['1', '2', '3', '4'].map((name) => enter('west', name));
  leave[1]?.();
  enter('west', '5');
  expect(ended).toEqual([]);
  enter('west', '6');
  leave[0]?.();
  enter('west', '7');
  expect(ended).toEqual(['1', '3']);
});

it('counts new ones right when one that was ended leaves after all others', () => {
  const { ended, enter } = setUp();
  const [late, ...others] = ['1', '2', '3', '4', '5'].map((name) => enter('west', name));
  for (const leave of others) leave();
  enter('west', '6');
  late?.();
  for (const name of ['7', '8', '9', '10']) enter('west', name);
  expect(ended).toEqual(['1', '6']);
});
