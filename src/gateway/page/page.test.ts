import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, describe, expect, it } from 'vitest';
import { Page } from './page.ts';
import { readPageFiles } from './page-files.ts';

const baseURL = 'https://latchkey.example.com/base';
const login = { clientID: 'a', username: { claim: 'sub', prefix: '' }, ttl: 60 };
const trustedIssuers = [
  { issuer: 'https://login.example.com/tenant', algorithms: ['RS256'], login },
  { issuer: 'https://pipelines.example.com', algorithms: ['RS256'] },
];
const server = createServer(new Page({ baseURL, trustedIssuers }).answer);
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const { port } = server.address() as AddressInfo;
afterAll(() => void server.close());

async function ask(path: string, { method = 'GET', headers = {} } = {}) {
  const { promise, resolve } = Promise.withResolvers<Parameters<typeof text>[0]>();
  const sent = request({ port, host: '127.0.0.1', path, method, headers, agent: false }, resolve as never);
  sent.end();
  const response = (await promise) as unknown as { statusCode: number; headers: Record<string, string> };
  return {
    status: response.statusCode,
    headers: response.headers,
    body: await text(response as never),
  };
}

const paths = Object.keys(readPageFiles()).map((name) => (name === 'index.html' ? '/' : `/${name}`));

describe('every file of the page', () => {
  it.each(paths)('%s is fixed to its type, unframed, and sends no referrer', async (path) => {
    const { status, headers } = await ask(path);
    expect({ status, ...headers }).toMatchObject({
      status: 200,
      'content-type': expect.stringMatching(
        /^(?:text\/(?:html|css|javascript); charset=utf-8|image\/svg\+xml)$/,
      ),
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'x-frame-options': 'DENY',
    });
    expect(headers['set-cookie']).toBeUndefined();
    const directives = headers['content-security-policy']?.split('; ');
    expect(directives).toEqual([
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "img-src 'self'",
      'connect-src https://latchkey.example.com https://login.example.com',
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
      "require-trusted-types-for 'script'",
      "trusted-types 'none'",
    ]);
  });

  it.each(paths)('%s has nothing inline, asks no one else, and writes no markup from text', (path) => {
    const source = readPageFiles()[path === '/' ? 'index.html' : path.slice(1)] ?? '';
    expect(source).not.toMatch(/\bon[a-z]+="|style="|javascript:|<script(?![^>]* src=)/i);
    expect(source.replaceAll('http://www.w3.org/2000/svg', '')).not.toMatch(/https?:\/\/[a-z]/);
    expect(source).not.toMatch(
      /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|document\.cookie|localStorage/,
    );
  });
});

describe('the page', () => {
  it('knows the base URL', async () => {
    expect((await ask('/?code=a&state=b')).body).toContain(`content="${baseURL}"`);
  });

  it('is not sent again to a browser that has it', async () => {
    const { headers } = await ask('/');
    const again = await ask('/', { headers: { 'if-none-match': headers['etag'] ?? '' } });
    expect([again.status, again.body]).toEqual([304, '']);
    expect((await ask('/', { method: 'HEAD' })).body).toBe('');
  });

  it.each([
    ['GET', '/nothing', 404],
    ['GET', '/../package.json', 404],
    ['GET', '/%2e%2e/package.json', 404],
    ['GET', '/__proto__', 404],
    ['GET', '/kubernetes/management/apis', 404],
    ['POST', '/', 405],
    ['DELETE', '/main.js', 405],
  ])('answers %s %s with %i, and as strictly', async (method, path, status) => {
    const answer = await ask(path, { method });
    expect(answer).toMatchObject({
      status,
      headers: {
        'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
        'x-content-type-options': 'nosniff',
      },
    });
  });
});
