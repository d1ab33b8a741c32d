import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import path from 'node:path';
import type { Guard } from '../controlplane/guard.ts';
import { freePort } from '../controlplane/ports.ts';
import { until } from '../operator/until.ts';

/** Where distributions put it. */
const places = ['/usr/sbin/haproxy', '/usr/local/sbin/haproxy', '/usr/bin/haproxy'];

/** Ports of one replica, which need not be there yet. */
export interface BalancedReplica {
  readonly port: number;
  /** Asked whether it is ready. */
  readonly healthPort: number;
}

/** How the peers of the replicas see the balancer. */
export const balancerAddress = '127.0.0.2';

/**
 * Starts haproxy as a balancer of connections, which sees no request, and says in front of each which client it is from. Returns its
 * port. @throws Error where haproxy is not installed.
 */
export async function startBalancer(guard: Guard, replicas: readonly BalancedReplica[]): Promise<number> {
  const command = findBalancer();
  const port = await freePort();
  const file = path.join(guard.folder, 'haproxy.cfg');
  await writeFile(file, configuration(port, replicas));
  await guard.run({ name: 'haproxy', command, args: ['-db', '-f', file] });
  await untilListening(port);
  return port;
}

/** The path of haproxy. @throws Error where it is not installed. */
export function findBalancer(): string {
  const command = places.find(existsSync);
  if (command === undefined) throw new Error('this needs haproxy: install the package of that name');
  return command;
}

export async function untilListening(port: number): Promise<void> {
  await until('the balancer listens', async () => await listens(port));
}

/** Of the PROXY protocol: each replica is told in one of them, by turns. */
const versions = ['send-proxy', 'send-proxy-v2'] as const;

/** A replica that is not ready gets no new connection after a fifth of a second, and keeps those it has. */
const configuration = (port: number, replicas: readonly BalancedReplica[]): string => `
defaults
  mode tcp
  timeout connect 2s
  timeout client 1h
  timeout server 1h
  timeout check 1s
  retries 5
  option redispatch 1
frontend clients
  bind 127.0.0.1:${port}
  default_backend replicas
backend replicas
  balance roundrobin
  source ${balancerAddress}
  option httpchk GET /readyz
  default-server check inter 200ms fall 1 rise 1
${replicas.map((replica, index) => `  server replica-${index} 127.0.0.1:${replica.port} port ${replica.healthPort} ${versions[index % versions.length]}`).join('\n')}
`;

async function listens(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  return await new Promise<boolean>((resolve) => {
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
  }).finally(() => socket.destroy());
}
