import { describe, expect, it } from 'vitest';
import { badAnswer, kubeErrorFromStatus, timedOut, unreachable } from '../kube-error.ts';
import { isRefusalOfStreaming, isResumable } from './watch-errors.ts';

const action = { verb: 'WATCH', path: '/x' };
const refusal = (code: number, details?: object) =>
  kubeErrorFromStatus(action, code, { kind: 'Status', details });
const ahead = { causes: [{ reason: 'ResourceVersionTooLarge' }] };

describe('after which failures a watch goes on where it was', () => {
  it.each([
    ['a broken connection', unreachable(action, new Error('reset')), true],
    ['silence', timedOut(action, 1), true],
    ['401', refusal(401), true],
    ['403', refusal(403), true],
    ['429', refusal(429), true],
    ['500', refusal(500), true],
    ['503', refusal(503), true],
    ['400: the server does not understand the resourceVersion', refusal(400), false],
    ['404: the kind is gone', refusal(404), false],
    ['410: the history is gone', refusal(410), false],
    ['504 for a resourceVersion that the server has not reached', refusal(504, ahead), false],
    ['an answer that is no event', badAnswer(action, 'x'), false],
    ['a defect', new TypeError('x'), false],
  ])('%s', (_what, error, resumes) => {
    expect(isResumable(error)).toBe(resumes);
  });
});

describe('after which failures of a streaming list pages are tried', () => {
  it.each([
    ['422: the parameter is forbidden', refusal(422), true],
    ['400: the parameter is unknown', refusal(400), true],
    ['silence', timedOut(action, 1), true],
    ['a broken connection', unreachable(action, new Error('reset')), false],
    ['500', refusal(500), false],
    ['a defect', new TypeError('x'), false],
  ])('%s', (_what, error, refused) => {
    expect(isRefusalOfStreaming(error)).toBe(refused);
  });
});
