import { Counter, Gauge, type Registry } from 'prom-client';
import { ScrapedGauge } from './registry.ts';

/** Metrics of a direct endpoint besides those that it shares with the gateway. */
export class DirectEndpointMetrics {
  /** Credentials that the Secret for a restart in an outage has no room for. */
  readonly unkept: Gauge;
  /** Answers of the authorization webhook. */
  readonly reviews: Counter<'answer'>;
  readonly #outage: ScrapedGauge<'of'>;
  readonly #credentials: ScrapedGauge<'of'>;

  constructor(registry: Registry) {
    this.unkept = new Gauge({
      registers: [registry],
      name: 'latchkey_direct_endpoint_unkept_credentials',
      help: 'Tokens that the Secret for a restart in an outage has no room for: after one they are refused until the platform answers.',
    });
    this.reviews = new Counter({
      registers: [registry],
      name: 'latchkey_direct_endpoint_reviews_total',
      help: 'Answers of the authorization webhook: `denied`, `no_opinion` where the rights of the user decide, and `unreadable` for what is no review.',
      labelNames: ['answer'],
    });
    this.#outage = new ScrapedGauge(registry, {
      name: 'latchkey_direct_endpoint_outage_seconds',
      help: 'How long the platform has been away: no revocation has reached this endpoint since. 0 while it follows the platform, and -1 before it ever did.',
      label: 'of',
    });
    this.#credentials = new ScrapedGauge(registry, {
      name: 'latchkey_direct_endpoint_credentials',
      help: 'Tokens that are good in this cluster, as the platform said last.',
      label: 'of',
    });
  }

  /** Read at every scrape. */
  read(outageSeconds: () => number, credentials: () => number): void {
    this.#outage.add('platform', outageSeconds);
    this.#credentials.add('platform', credentials);
  }
}
