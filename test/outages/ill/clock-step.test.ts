import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { RunningOperator } from '../../../lab/operator/running-operator.ts';
import { until } from '../../../lab/operator/until.ts';
import { operatorWorld } from '../../../lab/operator/world.ts';
import { reasons } from '../../../src/api/reasons.ts';

const world = await operatorWorld({ operator: false });
const { admin } = world;
const settableClock = path.resolve(import.meta.dirname, '../../../lab/operator/settable-clock.mjs');
let operator: RunningOperator;

beforeAll(async () => {
  operator = await world.startOperator({ env: { NODE_OPTIONS: `--import=${settableClock}` } });
});
afterAll(async () => void (await operator.end()));

it('an operator whose clock is set ahead ends what has ended by it, renews what can be renewed, and leads on', async () => {
  const [key, later] = await Promise.all(
    [1_800, 7_200].map(async (ttl) => await admin.untilReady(await admin.createKey({ user: 'alice', ttl }))),
  );
  if (key === undefined || later === undefined) throw new TypeError('two keys are needed');
  const name = world.name('clock-step');
  const secretRef = { namespace: 'default', name };
  const spec = { accessKey: later.metadata.name, ttl: 1_800, secretRef };
  const token = await admin.untilReady(await admin.createToken(spec, { name }));

  process.kill(operator.process.pid, 'SIGUSR2');

  const ended = await admin.untilRefused(key, reasons.expired, { timeoutMs: 60_000 });
  expect(ended.spec.disabled).toBe(true);
  expect((await admin.get(later)).spec.disabled).not.toBe(true);
  // It would have stood in the Secret expired.
  await admin.until(token, 'renewed', ({ status }) => status.serial === 2);
  await admin.untilReady(await admin.createKey());
  const noticed = async () => (await operator.log()).includes('the clock was set, or the machine slept');
  await until('it says so', noticed);
  expect(await operator.log()).not.toContain('leadership lost');
});
