import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { LatchkeyError } from './errors.ts';

/** Without `host`: every interface. Port 0: any free port. */
export interface ListenAddress {
  readonly host?: string;
  readonly port: number;
}

/** Resolves with the address in use. Throws ERR_LISTEN; `purpose` stands in it. */
export async function listenOn(
  server: Server,
  address: ListenAddress,
  purpose: string,
): Promise<AddressInfo> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', reject).listen(address, resolve);
  await promise.catch((error: NodeJS.ErrnoException) => {
    const values = { address: textOf(address), purpose, cause: error.code ?? error.message };
    throw new LatchkeyError('ERR_LISTEN', values, { cause: error });
  });
  // A connection that cannot be accepted (no file descriptor left) must not end the process.
  server.off('error', reject).on('error', () => undefined);
  return server.address() as AddressInfo;
}

/** As settings have it: an address of IPv6 stands in brackets. */
function textOf({ host = '', port }: ListenAddress): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** Calls back when the grace is over. */
type StartGrace = (onEnd: () => void) => { cancel(): void };

/** Accepts no more connections, lets answers under way end within the grace, and cuts what is left. Safe to call twice. */
export async function closeGracefully(
  server: Server,
  startGrace: StartGrace,
  cutAll = (): void => server.closeAllConnections(),
): Promise<void> {
  if (!server.listening) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  server.close(() => resolve());
  server.closeIdleConnections();
  const grace = startGrace(cutAll);
  await promise;
  grace.cancel();
}
