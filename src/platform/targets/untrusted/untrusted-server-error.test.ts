import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { LatchkeyError } from '../../../errors.ts';
import {
  badAnswer,
  isAlreadyExists,
  isConflict,
  isNotFound,
  kubeErrorFromStatus,
  timedOut,
  unreachable,
} from '../../../kube/kube-error.ts';
import { toUntrustedServerError, UntrustedServerError } from './untrusted-server-error.ts';

const action = { verb: 'GET', path: '/api/v1/secrets' };
const canary = 'CANARY7f3a';

const status = (code: number, reason: string, details?: object) =>
  kubeErrorFromStatus(action, code, { kind: 'Status', message: `said ${canary}`, reason, details });

const untrusted = (error: unknown): UntrustedServerError => {
  const converted = toUntrustedServerError(action, error);
  expect(converted).toBeInstanceOf(UntrustedServerError);
  expect(inspect(converted, { depth: 10, showHidden: true })).not.toContain(canary);
  return converted as UntrustedServerError;
};

describe('an error of an untrusted API server', () => {
  it('keeps status and known reason, and nothing that the server said', () => {
    const error = untrusted(
      status(404, 'NotFound', { name: canary, kind: canary, causes: [{ field: canary }] }),
    );
    expect(isNotFound(error)).toBe(true);
    expect(error.message).toBe('the API server answered 404 NotFound to GET /api/v1/secrets');
    expect(error.statusMessage).toBe('');
    expect(error.details).toBeUndefined();
  });

  it('replaces a reason that no API server gives', () => {
    expect(untrusted(status(500, canary)).reason).toBe('Unknown');
  });

  it('is still the conflict, or the duplicate, that it was', () => {
    expect(isConflict(untrusted(status(409, 'Conflict')))).toBe(true);
    expect(isAlreadyExists(untrusted(status(409, 'AlreadyExists')))).toBe(true);
    const uid = { causes: [{ reason: 'FieldValueInvalid', message: canary, field: 'metadata.uid' }] };
    expect(isConflict(untrusted(status(422, 'Invalid', uid)))).toBe(true);
    expect(isConflict(untrusted(status(422, 'Invalid')))).toBe(false);
  });

  it('keeps when to come again', () => {
    expect(untrusted(status(429, 'TooManyRequests', { retryAfterSeconds: 7 })).retryAfterSeconds).toBe(7);
  });

  it('says which code broke the connection, without host and address', () => {
    const cause = Object.assign(new Error(`getaddrinfo ENOTFOUND ${canary}`), {
      code: 'ENOTFOUND',
      hostname: canary,
    });
    const error = untrusted(unreachable(action, cause));
    expect(error.message).toBe('cannot reach the API server: GET /api/v1/secrets: ENOTFOUND');
    expect(error.causeCode).toBe('ENOTFOUND');
  });

  it('takes the first failure of several addresses', () => {
    const failure = Object.assign(new Error(canary), { code: 'ECONNREFUSED' });
    expect(untrusted(unreachable(action, new AggregateError([failure], canary))).causeCode).toBe(
      'ECONNREFUSED',
    );
  });

  it('knows an answer that is no HTTP', () => {
    const cause = Object.assign(new Error(canary), {
      name: 'HTTPParserError',
      code: undefined,
      data: canary,
    });
    expect(untrusted(unreachable(action, cause)).causeCode).toBe('HPE_INVALID');
  });

  it('takes no code that is text', () => {
    const error = untrusted(
      unreachable(action, Object.assign(new Error(canary), { code: canary.toLowerCase() })),
    );
    expect([error.causeCode, error.message]).toEqual([
      undefined,
      'cannot reach the API server: GET /api/v1/secrets: no connection',
    ]);
  });

  it('keeps an error of our own as its cause', () => {
    const cause = new LatchkeyError('ERR_TARGET_ADDRESS', { problem: 'it is a loopback address' });
    expect(untrusted(unreachable(action, cause))).toMatchObject({ cause, causeCode: 'ERR_TARGET_ADDRESS' });
  });

  it('keeps the constant texts of time limits and unusable answers', () => {
    expect(untrusted(timedOut(action, 5)).message).toBe('no answer to GET /api/v1/secrets within 5 ms');
    expect(untrusted(badAnswer(action, 'not JSON', 200))).toMatchObject({ status: 200, reason: 'BadAnswer' });
  });
});

describe('the message of an untrusted error', () => {
  const long = { verb: 'DELETE', path: `/apis/x/${canary}${'x'.repeat(500_000)}` };

  it.each([
    ['a time limit', timedOut(long, 5)],
    ['an unusable answer', badAnswer(long, 'not JSON', 200)],
    ['no connection', unreachable(long, new Error('x'))],
    ['a refusal', kubeErrorFromStatus(long, 404, { kind: 'Status', reason: 'NotFound' })],
  ])('after %s is cut where the path holds a name of any length', (_, error) => {
    const { message } = toUntrustedServerError(long, error) as Error;
    expect(message).toContain('DELETE /apis/x/');
    expect(message.length).toBeLessThan(500);
  });
});

describe('toUntrustedServerError', () => {
  it('leaves alone what is no KubeError, or untrusted already', () => {
    const error = untrusted(timedOut(action, 5));
    const other = new Error('x');
    expect([toUntrustedServerError(action, error), toUntrustedServerError(action, other)]).toEqual([
      error,
      other,
    ]);
  });
});
