import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { impersonates, requestHeaders } from './request-headers.ts';
import { responseHeaders } from './response-headers.ts';

const impersonation = ['impersonate-user', 'alice', 'impersonate-group', 'dev'];
const own = { clientAddress: '192.0.2.1', impersonation };
const added = ['x-forwarded-for', '192.0.2.1', ...impersonation];
const kept = (...rawHeaders: string[]) => {
  const headers = requestHeaders(rawHeaders, own);
  expect(headers.slice(-added.length)).toEqual(added);
  return headers.slice(0, -added.length);
};

describe('requestHeaders', () => {
  it.each([
    'Authorization',
    'Audit-ID',
    'Connection',
    'Cookie',
    'Expect',
    'Forwarded',
    'Host',
    'Impersonate-User',
    'Impersonate-Uid',
    'IMPERSONATE-EXTRA-scopes',
    'Keep-Alive',
    'Proxy-Authorization',
    'Proxy-Connection',
    'TE',
    'Trailer',
    'Transfer-Encoding',
    'Upgrade',
    'X-HTTP-Method-Override',
    'X-HTTP-Method',
    'X-Method-Override',
    'X-Forwarded-For',
    'X-Forwarded-Host',
    'X-Real-Ip',
    'X-Remote-User',
    'X-Remote-Extra-Scopes',
    'Sec-WebSocket-Protocol',
  ])('leaves out %s', (name) => {
    expect(kept(name, 'x', 'Accept', 'a')).toEqual(['accept', 'a']);
  });

  it('keeps the rest, in order, repeated or not', () => {
    expect(kept('Accept', 'a', 'X-Own', '1', 'X-Own', '2', 'Content-Length', '3')).toEqual([
      'accept',
      'a',
      'x-own',
      '1',
      'x-own',
      '2',
      'content-length',
      '3',
    ]);
  });

  it('leaves out what Connection names, but never what says how long the body is, or what we add', () => {
    const connection = 'close, X-Own , Impersonate-User, Authorization, Content-Length, content-type';
    expect(kept('X-Own', '1', 'Connection', connection, 'Content-Length', '3')).toEqual([
      'content-length',
      '3',
    ]);
  });

  it.each([[[]], [['impersonate-user', '']], [['impersonate-group', 'dev']]])(
    'throws rather than send a request as the gateway itself: %j',
    (none) => {
      expect(() => requestHeaders([], { ...own, impersonation: none })).toThrow(TypeError);
    },
  );

  it('never lets a header of the client say who asks, whatever it is called', () => {
    const name = fc.oneof(
      fc.constantFrom('impersonate-user', 'Impersonate-Group', 'X-Remote-User', 'authorization', 'Cookie'),
      fc.stringMatching(/^[a-zA-Z-]{1,20}$/),
    );
    const headers = fc.array(fc.tuple(name, fc.constant('evil')), { maxLength: 8 });
    fc.assert(
      fc.property(headers, (pairs) => {
        const names = kept(...pairs.flat()).filter((_, index) => index % 2 === 0);
        return names.every((text) => !/^(?:impersonate-|x-remote-|authorization$|cookie$)/.test(text));
      }),
    );
  });
});

describe('impersonates', () => {
  it.each([
    'Impersonate-User',
    'impersonate-uid',
    'IMPERSONATE-Extra-x',
    'Impersonate_User',
    'Impersonate-New',
  ])('sees %s', (name) => {
    expect(impersonates(['Accept', 'a', name, 'x'])).toBe(true);
  });

  it('looks at names only', () => {
    expect(impersonates(['X-Impersonate', 'Impersonate-User'])).toBe(false);
  });
});

describe('responseHeaders', () => {
  it('keeps what is for the client', () => {
    const headers = [
      'Audit-Id',
      '1',
      'Warning',
      '299 - "a"',
      'Warning',
      '299 - "b"',
      'ETag',
      'x',
      'Retry-After',
      '1',
    ];
    expect(responseHeaders(headers, '/p')).toEqual(headers);
  });

  it.each([
    'Set-Cookie',
    'Strict-Transport-Security',
    'Alt-Svc',
    'Clear-Site-Data',
    'NEL',
    'Report-To',
    'Public-Key-Pins',
    'Expect-CT',
    'Accept-CH',
    'Access-Control-Allow-Origin',
    'Service-Worker-Allowed',
    'WWW-Authenticate',
    'Transfer-Encoding',
    'Keep-Alive',
    'Connection',
    'Upgrade',
    'Trailer',
  ])('leaves out %s', (name) => {
    expect(responseHeaders([name, 'x', 'ETag', 'y'], '/p')).toEqual(['ETag', 'y']);
  });

  it('leaves out what Connection names', () => {
    expect(responseHeaders(['Connection', 'X-A', 'X-A', '1', 'X-B', '2'], '/p')).toEqual(['X-B', '2']);
  });

  it('puts the path of the target before a Location on the same server', () => {
    expect(responseHeaders(['Location', '/openapi/v3?hash=1'], '/kubernetes/management')).toEqual([
      'Location',
      '/kubernetes/management/openapi/v3?hash=1',
    ]);
  });

  it('knows a file whose name begins with dots from a way up', () => {
    const headers = ['Location', '/..a/.b/c..?d=/../e'];
    expect(responseHeaders(headers, '/p')).toEqual(['Location', `/p${headers[1]}`]);
  });

  it.each([
    'https://evil.example/',
    '//evil.example/',
    '/\\evil.example',
    'a',
    '',
    '/a\r\nX: 1',
    '/ä',
    '/a b',
    '/..',
    '/../../management/api/v1/namespaces',
    '/a/%2e%2E/b',
    '/a/.%2e?b',
    '/.#b',
  ])('refuses an answer that sends the client to "%s"', (location) => {
    expect(responseHeaders(['ETag', '1', 'Location', location], '/p')).toBeUndefined();
  });
});
