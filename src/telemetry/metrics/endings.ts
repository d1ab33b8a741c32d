import { Gauge, type Registry } from 'prom-client';
import { allCredentialKinds, type CredentialKind } from '../../api/credential-kinds.ts';

/** Spans of time ahead in milliseconds, by their labels. A longer one counts what a shorter one counts, too. */
const spans = { '1h': 3_600_000, '24h': 86_400_000, '7d': 604_800_000 } as const;

type CountEndings = (kind: CredentialKind, spanMs: number) => number;

/** How many credentials end soon. It has no series while no one counts. */
export class EndingMetrics {
  readonly #reading: { count?: CountEndings } = {};

  constructor(registry: Registry) {
    const reading = this.#reading;
    new Gauge<'kind' | 'within'>({
      registers: [registry],
      name: 'latchkey_credentials_ending',
      help: 'Credentials that work and end within this time, by the end in their status and to five minutes. A credential that the operator renews counts until then.',
      labelNames: ['kind', 'within'],
      collect() {
        this.reset();
        const { count } = reading;
        if (count === undefined) return;
        for (const kind of allCredentialKinds)
          for (const [within, spanMs] of Object.entries(spans))
            this.set({ kind, within }, count(kind, spanMs));
      },
    });
  }

  /** `count` is called at every scrape. */
  read(count: CountEndings): void {
    this.#reading.count = count;
  }

  clear(): void {
    delete this.#reading.count;
  }
}
