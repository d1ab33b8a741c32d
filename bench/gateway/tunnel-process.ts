import { randomBytes } from 'node:crypto';
import { constants, setPriority } from 'node:os';
import { connect, type TLSSocket } from 'node:tls';

/** Requests for websockets, which take turns. */
export interface TunnelOrder {
  readonly host: string;
  readonly port: number;
  readonly requests: readonly {
    readonly path: string;
    readonly headers: Readonly<Record<string, string>>;
  }[];
  /** Under way at the same time, until they are open. */
  readonly atOnce: number;
}

/** To the process. */
export type TunnelCommand =
  /** Opens so many. */
  | { readonly do: 'open'; readonly order: TunnelOrder; readonly count: number }
  /** Opens and leaves them for so long. */
  | { readonly do: 'churn'; readonly order: TunnelOrder; readonly seconds: number }
  /** Counts what comes through those that are open. */
  | { readonly do: 'count'; readonly seconds: number }
  /** Waits until the other side has closed all. */
  | { readonly do: 'wait' }
  | { readonly do: 'leave' };

/** From the process, for each command. */
export interface TunnelFindings {
  readonly opened: number;
  readonly bytes: number;
  readonly seconds: number;
  /** When each was closed, epoch milliseconds. */
  readonly closed: readonly number[];
  readonly error?: string;
}

// On a platform this work is done on the machines of clients.
setPriority(constants.priority.PRIORITY_LOW);

let bytes = 0;
let closed: number[] = [];
const open = new Set<TLSSocket>();
const keyBytes = 16;

process.on('message', async (command: TunnelCommand) => {
  const start = performance.now();
  const before = bytes;
  const opened = await carryOut(command).catch((error: unknown) => String(error));
  const seconds = (performance.now() - start) / 1_000;
  const found = { bytes: bytes - before, seconds, closed };
  const outcome = typeof opened === 'string' ? { opened: 0, error: opened } : { opened };
  process.send?.({ ...found, ...outcome } satisfies TunnelFindings);
});
// Every other way of ending, too, closes the channel; nothing may be left behind.
process.on('disconnect', () => process.exit());

/** Returns how many it opened. */
async function carryOut(command: TunnelCommand): Promise<number> {
  switch (command.do) {
    case 'open': {
      let count = 0;
      await atOnce(command.order, async (turn) => {
        if (count >= command.count) return false;
        count += 1;
        await openOne(command.order, turn);
        return true;
      });
      return count;
    }
    case 'churn': {
      const end = performance.now() + command.seconds * 1_000;
      let count = 0;
      await atOnce(command.order, async (turn) => {
        const socket = await openOne(command.order, turn);
        count += 1;
        leave(socket);
        return performance.now() < end;
      });
      return count;
    }
    case 'count':
      await new Promise((resolve) => setTimeout(resolve, command.seconds * 1_000));
      return 0;
    case 'wait':
      await Promise.all([...open].map(async (socket) => await ended(socket)));
      return 0;
    case 'leave':
      for (const socket of open) leave(socket);
      closed = [];
      return 0;
  }
}

async function atOnce(order: TunnelOrder, step: (turn: number) => Promise<boolean>): Promise<void> {
  let turn = 0;
  const repeat = async () => {
    while (await step(turn++));
  };
  await Promise.all(Array.from({ length: order.atOnce }, repeat));
}

async function openOne({ host, port, requests }: TunnelOrder, turn: number): Promise<TLSSocket> {
  const { path, headers } = requests[turn % requests.length] ?? { path: '/', headers: {} };
  const lines = Object.entries({
    Host: `${host}:${port}`,
    Connection: 'Upgrade',
    Upgrade: 'websocket',
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': randomBytes(keyBytes).toString('base64'),
    Origin: 'https://bench.example.com',
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  const socket = connect({ host, port, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] });
  socket.write(`GET ${path} HTTP/1.1\r\n${lines.join('')}\r\n`);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let head: string | undefined = '';
  socket
    .on('data', (received: Buffer) => {
      bytes += received.length;
      if (head === undefined) return;
      head += received.toString('latin1');
      if (!head.includes('\r\n\r\n')) return;
      if (head.startsWith('HTTP/1.1 101 ')) resolve();
      else reject(new Error(head.slice(0, 1_000)));
      head = undefined;
    })
    .on('error', reject)
    .on('end', () => socket.end())
    .on('close', () => {
      reject(new Error('closed before an answer'));
      if (open.delete(socket)) closed.push(performance.timeOrigin + performance.now());
    });
  await promise;
  open.add(socket);
  return socket;
}

function leave(socket: TLSSocket): void {
  open.delete(socket);
  socket.destroy();
}

const ended = async (socket: TLSSocket): Promise<void> => {
  if (!socket.closed) await new Promise<void>((resolve) => socket.once('close', () => resolve()));
};
