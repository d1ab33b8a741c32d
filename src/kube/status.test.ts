import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { kubeErrorFromStatus } from './kube-error.ts';
import { readStatus, renderStatus } from './status.ts';

const unprintable = { toString: 1, valueOf: 1 };
const body = (parts: object) => ({ kind: 'Status', ...parts });

describe('what is read of a refusal', () => {
  it('is all that an API server says, without the rejected values', () => {
    const causes = [{ reason: 'FieldValueInvalid', field: 'spec.key', message: 'quotes it' }];
    const details = { name: 'a', group: 'g', kind: 'k', uid: 'u', retryAfterSeconds: 3, causes };
    expect(
      readStatus(body({ message: 'm', reason: 'Invalid', code: 422, details, status: 'Failure' })),
    ).toEqual({
      message: 'm',
      reason: 'Invalid',
      code: 422,
      details: { ...details, causes: [{ reason: 'FieldValueInvalid', field: 'spec.key' }] },
    });
  });

  it.each([undefined, null, 5, 'Status', [], {}, { kind: 'Secret', message: 'm' }, { kind: unprintable }])(
    'is nothing of what is no Status: %j',
    (other) => {
      expect(readStatus(other)).toEqual({});
    },
  );

  it.each<[string, object, object]>([
    ['details that are null', { details: null }, {}],
    ['details that are a list', { details: [1] }, {}],
    ['causes that are no list', { details: { causes: 5 } }, { details: {} }],
    [
      'causes that are null',
      { details: { causes: [null, 'x', { field: 5 }] } },
      { details: { causes: [{}, {}, {}] } },
    ],
    ['texts that are none', { reason: unprintable, message: ['m'] }, {}],
    ['long texts', { reason: 'r'.repeat(1_025), details: { name: 'n'.repeat(1_025) } }, { details: {} }],
    ['a code that is none', { code: '404' }, {}],
    ['a code that HTTP does not have', { code: 1e9 }, {}],
    ['seconds that are none', { details: { retryAfterSeconds: unprintable } }, { details: {} }],
    ['seconds before now', { details: { retryAfterSeconds: -1 } }, { details: {} }],
  ])('is without %s', (_, parts, expected) => {
    expect(readStatus(body(parts))).toEqual(expected);
  });

  it('is bounded', () => {
    const causes = Array(10_000).fill({ field: 'a' });
    const { message, details } = readStatus(body({ message: 'm'.repeat(10 ** 6), details: { causes } }));
    expect([message?.length, details?.causes?.length]).toEqual([65_536, 256]);
  });

  it('makes an error of any body', () => {
    const action = { verb: 'GET', path: '/api' };
    const parts = fc.record(
      { message: fc.anything(), reason: fc.anything(), code: fc.anything(), details: fc.anything() },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(parts, fc.constantFrom(200, 401, 403, 404, 409, 422, 500), (odd, status) => {
        const error = kubeErrorFromStatus(action, status, body(odd));
        expect([typeof error.reason, typeof error.status, typeof error.message]).toEqual([
          'string',
          'number',
          'string',
        ]);
      }),
    );
  });
});

describe('a Status that is written', () => {
  it('is read back as it was meant, with the reason that Kubernetes gives the code', () => {
    const text = renderStatus({ code: 429, message: 'slow down', details: { retryAfterSeconds: 1 } });
    expect(readStatus(JSON.parse(text))).toEqual({
      code: 429,
      message: 'slow down',
      reason: 'TooManyRequests',
      details: { retryAfterSeconds: 1 },
    });
  });

  it('has no reason where Kubernetes has no word for the code', () => {
    expect(JSON.parse(renderStatus({ code: 505, message: 'no' }))).not.toHaveProperty('reason');
  });
});
