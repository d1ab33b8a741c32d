import { createHash } from 'node:crypto';
import { BadResponse } from '../http/response-head.ts';
import { listOf, type UpgradeRequest, valuesOf } from './upgrade-request.ts';

/**
 * The head that tells the client that the protocol is another one: what the target said of that, and nothing else of it. Throws
 * BadResponse for an answer that does not fit the request.
 */
export function switchingHead(request: UpgradeRequest, rawHeaders: readonly string[]): string {
  if (only(rawHeaders, 'upgrade')?.toLowerCase() !== request.protocol.toLowerCase())
    throw new BadResponse('it switches to a protocol that was not asked for');
  const connection = listOf(valuesOf(rawHeaders, 'connection')).map((name) => name.toLowerCase());
  if (!connection.includes('upgrade')) throw new BadResponse('it switches protocols and does not say so');
  const headers =
    request.protocol === 'websocket'
      ? webSocketHeaders(request, rawHeaders)
      : spdyHeaders(request, rawHeaders);
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  return `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${request.protocol}\r\n${lines}\r\n`;
}

type Header = readonly [string, string];

function webSocketHeaders(request: UpgradeRequest, rawHeaders: readonly string[]): readonly Header[] {
  const accept = acceptOf(request.key ?? '');
  if (only(rawHeaders, 'sec-websocket-accept') !== accept)
    throw new BadResponse('it accepts another websocket than was asked for');
  const extensions = only(rawHeaders, 'sec-websocket-extensions');
  if (extensions !== undefined && !request.hasExtensions)
    throw new BadResponse('it has an extension that was not offered');
  return [
    ['Sec-WebSocket-Accept', accept],
    ...chosen('Sec-WebSocket-Protocol', request, rawHeaders),
    ...(extensions === undefined ? [] : [['Sec-WebSocket-Extensions', extensions] as const]),
  ];
}

const spdyHeaders = (request: UpgradeRequest, rawHeaders: readonly string[]): readonly Header[] =>
  chosen('X-Stream-Protocol-Version', request, rawHeaders);

/** Of the subprotocols that were offered. A credential that the client offered as one was taken out before. */
function chosen(name: string, { offered }: UpgradeRequest, rawHeaders: readonly string[]): readonly Header[] {
  const value = only(rawHeaders, name.toLowerCase());
  // The API server says so of the log of a client that offered none.
  if (value === undefined || value === '') return [];
  if (!offered.has(value)) throw new BadResponse('it chooses a subprotocol that was not offered');
  return [[name, value]];
}

function only(rawHeaders: readonly string[], name: string): string | undefined {
  const [value, another] = valuesOf(rawHeaders, name);
  if (another !== undefined) throw new BadResponse('it says twice to what it switches');
  return value;
}

/** As RFC 6455 has it. */
const acceptOf = (key: string): string =>
  createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
