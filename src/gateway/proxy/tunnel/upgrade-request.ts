import { group } from '../../../api/names.ts';
import type { RequestMeaning } from '../../../scope/requests/resolve-request.ts';
import { protocolPrefix } from '../../gate/bearer.ts';
import { isHeader } from '../../server/request-head.ts';

/** As they stand in `Upgrade`. */
export type UpgradeProtocol = 'websocket' | 'SPDY/3.1';

/** A request for another protocol, as it goes to the target. */
export interface UpgradeRequest {
  readonly protocol: UpgradeProtocol;
  /** Name and value in turn: those that only such a request may have. */
  readonly headers: readonly string[];
  /** The subprotocols, without a credential. The target chooses one of them. */
  readonly offered: ReadonlySet<string>;
  /** Of a websocket. */
  readonly key?: string;
  readonly hasExtensions: boolean;
}

export interface SentUpgrade {
  readonly method?: string | undefined;
  /** Of all headers `Upgrade` together. */
  readonly upgrade: string | undefined;
}

/** Undefined for what is never served: another protocol, a list of them, or one of ours with the wrong method. */
export function protocolOf({ method, upgrade = '' }: SentUpgrade): UpgradeProtocol | undefined {
  if (method === 'GET' && upgrade.toLowerCase() === 'websocket') return 'websocket';
  return method === 'POST' && upgrade.toLowerCase() === 'spdy/3.1' ? 'SPDY/3.1' : undefined;
}

const sessions: ReadonlySet<string> = new Set(['pods/exec', 'pods/attach', 'pods/portforward']);
const proxied: ReadonlySet<string> = new Set(['pods/proxy', 'services/proxy', 'nodes/proxy']);

/**
 * Which requests may become a tunnel. All others are answered as if they had not asked for another protocol, and watches end at once:
 * what the gateway answers or changes itself must have no way around it.
 */
export function mayBecomeTunnel(
  { isResourceRequest, verb, apiGroup, resource, subresource, name }: RequestMeaning,
  { protocol, hasOrigin }: { readonly protocol: UpgradeProtocol; readonly hasOrigin: boolean },
): boolean {
  if (!isResourceRequest || apiGroup === group) return false;
  const place = `${resource}/${subresource}`;
  if (apiGroup === '' && name !== '' && (verb === 'get' || verb === 'create') && isStream(place)) return true;
  // The API server refuses a websocket without an origin here, or with one that is no URL such as "null", and plain HTTP works.
  if (protocol !== 'websocket' || !hasOrigin) return false;
  return verb === 'watch' || (apiGroup === '' && place === 'pods/log' && verb === 'get');
}

const isStream = (place: string): boolean => sessions.has(place) || proxied.has(place);

/** The headers of a request for another protocol, or what is wrong with them. */
export function readUpgrade(
  rawHeaders: readonly string[],
  protocol: UpgradeProtocol,
): UpgradeRequest | { readonly problem: string } {
  if (protocol === 'SPDY/3.1') return readSPDY(rawHeaders);
  const [key = '', anotherKey] = valuesOf(rawHeaders, 'sec-websocket-key');
  if (anotherKey !== undefined || !webSocketKey.test(key))
    return { problem: 'it asks for a websocket, and has not exactly one Sec-WebSocket-Key of 16 bytes' };
  if (valuesOf(rawHeaders, 'sec-websocket-version').join() !== '13')
    return { problem: 'it asks for a websocket, and its Sec-WebSocket-Version is not 13' };
  const sent = listOf(valuesOf(rawHeaders, 'sec-websocket-protocol'));
  if (sent.length > maxProtocols || !sent.every((name) => token.test(name)))
    return { problem: `its Sec-WebSocket-Protocol is no list of at most ${maxProtocols} names` };
  const offered = sent.filter((name) => !name.startsWith(protocolPrefix));
  const extensions = valuesOf(rawHeaders, 'sec-websocket-extensions');
  const headers = ['sec-websocket-key', key, 'sec-websocket-version', '13'];
  if (offered.length > 0) headers.push('sec-websocket-protocol', offered.join(', '));
  if (extensions.length > 0) headers.push('sec-websocket-extensions', extensions.join(', '));
  return { protocol, headers, key, offered: new Set(offered), hasExtensions: extensions.length > 0 };
}

/** Its subprotocols are in headers that go on like any other. */
function readSPDY(rawHeaders: readonly string[]): UpgradeRequest | { readonly problem: string } {
  const offered = listOf(valuesOf(rawHeaders, 'x-stream-protocol-version'));
  if (offered.length > maxProtocols)
    return { problem: `it has more than ${maxProtocols} X-Stream-Protocol-Version` };
  return { protocol: 'SPDY/3.1', headers: [], offered: new Set(offered), hasExtensions: false };
}

/** kubectl offers five. */
const maxProtocols = 32;
/** 16 bytes in base64. */
const webSocketKey = /^[A-Za-z0-9+/]{21}[AQgw]==$/;
const token = /^[\w!#$%&'*+.^`|~/-]+$/;

export const listOf = (values: readonly string[]): readonly string[] =>
  values
    .flatMap((value) => value.split(','))
    .map((part) => part.trim())
    .filter((part) => part !== '');

export const valuesOf = (rawHeaders: readonly string[], name: string): readonly string[] =>
  rawHeaders.filter((_, index) => index % 2 === 1 && isHeader(rawHeaders[index - 1], name));
