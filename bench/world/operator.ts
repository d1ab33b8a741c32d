import { readFile } from 'node:fs/promises';
import { Guard, type GuardedProcess } from '../../lab/controlplane/guard.ts';
import { until } from '../../lab/operator/until.ts';
import type { BenchmarkContext } from '../benchmark.ts';
import { type Platform, startPlatform } from './platform.ts';
import { end, latchkey, prepare } from './program.ts';

/** Does `work` while an operator of its own leads on a control plane of its own. */
export async function withOperator<Result>(
  { options, progress }: BenchmarkContext,
  work: (platform: Platform, operator: GuardedProcess) => Promise<Result>,
): Promise<Result> {
  const guard = await Guard.start('bench');
  progress('starting a control plane and the operator');
  const platform = await startPlatform();
  try {
    const program = await latchkey(guard.folder, options.profile);
    const start = await prepare(program, platform.plane, guard);
    const running = await start();
    await until('the operator leads', async () => await hasSynced(running.logPath));
    const result = await work(platform, running);
    await end(running);
    return result;
  } finally {
    await guard.stop();
    await platform.stop();
  }
}

const hasSynced = async (log: string): Promise<boolean> =>
  (await readFile(log, 'utf8')).includes('"msg":"synced"');
