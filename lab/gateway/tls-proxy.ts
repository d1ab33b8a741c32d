import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createAuthority, createServer } from '../controlplane/certificates.ts';
import type { Guard } from '../controlplane/guard.ts';
import { freePort } from '../controlplane/ports.ts';
import { findBalancer, untilListening } from './balancer.ts';

/** Ways with a request for a websocket: an answer of its own, at once or later, or passing it on without the header that asks for one. */
export const refusals = {
  'refuses websockets': 'http-request deny deny_status 403 if websocket',
  'refuses websockets after two seconds':
    'timeout tarpit 2s\n  http-request tarpit deny_status 403 if websocket',
  'drops the header of websockets': 'http-request del-header upgrade if websocket',
} as const;

interface Behind {
  /** Unique within the guard. */
  readonly name: string;
  /** On 127.0.0.1, with TLS. */
  readonly port: number;
  /** The authority of its certificate, PEM. */
  readonly ca: string;
}

/** haproxy, which ends TLS and passes on what its rule does not forbid. */
export interface TLSProxy {
  /** `https://127.0.0.1:<port>` */
  readonly url: string;
  /** The authority of its certificate, PEM. */
  readonly ca: string;
  /** The method, the status and the protocol of each request for another protocol that is over. */
  upgrades(): Promise<readonly string[]>;
}

/**
 * Starts it in front of a server. `rule`: a line of the frontend, which may use the condition `websocket`; default: it passes all on.
 * @throws Error where haproxy is not installed.
 */
export async function startTLSProxy(
  guard: Guard,
  { name, port: behind, ca }: Behind,
  rule = '',
): Promise<TLSProxy> {
  const authority = createAuthority(name);
  const { certificate, key } = createServer(authority, ['localhost']);
  const [served, trusted, file] = ['pem', 'ca', 'cfg'].map((kind) =>
    path.join(guard.folder, `${name}.${kind}`),
  ) as [string, string, string];
  const port = await freePort();
  await writeFile(served, certificate + key, { mode: 0o600 });
  await writeFile(trusted, ca);
  await writeFile(
    file,
    `
defaults
  mode http
  log stdout format raw local0
  timeout connect 2s
  timeout client 1h
  timeout server 1h
frontend clients
  bind 127.0.0.1:${port} ssl crt ${served} alpn http/1.1
  acl websocket hdr(upgrade) -i websocket
  http-request capture req.hdr(upgrade) len 16
  ${rule}
  log-format "%HM %ST %[capture.req.hdr(0)]"
  default_backend server
backend server
  server behind 127.0.0.1:${behind} ssl verify required ca-file ${trusted}
`,
  );
  const { logPath } = await guard.run({ name, command: findBalancer(), args: ['-db', '-f', file] });
  await untilListening(port);
  const upgrades = async () =>
    (await readFile(logPath, 'utf8')).split('\n').filter((line) => /^[A-Z]+ \d+ \w/.test(line));
  return { url: `https://127.0.0.1:${port}`, ca: authority.certificate, upgrades };
}
