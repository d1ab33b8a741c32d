import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { request } from 'node:https';
import { text } from 'node:stream/consumers';
import type { Identity } from '../../../lab/controlplane/certificates.ts';

/** Asks a kubelet for a log. Resolves with the answer, or with the reason why there is none. */
export async function askKubelet(port: number, identity?: Identity): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const sent = request({
    ...{ host: '127.0.0.1', port, path: '/containerLogs/default/pod/main', rejectUnauthorized: false },
    ...(identity && { cert: identity.certificate, key: identity.key }),
  });
  sent.on('error', (error) => resolve(error.message));
  sent.on('response', async (answer) => resolve(`${answer.statusCode} ${await text(answer)}`));
  sent.end();
  return await promise;
}

/** The ports at which a process takes connections, on whatever address. */
export function listeningPorts(pid: number): readonly number[] {
  const own = readdirSync(`/proc/${pid}/fd`).map((name) => linkOf(`/proc/${pid}/fd/${name}`));
  const tables = ['tcp', 'tcp6'].map((name) => readFileSync(`/proc/${pid}/net/${name}`, 'utf8'));
  // Columns: number, local address, remote address, state (0A is LISTEN), five more, inode.
  const sockets = tables.flatMap((table) => table.split('\n').map((line) => line.trim().split(/\s+/)));
  return sockets
    .filter(([, , , state, , , , , , inode]) => state === '0A' && own.includes(`socket:[${inode}]`))
    .map(([, local = '']) => Number.parseInt(local.split(':')[1] ?? '', 16))
    .sort();
}

function linkOf(file: string): string {
  try {
    return readlinkSync(file);
  } catch {
    // It was closed meanwhile.
    return '';
  }
}
