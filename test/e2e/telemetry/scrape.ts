export type Labels = Readonly<Record<string, string>>;

export interface Series {
  readonly name: string;
  readonly labels: Labels;
  readonly value: number;
}

/** One answer of `/metrics`, read as Prometheus reads it. */
export class Scrape {
  /** Names of metrics, as their `# TYPE` lines have them. */
  readonly names: ReadonlySet<string>;
  readonly #series: readonly Series[];

  /** @throws TypeError for a line that is not in the text format. */
  constructor(text: string) {
    const lines = text.split('\n').filter((line) => line !== '');
    const types = lines.filter((line) => line.startsWith('# TYPE '));
    this.names = new Set(types.map((line) => line.split(' ')[2] ?? ''));
    this.#series = lines.filter((line) => !line.startsWith('#')).map(seriesOf);
  }

  get values(): readonly number[] {
    return this.#series.map(({ value }) => value);
  }

  /** All series of one name that have at least these labels. */
  series(name: string, labels: Labels = {}): readonly Series[] {
    return this.#series.filter(
      (series) =>
        series.name === name &&
        Object.entries(labels).every(([label, value]) => series.labels[label] === value),
    );
  }

  /** Of the only series with at least these labels; undefined when there is none or more than one. */
  value(name: string, labels: Labels = {}): number | undefined {
    const [only, ...others] = this.series(name, labels);
    return others.length === 0 ? only?.value : undefined;
  }

  sum(name: string, labels: Labels): number {
    return this.series(name, labels).reduce((sum, { value }) => sum + value, 0);
  }

  /** By how much more this is than before; a series that was not there counted as 0. */
  rise(before: Scrape, name: string, labels: Labels): number {
    return this.sum(name, labels) - before.sum(name, labels);
  }
}

const pattern = /^(?<name>[a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(?<labels>.*)\})? (?<value>\S+)$/;

function seriesOf(line: string): Series {
  const { name = '', labels = '', value } = pattern.exec(line)?.groups ?? {};
  if (value === undefined) throw new TypeError(`no series: ${line}`);
  const pairs = [...labels.matchAll(/([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g)];
  return {
    name,
    labels: Object.fromEntries(pairs.map(([, label = '', text = '']) => [label, text])),
    value: Number(value.replace('+Inf', 'Infinity').replace('-Inf', '-Infinity')),
  };
}
