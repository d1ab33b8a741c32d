import { createHash } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { connect as connectSecure } from 'node:tls';
import { waitFor } from '../fakes/wait-for.ts';

export const webSocketKey = 'dGhlIHNhbXBsZSBub25jZQ==';
export const pod = '/api/v1/namespaces/default/pods/a';
const execLine = `GET /kubernetes/management${pod}/exec?command=sh`;

export interface UpgradeOptions {
  readonly line?: string;
  readonly protocol?: string;
  readonly body?: string;
  readonly version?: string;
}

/** A request for another protocol, as a client writes it. */
export const upgradeText = (
  headers: readonly string[],
  { line = execLine, protocol = 'websocket', body = '', version = '1.1' }: UpgradeOptions = {},
): string =>
  [
    `${line} HTTP/${version}`,
    'Host: a',
    'Connection: Upgrade',
    `Upgrade: ${protocol}`,
    ...headers,
    '',
    body,
  ].join('\r\n');

export const webSocketHeaders = [`Sec-WebSocket-Key: ${webSocketKey}`, 'Sec-WebSocket-Version: 13'] as const;

/** The credential as browsers send it. */
export const bearerProtocol = (credential: string): string =>
  `base64url.bearer.authorization.k8s.io.${Buffer.from(credential).toString('base64url')}`;

/** Builds the answer of a server that takes the websocket. */
export const acceptText = (...headers: readonly string[]): string => {
  const accept = createHash('sha1')
    .update(`${webSocketKey}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
    .digest('base64');
  const lines = ['Connection: Upgrade', 'Upgrade: websocket', `Sec-WebSocket-Accept: ${accept}`, ...headers];
  return `HTTP/1.1 101 Switching Protocols\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n`;
};

export const spdyAnswer = (...headers: readonly string[]): string =>
  `HTTP/1.1 101 Switching Protocols\r\nUpgrade: SPDY/3.1\r\nConnection: Upgrade\r\n${headers.map((line) => `${line}\r\n`).join('')}\r\n`;

/** A frame as a server sends it, of at most 64 kilobytes. */
export function frameOf(payload: string): Buffer {
  const { length } = payload;
  const size = length < 126 ? [length] : [126, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([0x82, ...size]), Buffer.from(payload)]);
}

/** A client that keeps its connection, with all that comes back. */
export function openClient(port: number, text: string, isSecure = false) {
  const begin = () => void socket.write(text, 'latin1');
  const socket: Socket = isSecure
    ? connectSecure(
        { port, host: '127.0.0.1', rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] },
        begin,
      )
    : connect(port, '127.0.0.1', begin);
  const state = { received: '', isEnded: false, isClosed: false };
  socket
    .on('data', (bytes: Buffer) => {
      state.received += bytes.toString('latin1');
    })
    .on('end', () => {
      state.isEnded = true;
    })
    .on('error', () => undefined)
    .on('close', () => {
      state.isClosed = true;
    });
  return {
    socket,
    state,
    until: async (text: string) => await waitFor(`the text ${text}`, () => state.received.includes(text)),
    closed: async () => await waitFor('the end of the connection', () => state.isClosed),
  };
}
