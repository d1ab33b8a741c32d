import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { Api, Stored } from '../../../lab/operator/api.ts';
import { until } from '../../../lab/operator/until.ts';
import { operatorWorld, targetSettings } from '../../../lab/operator/world.ts';
import { PlayedCluster } from '../../e2e/kubeconfigs/played-cluster.ts';
import type { Exchange } from '../../fakes/exchange.ts';
import { residentMiB } from '../gateway/process-figures.ts';

const mebibyte = 2 ** 20;
const memoryMiB = await shippedMemory();
const world = await operatorWorld({
  env: { ...targetSettings, LATCHKEY_FINALIZER_LIMIT: '20s' },
});
const { admin } = world;
const alice = (await world.user('alice')).api;
let hostile: PlayedCluster;
const answered = { count: 0 };

beforeAll(async () => {
  hostile = await PlayedCluster.start();
});
afterAll(async () => await hostile.server.stop());

/** The most that the Deployment lets the operator have. */
async function shippedMemory(): Promise<number> {
  const file = path.resolve('config/operator/deployment.yaml');
  const { spec } = parse(await readFile(file, 'utf8'));
  const [{ resources }] = spec.template.spec.containers;
  return Number.parseInt(resources.limits.memory, 10);
}

/** How long keys take from their creation until they are confirmed, one after the other; the longest is the last. */
async function readyTimes(api: Api, count: number): Promise<readonly number[]> {
  const times: number[] = [];
  for (let index = 0; index < count; index++) {
    const start = performance.now();
    await api.untilReady(await api.createKey({ user: 'alice', ttl: 3_600 }), { everyMs: 2 });
    times.push(performance.now() - start);
  }
  return times.toSorted((a, b) => a - b);
}

/** Nearly all that is read of one answer: one binding of a dead certificate, with a label that no one needs. */
function heavyBinding({ metadata: { uid } }: Stored, bytes: number): object {
  const name = `management.platform.sh:kubeconfig:${uid}:1`;
  return {
    metadata: { name: 'heavy', uid: 'u', resourceVersion: '1', annotations: { a: 'x'.repeat(bytes) } },
    subjects: [{ kind: 'User', name }],
  };
}

/** Answers each list with as much as the operator reads, and never comes to an end. */
function flood(victims: readonly Stored[]): (exchange: Exchange) => boolean {
  const pages = new Map(
    [3, 14].map((size) => {
      const items = victims.slice(0, 1).map((victim) => heavyBinding(victim, size * mebibyte));
      return [size, JSON.stringify({ kind: 'List', metadata: { continue: 'next' }, items })];
    }),
  );
  return (exchange) => {
    const { method, path: asked, query } = exchange;
    if (method !== 'GET' || !/\/(clusterrolebindings|rolebindings)$/.test(asked)) return false;
    answered.count++;
    exchange.answer(200, pages.get(query.get('limit') === '1' ? 14 : 3));
    return true;
  };
}

describe('twelve kubeconfigs of a virtual cluster that answers with as much as is read', () => {
  it('take no more memory together than the operator has, and hold up no key of another user', async () => {
    const project = await hostile.project(world);
    const victims = await Promise.all(Array.from({ length: 12 }, async () => await project.issued()));
    await readyTimes(alice, 20);
    const alone = await readyTimes(alice, 100);
    hostile.interfere = flood(victims);
    let beside: readonly number[] = [];
    let highest = 0;
    const { pid } = world.operator.process;
    const timer = setInterval(() => {
      highest = Math.max(highest, residentMiB(pid));
    }, 50);
    try {
      for (const victim of victims) await admin.delete(victim);
      await until('all of them are at it', async () => answered.count >= 12, { timeoutMs: 90_000 });
      beside = await readyTimes(alice, 100);
      await until('there is nothing more to answer', async () => (await left(victims)) === 0, {
        timeoutMs: 120_000,
        everyMs: 1_000,
      });
    } finally {
      clearInterval(timer);
    }
    expect(world.operator.exited).toBe(false);
    expect(highest).toBeLessThan(memoryMiB);
    expect(beside[50]).toBeLessThan(2 * (alone[98] as number));
  }, 300_000);
});

const left = async (objects: readonly Stored[]): Promise<number> =>
  (await Promise.all(objects.map(async (object) => await admin.find(object)))).filter(Boolean).length;
