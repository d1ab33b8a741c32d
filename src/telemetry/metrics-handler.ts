import type { Metrics } from './metrics.ts';
import type { Handler } from './telemetry-server.ts';

/** `/metrics` in the Prometheus text format. */
export function metricsHandler({ registry }: Metrics): Handler {
  return async ({ pathname }) =>
    pathname === '/metrics'
      ? { status: 200, body: await registry.metrics(), contentType: registry.contentType }
      : undefined;
}
