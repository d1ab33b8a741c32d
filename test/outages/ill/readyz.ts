import type { RunningOperator } from '../../../lab/operator/running-operator.ts';
import { healthOf } from '../../../lab/operator/telemetry.ts';
import { until } from '../../../lab/operator/until.ts';

/**
 * Waits until `/readyz` answers with this status and this list of checks. @throws Error also when the process has ended, or
 * `/livez` failed once meanwhile.
 */
export async function untilReadyz(
  operator: RunningOperator,
  status: number,
  text: RegExp,
  timeoutMs = 90_000,
): Promise<void> {
  let last = '';
  const failed: string[] = [];
  const look = async () => {
    if (operator.exited) throw new Error(`the operator ended: ${(await operator.log()).slice(-2_000)}`);
    const alive = await healthOf(operator, '/livez');
    if (alive.status !== 200) failed.push(alive.text);
    const answer = await healthOf(operator, '/readyz?verbose');
    last = answer.text;
    return answer.status === status && text.test(answer.text);
  };
  await until(`readyz says ${status} ${text}`, look, { timeoutMs, everyMs: 100, seen: () => last });
  if (failed.length > 0) throw new Error(`/livez failed: ${failed.join('; ')}`);
}

export const untilReady = async (operator: RunningOperator, timeoutMs?: number): Promise<void> =>
  await untilReadyz(operator, 200, /readyz check passed/, timeoutMs);
