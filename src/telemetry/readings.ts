/** Functions that are read at every scrape, each with its labels. The same labels again replace the function. */
export class Readings {
  readonly labelNames: readonly string[];
  readonly #readings = new Map<string, { labels: Readonly<Record<string, string>>; read: () => number }>();

  constructor(labelNames: readonly string[]) {
    this.labelNames = labelNames;
  }

  add(labels: Readonly<Record<string, string>>, read: () => number): void {
    this.#readings.set(JSON.stringify(labels), { labels, read });
  }

  clear(): void {
    this.#readings.clear();
  }

  *values(): IterableIterator<{ labels: Readonly<Record<string, string>>; value: number }> {
    for (const { labels, read } of this.#readings.values()) yield { labels, value: read() };
  }
}
