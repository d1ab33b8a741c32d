import { Gauge, type Registry } from 'prom-client';
import type { Handler } from '../telemetry-server.ts';

/** `/metrics` in the Prometheus text format. */
export function metricsHandler(registry: Registry): Handler {
  return async ({ pathname }) =>
    pathname === '/metrics'
      ? { status: 200, body: await registry.metrics(), contentType: registry.contentType }
      : undefined;
}

export interface ScrapedGaugeOptions<Label extends string> {
  readonly name: string;
  readonly help: string;
  readonly label: Label;
}

/** A gauge with one label whose values are read at every scrape. */
export class ScrapedGauge<Label extends string> {
  readonly #readings = new Map<string, () => number>();

  constructor(registry: Registry, { name, help, label }: ScrapedGaugeOptions<Label>) {
    const readings = this.#readings;
    new Gauge<string>({
      registers: [registry],
      name,
      help,
      labelNames: [label],
      collect() {
        this.reset();
        for (const [value, read] of readings) this.set({ [label]: value }, read());
      },
    });
  }

  /** The same label value again replaces the function. */
  add(value: string, read: () => number): void {
    this.#readings.set(value, read);
  }

  clear(): void {
    this.#readings.clear();
  }
}
