import type { ErrorValues, HTTPErrorCode } from '../../errors.ts';
import { type ErrorAnswer, type ErrorAnswerOptions, errorAnswer } from '../server/error-answer.ts';

/** Ends an operation with an answer of the gateway. Thrown, because what clients send could look like an answer. */
export class Refusal extends Error {
  readonly answer: ErrorAnswer;

  constructor(answer: ErrorAnswer) {
    super(answer.code);
    this.answer = answer;
  }
}

export function refuse<Code extends HTTPErrorCode>(
  code: Code,
  values: ErrorValues<Code>,
  options?: ErrorAnswerOptions,
): never {
  throw new Refusal(errorAnswer(code, values, options));
}
