import type { Resource } from '../../api/resources.ts';
import type { Action } from '../kube-error.ts';

/** Of a list: the most objects that may come. */
export interface ListBounds {
  readonly limit: number | undefined;
}

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly resource?: Resource;
  /** Absent: one object was asked for. */
  readonly list?: ListBounds;
}

/** Judges what an API server answers before anything reads it. */
export interface AnswerGuard {
  /** The answer, when it has the shape that was asked for. */
  check(answer: Promise<unknown>, asked: Asked, signal: AbortSignal | undefined): Promise<unknown>;
  watch<T>(action: Action, events: AsyncIterable<T>, signal: AbortSignal): AsyncIterable<T>;
  /** Returns what the work returns, which makes a request out of what may have been an answer before. */
  make<T>(action: Action, make: () => T): T;
}

/** Of an API server of our own. */
export const asTheyCome: AnswerGuard = {
  check: (answer) => answer,
  watch: (_, events) => events,
  make: (_, make) => make(),
};
