import { expect, it } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { silentLogger } from '../../logger.ts';
import { OwnCluster } from './own-cluster.ts';

async function after(answers: Readonly<Record<string, unknown>>, ms = 0) {
  const clock = new FakeClock();
  const warnings: string[] = [];
  const request = async <T>(_: string, path: string): Promise<T> => {
    if (answers[path] === undefined) throw new Error('away');
    return answers[path] as T;
  };
  const log = { ...silentLogger, warn: (_: object, message: string) => void warnings.push(message) };
  const own = new OwnCluster({ client: { request }, clock, log });
  const stop = new AbortController();
  const running = own.run(stop.signal);
  await clock.advanceAsync(ms, 100);
  await clock.settle();
  stop.abort();
  await running;
  return { problem: own.problem(), warnings };
}

const groups = (...names: readonly string[]) => ({ groups: names.map((name) => ({ name })) });
const version = { major: '1', minor: '36' };

it('serves a cluster that is not the platform', async () => {
  expect(await after({ '/version': version, '/apis': groups('apps') })).toEqual({
    problem: undefined,
    warnings: [],
  });
});

it('serves no one where it finds the kinds of the platform', async () => {
  const { problem } = await after({ '/version': version, '/apis': groups('apps', 'management.platform.sh') });
  expect(problem).toMatch(/its gateway is the way into it/);
});

it.each([
  ['does not answer', {}],
  ['names no groups', { '/version': version, '/apis': {} }],
])('serves no one before its API server has said what it is, where that %s', async (_, answers) => {
  expect((await after(answers)).problem).toMatch(/has not answered yet/);
});

it('warns of an API server without constrained impersonation', async () => {
  const old = { major: '1', minor: '35' };
  expect((await after({ '/version': old, '/apis': groups() })).warnings).toEqual([
    expect.stringContaining('no constrained impersonation'),
  ]);
});
