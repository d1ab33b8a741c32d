import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { KubeError, kubeErrorFromStatus, timedOut, unreachable } from './kube-error.ts';

const action = { verb: 'PATCH', path: '/api/v1/namespaces/ns/secrets/a' };
const secret = 'lk_S3cretS3cretS3cret';
const status = (code: number, reason: string, message: string) => ({ kind: 'Status', code, reason, message });

describe('what an error shows', () => {
  it.each([
    [422, 'Invalid', `OwnedAccessKey "a" is invalid: spec.key: Invalid value: "${secret}"`],
    [400, 'BadRequest', `cannot decode: unknown value ${secret}`],
    [403, 'Forbidden', `admission webhook "x" denied the request: ${secret}`],
    [500, 'InternalError', `failed calling webhook: ${secret}`],
  ])('keeps the text of a %i out of message, stack, JSON and inspection', (code, reason, message) => {
    const details = { causes: [{ reason: 'FieldValueInvalid', field: 'spec.key', message: secret }] };
    const error = kubeErrorFromStatus(action, code, { ...status(code, reason, message), details });
    for (const shown of [error.message, error.stack, JSON.stringify(error), inspect(error, { depth: 9 })]) {
      expect(shown).not.toContain(secret);
    }
    expect(error.statusMessage).toBe(message);
    expect(error.details).toEqual({ causes: [{ reason: 'FieldValueInvalid', field: 'spec.key' }] });
  });

  it.each([
    [404, 'NotFound', 'secrets "a" not found'],
    [409, 'Conflict', 'Apply failed with 1 conflict: conflict with "argocd": .spec.disabled'],
    [403, 'Forbidden', 'secrets "a" is forbidden: User "u" cannot patch resource "secrets" in API group ""'],
    [429, 'TooManyRequests', 'too many requests'],
  ])('shows the text of a %i %s, which holds names only', (code, reason, message) => {
    expect(kubeErrorFromStatus(action, code, status(code, reason, message)).message).toBe(
      `the API server answered ${code} ${reason} to PATCH /api/v1/namespaces/ns/secrets/a: ${message}`,
    );
  });
});

describe('kubeErrorFromStatus', () => {
  it.each([
    ['the code of the body in a watch event', 200, status(410, 'Expired', ''), '410 Expired'],
    ['500 for a body that is no Status in a watch event', 200, { other: true }, '500 InternalError'],
    ['the HTTP status over the body', 404, status(500, 'NotFound', ''), '404 NotFound'],
    ['the usual reason where the body has none', 429, status(429, '', ''), '429 TooManyRequests'],
    ['Unknown for a status that no one knows', 418, undefined, '418 Unknown'],
  ])('takes %s', (_what, httpStatus, body, expected) => {
    const error = kubeErrorFromStatus(action, httpStatus, body);
    expect(`${error.status} ${error.reason}`).toBe(expected);
  });

  it('prefers the seconds of the header to those of the body', () => {
    const body = { ...status(429, 'TooManyRequests', ''), details: { retryAfterSeconds: 9 } };
    expect(kubeErrorFromStatus(action, 429, body, 3).retryAfterSeconds).toBe(3);
    expect(kubeErrorFromStatus(action, 429, body).retryAfterSeconds).toBe(9);
  });
});

it.each([
  [timedOut(action, 500), 'ERR_KUBE_TIMEOUT'],
  [unreachable(action, new Error('reset')), 'ERR_KUBE_UNREACHABLE'],
])('says what was tried: %s', (error, code) => {
  expect(error).toBeInstanceOf(KubeError);
  expect([error.code, error.status]).toEqual([code, 0]);
  expect(error.message).toContain('PATCH /api/v1/namespaces/ns/secrets/a');
});
