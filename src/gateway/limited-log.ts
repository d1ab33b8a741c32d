import type { Clock } from '../kube/clock.ts';
import { WriteBudget } from '../kube/queue/write-budget.ts';
import type { Logger } from '../logger.ts';

/** Lines a second in the long run, and at once after a pause. */
const budget = { rate: 20, burst: 200 };

/**
 * The log for lines that clients cause: a request that fails writes one, and one user can make thousands a second fail. Beyond the
 * budget lines are left out, and the next one says how many. The metrics count all.
 */
export function limitedLog(log: Logger, clock: Clock): Logger {
  const lines = new WriteBudget(budget);
  let leftOut = 0;
  const at =
    (level: keyof Logger): Logger['info'] =>
    (keys, message) => {
      if (lines.tryReserve(clock.monotonic())) {
        log[level](leftOut === 0 ? keys : { ...keys, leftOut }, message);
        leftOut = 0;
      } else leftOut += 1;
    };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}
