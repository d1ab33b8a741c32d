import { describe, expect, it } from 'vitest';
import { describeError } from './error-description.ts';

class ApiException extends Error {
  override readonly name = 'ApiException';
  readonly code = 422;
  readonly body = '{"spec":{"key":"plain-secret-key-of-a-user"}}';
  readonly headers = { authorization: 'Bearer x' };

  constructor() {
    super('HTTP-Code: 422\nBody: {"spec":{"key":"plain-secret-key-of-a-user"}}');
  }
}

describe('describeError', () => {
  it('keeps type, message, code, status, reason and the frames of the stack', () => {
    const error = Object.assign(new TypeError('wrong'), {
      code: 'ERR_X',
      status: 409,
      reason: 'Conflict',
      extra: 1,
    });
    expect(describeError(error)).toEqual({
      type: 'TypeError',
      message: 'wrong',
      code: 'ERR_X',
      status: 409,
      reason: 'Conflict',
      stack: expect.stringMatching(/^ {4}at /),
    });
  });

  it('says nothing of the answer that an HTTP error carries, in its message and stack neither', () => {
    const text = JSON.stringify(describeError(new Error('outer', { cause: new ApiException() })));
    expect(text).toContain('"type":"ApiException"');
    expect(text).toContain('"code":422');
    expect(text).not.toContain('plain-secret-key');
    expect(text).not.toContain('Bearer');
  });

  it('follows causes only so far, so that a circle ends', () => {
    const error = new Error('circle');
    error.cause = error;
    expect(JSON.stringify(describeError(error)).match(/circle/g)).toHaveLength(4);
  });

  it('describes at most five of the errors that an AggregateError holds', () => {
    const error = new AggregateError(Array.from({ length: 9 }, (_, index) => new Error(`number ${index}`)));
    expect(describeError(error).errors?.map(({ message }) => message)).toEqual([
      'number 0',
      'number 1',
      'number 2',
      'number 3',
      'number 4',
    ]);
  });

  it('does not print what was thrown when it is no Error', () => {
    expect(describeError('a secret')).toEqual({
      type: 'string',
      message: 'a value that is no Error was thrown',
    });
  });
});
