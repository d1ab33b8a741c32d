import { Counter, Histogram, type Registry } from 'prom-client';

/** As the client of the API server describes it. */
export interface ClientRequest {
  readonly method: string;
  /** Absent for requests by path. */
  readonly resource?: { readonly plural: string } | undefined;
  /** HTTP status; 0 when no answer came. */
  readonly status: number;
  readonly durationMs: number;
}

/** In seconds; for reconciles as well, which are mostly requests. */
export const requestBuckets = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Requests to the API server. Names of objects never become labels. */
export class ClientMetrics {
  readonly #requests;
  readonly #seconds;

  constructor(registry: Registry) {
    this.#requests = new Counter({
      registers: [registry],
      name: 'latchkey_client_requests_total',
      help: 'Requests to the API server by verb, resource and HTTP status (0: no answer).',
      labelNames: ['verb', 'resource', 'code'],
    });
    this.#seconds = new Histogram({
      registers: [registry],
      name: 'latchkey_client_request_duration_seconds',
      help: 'Time from the start of a request to the end of its answer. Watches are not counted.',
      labelNames: ['verb', 'resource'],
      buckets: requestBuckets,
    });
  }

  observe({ method: verb, resource, status: code, durationMs }: ClientRequest): void {
    const labels = { verb, resource: resource?.plural ?? 'none' };
    this.#requests.inc({ ...labels, code });
    this.#seconds.observe(labels, durationMs / 1000);
  }
}
