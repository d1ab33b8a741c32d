import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { InformerMetrics } from './informers.ts';
import { ScrapedGauge } from './registry.ts';

/** In seconds. A request through the gateway is mostly one to an API server near by. */
const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Metrics of the gateway besides those of every process. No label ever holds a secret or the name of an object. */
export class GatewayMetrics {
  readonly informers: InformerMetrics;
  /** Requests that were passed on, by target, verb and status of the answer. */
  readonly requests: Counter<'target' | 'verb' | 'code'>;
  readonly seconds: Histogram<'target' | 'verb'>;
  readonly refusals: Counter<'error'>;
  readonly underway: Gauge<'kind'>;
  readonly closedConnections: Counter<'limit'>;
  readonly #waitingActivity: ScrapedGauge<'of'>;

  constructor(registry: Registry) {
    const registers = [registry];
    this.informers = new InformerMetrics(registry);
    this.requests = new Counter({
      registers,
      name: 'latchkey_gateway_requests_total',
      help: 'Requests that were passed on to a target, by kind of target, verb and HTTP status of the answer. Status 0: no answer; other: one that has no name.',
      labelNames: ['target', 'verb', 'code'],
    });
    this.seconds = new Histogram({
      registers,
      name: 'latchkey_gateway_request_duration_seconds',
      help: 'Time from the head of a request to the end of its answer. Watches and the like are not counted.',
      labelNames: ['target', 'verb'],
      buckets,
    });
    this.refusals = new Counter({
      registers,
      name: 'latchkey_gateway_refusals_total',
      help: 'Requests that the gateway answered with an error of its own, by its code.',
      labelNames: ['error'],
    });
    this.underway = new Gauge({
      registers,
      name: 'latchkey_gateway_requests_underway',
      help: 'Requests that are being passed on now: short ones, and long ones such as watches.',
      labelNames: ['kind'],
    });
    this.closedConnections = new Counter({
      registers,
      name: 'latchkey_gateway_connections_closed_total',
      help: 'Connections that were closed because there were too many without a live credential, in all or from one address. Also those of trusted proxies that lack the header of the PROXY protocol.',
      labelNames: ['limit'],
    });
    this.#waitingActivity = new ScrapedGauge(registry, {
      name: 'latchkey_gateway_activity_waiting',
      help: 'Keys whose last use is still to be written. Idle keys may end early while it keeps rising.',
      label: 'of',
    });
  }

  /** Read at every scrape. */
  readWaitingActivity(read: () => number): void {
    this.#waitingActivity.add('keys', read);
  }
}
