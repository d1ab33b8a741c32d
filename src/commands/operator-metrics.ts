import { controllerNames, finalizerLimits } from '../operator/assembly/operator-context.ts';
import { reflectorNames } from '../operator/assembly/reflectors.ts';
import { Metrics } from '../telemetry/metrics.ts';
import { version } from '../version.ts';

/** The metrics of an operator. What may rise exists with 0 from the start, also in a process that never leads. */
export function operatorMetrics(): Metrics {
  const metrics = new Metrics();
  metrics.watchProcess(version);
  for (const name of controllerNames) metrics.forController(name);
  for (const name of reflectorNames) metrics.forReflector(name);
  for (const kind of Object.keys(finalizerLimits)) metrics.finalizersReleased.inc({ kind }, 0);
  return metrics;
}
