import { connect, type Socket } from 'node:net';

/** Sends the text over a socket of its own, and resolves with all that comes back until the server closes or cuts it. */
export async function rawExchange(port: number, text: string): Promise<string> {
  const chunks: Buffer[] = [];
  const socket = connect(port, '127.0.0.1', () => void socket.write(text, 'latin1'));
  const { promise, resolve } = Promise.withResolvers<void>();
  socket
    .on('data', (chunk) => void chunks.push(chunk))
    .on('error', () => undefined)
    .on('close', () => resolve());
  await promise;
  return Buffer.concat(chunks).toString('latin1');
}

/** An exchange that a test follows. It reads nothing of the answer by itself. */
export interface OpenExchange {
  readonly socket: Socket;
  readonly seen: { answer: string; isClosed: boolean };
}

/** Sends the text over a socket of its own, and tells whether that is closed. */
export function openExchange(port: number, text: string): OpenExchange {
  const seen = { answer: '', isClosed: false };
  const socket = connect(port, '127.0.0.1', () => void socket.write(text));
  socket
    .on('error', () => undefined)
    .on('close', () => {
      seen.isClosed = true;
    });
  return { socket, seen };
}

/** Reads what comes. */
export function collectAnswer({ socket, seen }: OpenExchange): void {
  socket.on('data', (chunk) => {
    seen.answer += chunk.toString('latin1');
  });
}
