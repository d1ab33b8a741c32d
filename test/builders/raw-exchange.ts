import { connect } from 'node:net';

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
