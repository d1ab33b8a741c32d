import { namedByConnection } from './request-headers.ts';

/** About one connection only, or orders to a browser that would hold for the gateway and every other target. */
const dropped: ReadonlySet<string> = new Set([
  'alt-svc',
  'clear-site-data',
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'service-worker-allowed',
  'set-cookie',
  'set-cookie2',
  'strict-transport-security',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'www-authenticate',
]);

/** The headers of an answer that may go to the client, name and value in turn. */
export function responseHeaders(rawHeaders: readonly string[]): string[] {
  const hops = namedByConnection(rawHeaders);
  const kept: string[] = [];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const [name = '', value = ''] = [rawHeaders[index], rawHeaders[index + 1]];
    const header = name.toLowerCase();
    if (dropped.has(header) || header.startsWith('access-control-') || hops?.has(header)) continue;
    kept.push(name, value);
  }
  return kept;
}
