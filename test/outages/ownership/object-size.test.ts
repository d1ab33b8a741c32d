import { describe, expect, it } from 'vitest';
import type { ApiAnswer } from '../../integration/admission/api-client.ts';
import { admissionWorld } from '../../integration/admission/world.ts';
import { expectEnd, makeKey, type Way, ways } from '../../integration/ownership/oversize.ts';
import { peopleOf } from '../../integration/ownership/people.ts';

const mebibyte = 2 ** 20;
const sizes = [1.45, 1.2, 1, 0.7, 0.5, 0.35, 0.25, 0.12, 0.06].map((part) => part * mebibyte);

describe('an object that is made as large as it may be', async () => {
  const world = await admissionWorld();
  const people = await peopleOf(world);

  /** The size taken of each way by itself: with the others there is no room for more. */
  const taken = new Map<string, number>();

  /** Tries less and less, until it is taken. */
  const grow = async (path: string, name: string): Promise<readonly ApiAnswer[]> => {
    const most = taken.get(name) ?? Number.POSITIVE_INFINITY;
    taken.set(name, 0);
    const answers: ApiAnswer[] = [];
    for (const size of sizes.filter((one) => one <= most)) {
      const { body } = await people.master.send('GET', path);
      const answer = await people.mallory.send('PUT', path, { body: (ways[name] as Way)(body, size) });
      answers.push(answer);
      if (answer.status !== 200) continue;
      taken.set(name, size);
      break;
    }
    return answers;
  };

  it.each(Object.keys(ways))('by %s can still be disabled and deleted', async (name) => {
    const path = await makeKey(people.mallory, 'mallory');
    const answers = await grow(path, name);
    expect(answers.map(({ status }) => status).slice(0, -1)).not.toContain(500);
    await expectEnd(people.root, path);
  });

  it('by all of them together can still be disabled and deleted', async () => {
    const path = await makeKey(people.mallory, 'mallory');
    for (const name of Object.keys(ways)) await grow(path, name);
    const { body } = await people.master.send('GET', path);
    expect(JSON.stringify(body).length).toBeGreaterThan(200_000);
    await expectEnd(people.root, path);
  }, 400_000);
});
