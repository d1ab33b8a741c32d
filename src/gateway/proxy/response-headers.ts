import { namedByConnection } from './request-headers.ts';

/** About one connection only, or orders to a browser that would hold for the gateway and every other target. */
const dropped: ReadonlySet<string> = new Set([
  'accept-ch',
  'alt-svc',
  'clear-site-data',
  'connection',
  'expect-ct',
  'keep-alive',
  'nel',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'public-key-pins',
  'public-key-pins-report-only',
  'refresh',
  'report-to',
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

/**
 * The headers of an answer that may go to the client, name and value in turn. `publicPath`: where clients find the target. Undefined
 * for an answer that sends the client elsewhere.
 */
export function responseHeaders(rawHeaders: readonly string[], publicPath: string): string[] | undefined {
  const hops = namedByConnection(rawHeaders);
  const kept: string[] = [];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const [name = '', value = ''] = [rawHeaders[index], rawHeaders[index + 1]];
    const header = name.toLowerCase();
    if (dropped.has(header) || header.startsWith('access-control-') || hops?.has(header)) continue;
    if (header === 'location' && !isOwnPath(value)) return undefined;
    kept.push(name, header === 'location' ? publicPath + value : value);
  }
  return kept;
}

/**
 * A path of the same server. Browsers take a second slash or a backslash for the beginning of a host, and clients take dots away
 * before they follow: with them a target could send a request, credential included, to another target.
 */
const isOwnPath = (location: string): boolean =>
  /^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/.test(location) &&
  !/^[^?#]*\/(?:\.|%2e){1,2}(?:[/?#]|$)/i.test(location);
