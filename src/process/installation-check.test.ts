import { describe, expect, it } from 'vitest';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import { kubeErrorFromStatus, unreachable } from '../kube/kube-error.ts';
import { silentLogger } from '../logger.ts';
import { checkInstallation, untilInstalled } from './installation-check.ts';

const self = { component: 'operator', account: 'latchkey-operator' };
const signal = new AbortController().signal;
const operator = 'system:serviceaccount:latchkey-system:latchkey-operator';

function apiServer(minor: string, username: string | undefined, emulation: object = {}) {
  const answers: Record<string, unknown> = {
    '/version': { major: '1', minor, gitVersion: `v1.${minor}.3`, ...emulation },
    '/apis/authentication.k8s.io/v1/selfsubjectreviews': { status: { userInfo: { username } } },
  };
  return { request: async <T>(_method: string, path: string) => answers[path] as T };
}

describe('checkInstallation', () => {
  it.each(['36', '36+', '40'])('is content with Kubernetes 1.%s', async (minor) => {
    await expect(checkInstallation(apiServer(minor, operator), self, signal)).resolves.toBeUndefined();
  });

  it.each(['35', '9', ''])('refuses Kubernetes 1.%s', async (minor) => {
    await expect(checkInstallation(apiServer(minor, operator), self, signal)).rejects.toMatchObject({
      code: 'ERR_KUBERNETES_VERSION',
    });
  });

  it.each([
    ['36', '35', /v1\.36\.3, which works as 1\.35/],
    ['37', '35', /v1\.37\.3, which works as 1\.35/],
  ])('refuses a Kubernetes 1.%s that works as 1.%s', async (minor, emulationMinor, message) => {
    const server = apiServer(minor, operator, { emulationMajor: '1', emulationMinor });
    const refused = checkInstallation(server, self, signal);
    await expect(refused).rejects.toMatchObject({ code: 'ERR_KUBERNETES_VERSION' });
    await expect(refused).rejects.toThrow(message);
  });

  it('is content with a Kubernetes 1.37 that works as 1.36', async () => {
    const server = apiServer('37', operator, { emulationMajor: '1', emulationMinor: '36' });
    await expect(checkInstallation(server, self, signal)).resolves.toBeUndefined();
  });

  it.each(['kubernetes-admin', 'system:serviceaccount:other:latchkey-operator', undefined])(
    'refuses to run as %s, because the policies name the account in full',
    async (username) => {
      await expect(checkInstallation(apiServer('36', username), self, signal)).rejects.toMatchObject({
        code: 'ERR_INSTALLATION',
      });
    },
  );
});

describe('untilInstalled', () => {
  const action = { verb: 'GET', path: '/version' };
  const away = unreachable(action, new Error('connect ECONNREFUSED'));

  /** An API server that fails in these ways, one after the other, before it answers. */
  function failing(failures: readonly Error[], minor = '36') {
    const server = apiServer(minor, operator);
    const asked: number[] = [];
    const clock = new FakeClock();
    const request = async <T>(method: string, path: string): Promise<T> => {
      asked.push(clock.monotonic());
      const failure = failures[asked.length - 1];
      if (failure !== undefined) throw failure;
      return await server.request<T>(method, path);
    };
    return { clock, asked, client: { request } };
  }

  it('waits longer and longer for an API server that is away, and goes on when it is there', async () => {
    const { clock, asked, client } = failing(Array.from({ length: 7 }, () => away));
    const waiting = { clock, random: () => 1, log: silentLogger };
    const done = untilInstalled(client, self, waiting, signal);
    await clock.settle();
    await clock.advanceAsync(40_000, 100);
    await done;
    expect(asked.slice(0, 8)).toEqual([0, 500, 1_500, 3_500, 7_500, 15_500, 25_500, 35_500]);
  });

  it('does not ask in step with other replicas', async () => {
    const { clock, asked, client } = failing([away, away]);
    const done = untilInstalled(client, self, { clock, random: () => 0, log: silentLogger }, signal);
    await clock.settle();
    await clock.advanceAsync(1_000, 50);
    await done;
    expect(asked.slice(0, 3)).toEqual([0, 250, 750]);
  });

  it.each([403, 429, 500])('waits also while the answer is %i', async (status) => {
    const { clock, client } = failing([kubeErrorFromStatus(action, status, {})]);
    const done = untilInstalled(client, self, { clock, random: Math.random, log: silentLogger }, signal);
    await clock.advanceAsync(1_000, 100);
    await done;
  });

  it('does not wait for what no time repairs', async () => {
    const { clock, client } = failing([], '35');
    const waiting = { clock, random: () => 1, log: silentLogger };
    await expect(untilInstalled(client, self, waiting, signal)).rejects.toMatchObject({
      code: 'ERR_KUBERNETES_VERSION',
    });
  });

  it('ends when it is told to stop', async () => {
    const { clock, client } = failing([away]);
    const stop = new AbortController();
    const stopped = new Error('stopped');
    const request = async <T>(method: string, path: string): Promise<T> => {
      stop.signal.throwIfAborted();
      return await client.request<T>(method, path);
    };
    const waiting = { clock, random: () => 1, log: silentLogger };
    const done = untilInstalled({ request }, self, waiting, stop.signal);
    await clock.settle();
    stop.abort(stopped);
    await expect(done).rejects.toBe(stopped);
    expect(clock.pendingTimers).toBe(0);
  });
});
