import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { GatewaySettings } from '../../settings/gateway.ts';
import { hasBody } from '../server/error-answer.ts';
import { readPageFiles } from './page-files.ts';

export type PageSettings = Pick<GatewaySettings, 'baseURL' | 'trustedIssuers'>;

interface PageFile {
  readonly body: Buffer;
  readonly headers: Readonly<Record<string, string>>;
}

const types: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
};

/** Serves the page where people see and end their keys: a few files that never change, and no endpoint besides. */
export class Page {
  readonly #files: ReadonlyMap<string, PageFile>;

  constructor(settings: PageSettings, texts: Readonly<Record<string, string>> = readPageFiles()) {
    const policy = contentSecurityPolicy(settings);
    const files = Object.entries(texts).map(([name, text]): [string, PageFile] => {
      const path = name === 'index.html' ? '/' : `/${name}`;
      return [path, toFile(name, name === 'index.html' ? withBaseURL(text, settings) : text, policy)];
    });
    this.#files = new Map(files);
  }

  readonly answer = (request: IncomingMessage, response: ServerResponse): void => {
    // A body is not read, so nothing can follow it.
    if (hasBody(request) || request.headers.upgrade !== undefined) response.shouldKeepAlive = false;
    const { method = '', url = '' } = request;
    const [path = ''] = url.split('?', 1);
    const file = this.#files.get(path);
    if (file === undefined) return sendText(response, 404, 'There is nothing here.');
    if (method !== 'GET' && method !== 'HEAD')
      return sendText(response, 405, 'Only GET and HEAD.', { allow: 'GET, HEAD' });
    const isKnown = request.headers['if-none-match'] === file.headers['etag'];
    response.writeHead(isKnown ? 304 : 200, file.headers);
    response.end(isKnown || method === 'HEAD' ? undefined : file.body);
  };
}

const securityHeaders = {
  'cache-control': 'no-cache',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};

/**
 * Nothing is run, shown or asked that is not named here. A login needs the provider's origin: the page exchanges its code there.
 * Forms are sent by scripts, so `form-action` allows none.
 */
function contentSecurityPolicy({ baseURL, trustedIssuers }: PageSettings): string {
  const providers = trustedIssuers.filter(({ login }) => login !== undefined).map(({ issuer }) => issuer);
  const origins = new Set([baseURL, ...providers].map((url) => new URL(url).origin));
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    `connect-src ${[...origins].join(' ')}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ');
}

/** A URL that a parser gave back holds no character that HTML reads as its own, but for `&` and `'`. */
const withBaseURL = (html: string, { baseURL }: PageSettings): string =>
  html.replace('{baseURL}', () => baseURL.replaceAll('&', '&amp;').replaceAll('"', '&quot;'));

function toFile(name: string, text: string, policy: string): PageFile {
  const body = Buffer.from(text);
  const etag = `"${createHash('sha256').update(body).update(policy).digest('hex').slice(0, 32)}"`;
  const type = types[name.split('.').at(-1) ?? ''] ?? 'application/octet-stream';
  const own = { 'content-type': type, 'content-length': String(body.length), etag };
  return { body, headers: { ...securityHeaders, 'content-security-policy': policy, ...own } };
}

function sendText(
  response: ServerResponse,
  status: number,
  text: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  const own = { 'content-type': 'text/plain; charset=utf-8', 'content-length': String(text.length) };
  response.writeHead(status, {
    ...securityHeaders,
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    ...own,
    ...headers,
  });
  response.end(response.req.method === 'HEAD' ? undefined : text);
}
