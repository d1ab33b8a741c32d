import type { Options } from './options.ts';

/** The findings of a benchmark, as they stand in the results. */
export interface Section {
  readonly title: string;
  /** The measured work, how often, and beside what. */
  readonly about: string;
  /** Markdown. */
  readonly table: string;
  /** Facts that a reader must know to judge the figures. */
  readonly notes: readonly string[];
}

export interface BenchmarkContext {
  readonly options: Options;
  /** Tells the person who waits what happens now. */
  readonly progress: (text: string) => void;
}

/** Never a test: it measures, and nothing passes or fails by time. */
export interface Benchmark {
  readonly name: string;
  readonly run: (context: BenchmarkContext) => Promise<Section>;
}
