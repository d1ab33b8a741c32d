import { setTimeout as delay } from 'node:timers/promises';
import { RunningOperator } from '../../lab/operator/running-operator.ts';
import { healthOf, metricOf } from '../../lab/operator/telemetry.ts';
import { until } from '../../lab/operator/until.ts';
import { ownedAccessKeys } from '../../src/api/resources.ts';
import type { BenchmarkContext } from '../benchmark.ts';
import { startGateway } from '../gateway/endpoints.ts';
import { removeAll } from '../gateway/etcd.ts';
import { type GatewayPlatform, storeKeys, withGatewayPlatform } from '../gateway/gateway-platform.ts';
import { storedKey } from '../gateway/stored-keys.ts';
import { usageOf } from '../measure/process-usage.ts';
import type { SizingFigure } from './plot.ts';

export interface MeasureOptions extends BenchmarkContext {
  /** Numbers of access keys, in ascending order. */
  readonly counts: readonly number[];
  readonly idleSeconds: number;
}

/** Garbage is collected as far as a process does that by itself. */
const settleMs = 10_000;
const readyMs = 600_000;

/** Operator and gateway with each number of keys, one after the other. */
export async function measureSizing(options: MeasureOptions): Promise<readonly SizingFigure[]> {
  const { counts, progress } = options;
  const empty = { ...options, options: { ...options.options, keys: 0 } };
  return await withGatewayPlatform(empty, async (platform) => {
    const figures: SizingFigure[] = [];
    for (const keys of counts) {
      progress(`storing ${keys} access keys`);
      await storeKeys(platform, keys, { now: Date.now() });
      progress(`the gateway with ${keys} keys`);
      figures.push(await measureGateway(platform, keys, options));
      progress(`the operator with ${keys} keys`);
      figures.push(await measureOperator(platform, keys, options));
    }
    return figures;
  });
}

async function measureGateway(
  platform: GatewayPlatform,
  keys: number,
  { idleSeconds }: MeasureOptions,
): Promise<SizingFigure> {
  const began = performance.now();
  const { pid, gateway } = await startGateway(platform, { name: `gateway-${keys}` });
  const startSeconds = secondsSince(began);
  const atRest = await measureAtRest(pid, idleSeconds);
  await gateway.end();
  return { program: 'gateway', keys, startSeconds, ...atRest };
}

async function measureOperator(
  platform: GatewayPlatform,
  keys: number,
  { idleSeconds }: MeasureOptions,
): Promise<SizingFigure> {
  const env = { NODE_ENV: 'production', LATCHKEY_MAX_OBJECTS_PER_OWNER: '0' };
  const began = performance.now();
  const operator = await RunningOperator.start(platform.plane, platform.guard, {
    name: `operator-${keys}`,
    env,
  });
  const leads = async () =>
    (await metricOf(operator, 'latchkey_leader')) === 1 &&
    (await healthOf(operator, '/readyz')).status === 200;
  await until('the operator leads', leads, { timeoutMs: readyMs, everyMs: 50 });
  const startSeconds = secondsSince(began);
  const atRest = await measureAtRest(operator.process.pid, idleSeconds);
  const relistSeconds = keys === 0 ? undefined : await relist(platform, operator, keys);
  await operator.end();
  return {
    ...{ program: 'operator', keys, startSeconds, ...atRest },
    ...(relistSeconds === undefined ? {} : { relistSeconds }),
  };
}

async function measureAtRest(
  pid: number,
  seconds: number,
): Promise<Pick<SizingFigure, 'residentMebibytes' | 'idlePercent'>> {
  await delay(settleMs);
  const before = await usageOf(pid);
  await delay(seconds * 1_000);
  const after = await usageOf(pid);
  return {
    residentMebibytes: after.residentMebibytes,
    idlePercent: (100 * (after.cpuSeconds - before.cpuSeconds)) / seconds,
  };
}

/** The API server starts again with a later state, so that a watch cannot go on. Seconds until the keys are known again. */
async function relist({ plane }: GatewayPlatform, operator: RunningOperator, keys: number): Promise<number> {
  const { metadata } = storedKey(keys - 1, { now: 0 });
  await plane.stopApiServer();
  await removeAll(plane, ownedAccessKeys, [metadata].values());
  await plane.startApiServer();
  const began = performance.now();
  const known = 'latchkey_reflector_objects{resource="ownedaccesskeys"}';
  const isKnown = async () => (await metricOf(operator, known)) === keys - 1;
  await until('everything is listed again', isKnown, { timeoutMs: readyMs, everyMs: 50 });
  return secondsSince(began);
}

const secondsSince = (began: number): number => (performance.now() - began) / 1_000;
