import type { KubeClientOptions } from '../kube/client/client.ts';
import type { Metrics } from '../telemetry/metrics.ts';

/** Turns requests of the client into metrics; names of objects never become labels. */
export function requestObserver(metrics: Metrics): NonNullable<KubeClientOptions['observe']> {
  return ({ method, resource, status, durationMs }) =>
    metrics.clientRequest({
      verb: method,
      resource: resource?.plural ?? 'none',
      code: status,
      seconds: durationMs / 1000,
    });
}
