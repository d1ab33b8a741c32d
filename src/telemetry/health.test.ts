import { describe, expect, it } from 'vitest';
import { healthHandler } from './health.ts';

const handler = healthHandler({
  livez: { loop: () => undefined },
  readyz: {
    sync: () => undefined,
    admission: () => 'policy latchkey-requester-integrity is missing',
    broken: () => {
      throw new Error('secret detail');
    },
  },
});

const get = (path: string) => handler(new URL(path, 'http://x'));

describe('healthHandler', () => {
  it.each([
    ['/livez', { status: 200, body: 'ok\n' }],
    ['/livez/', { status: 200, body: 'ok\n' }],
    ['/livez?verbose', { status: 200, body: '[+]loop ok\nlivez check passed\n' }],
    ['/livez/loop', { status: 200, body: 'ok\n' }],
    ['/readyz/sync', { status: 200, body: 'ok\n' }],
    [
      '/readyz/admission',
      {
        status: 503,
        body: '[-]admission failed: policy latchkey-requester-integrity is missing\nreadyz check failed\n',
      },
    ],
    [
      '/readyz',
      {
        status: 503,
        body: '[+]sync ok\n[-]admission failed: policy latchkey-requester-integrity is missing\n[-]broken failed: the check itself failed\nreadyz check failed\n',
      },
    ],
  ])('answers %s', (path, answer) => {
    expect(get(path)).toEqual(answer);
  });

  it.each(['/', '/healthz', '/readyz/unknown', '/readyz/sync/x', '/livez/toString', '/metrics'])(
    'has no answer for %s',
    (path) => {
      expect(get(path)).toBeUndefined();
    },
  );
});
