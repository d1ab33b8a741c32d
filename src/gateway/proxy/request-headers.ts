import { isHeader } from '../server/request-head.ts';

/** Never passed on: about one connection only, about who asks, or what the API server would believe of a proxy in front of it. */
const dropped: ReadonlySet<string> = new Set([
  'authorization',
  'audit-id',
  'connection',
  'cookie',
  'expect',
  'forwarded',
  'host',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  // Some programs behind the proxy of a service take them for the method that was judged.
  'x-http-method',
  'x-http-method-override',
  'x-method-override',
  'x-real-ip',
]);

/** Of names in lower case. */
const droppedPrefixes = ['impersonate-', 'x-remote-', 'x-forwarded-', 'sec-websocket-'] as const;

/** Headers are name and value in turn. */
export interface OwnHeaders {
  readonly clientAddress: string;
  /** Without a user the target would carry the request out as the gateway itself. */
  readonly impersonation: readonly string[];
}

/**
 * The headers for the target: what the client sent, without what only the gateway may say, which comes last. Throws a TypeError
 * when no user is named.
 */
export function requestHeaders(rawHeaders: readonly string[], own: OwnHeaders): string[] {
  const [name, user] = own.impersonation;
  if (name !== 'impersonate-user' || !user)
    throw new TypeError('a request must name the user that it is for');
  const hops = namedByConnection(rawHeaders);
  const kept: string[] = [];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const [sent = '', value = ''] = [rawHeaders[index], rawHeaders[index + 1]];
    const header = sent.toLowerCase();
    if (!isDropped(header) && !hops?.has(header)) kept.push(header, value);
  }
  kept.push('x-forwarded-for', own.clientAddress, ...own.impersonation);
  return kept;
}

/** Headers with names in lower case, name and value in turn, without some of them. */
export const withoutHeaders = (
  headers: readonly string[],
  isDropped: (name: string) => boolean,
): readonly string[] => headers.filter((_, index) => !isDropped(headers[index - (index % 2)] ?? ''));

/** Also with an underscore, which some servers take for a hyphen. */
export function impersonates(rawHeaders: readonly string[]): boolean {
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const header = rawHeaders[index] ?? '';
    // Most headers begin with another letter.
    if ((header.charCodeAt(0) | 0x20) === letterI && /^impersonate[-_]/i.test(header)) return true;
  }
  return false;
}

const letterI = 0x69;

/** Many programs read an underscore as a hyphen, so `X_Remote_User` would pass for what is dropped. nginx drops such names as well. */
const isDropped = (header: string): boolean =>
  dropped.has(header) || header.includes('_') || droppedPrefixes.some((prefix) => header.startsWith(prefix));

/** The headers that `Connection` says are for this connection only. Those that describe the body are for every one. */
export function namedByConnection(rawHeaders: readonly string[]): ReadonlySet<string> | undefined {
  let names: Set<string> | undefined;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (!isHeader(rawHeaders[index], 'connection')) continue;
    for (const part of rawHeaders[index + 1]?.split(',') ?? []) {
      const name = part.trim().toLowerCase();
      if (name.startsWith('content-')) continue;
      names ??= new Set();
      names.add(name);
    }
  }
  return names;
}
