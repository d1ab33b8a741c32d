import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer as createTCPServer } from 'node:net';
import path from 'node:path';
import type { ControlPlaneAccess } from '../../lab/controlplane/access.ts';
import { createAuthority, createServer } from '../../lab/controlplane/certificates.ts';
import type { Guard } from '../../lab/controlplane/guard.ts';
import { RunningGateway, type ServedCertificate } from '../../lab/gateway/running-gateway.ts';

/** Where the gateway will answer: the operator writes it into kubeconfigs before there is a gateway. */
export interface GatewayPlace {
  readonly baseURL: string;
  readonly certificate: ServedCertificate;
  /** The authority of that certificate. */
  readonly caFile: string;
}

export async function chooseGatewayPlace({ folder }: ControlPlaneAccess): Promise<GatewayPlace> {
  const baseURL = `https://127.0.0.1:${await choosePort()}`;
  const authority = createAuthority('demo-gateway-ca');
  const certificate = { ...createServer(authority, ['localhost']), ca: authority.certificate };
  const caFile = path.join(folder, 'gateway-ca.crt');
  await writeFile(caFile, certificate.ca);
  return { baseURL, certificate, caFile };
}

/** Resolves when it is ready. */
export async function startGateway(
  platform: ControlPlaneAccess,
  guard: Guard,
  { baseURL, certificate }: GatewayPlace,
  env: Readonly<Record<string, string>>,
): Promise<RunningGateway> {
  return await RunningGateway.start(platform, guard, {
    certificate,
    env: {
      ...env,
      LATCHKEY_BASE_URL: baseURL,
      LATCHKEY_LISTEN_ADDRESS: new URL(baseURL).host,
      // A watch that somebody left open would delay Ctrl-C for longer.
      LATCHKEY_SHUTDOWN_GRACE: '1s',
    },
  });
}

/** The system gives connections ports from 32768 on, and the gateway listens only some seconds from now. */
const ports = { from: 20_000, to: 32_000 };

async function choosePort(): Promise<number> {
  for (;;) {
    const port = randomInt(ports.from, ports.to);
    if (await isFree(port)) return port;
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createTCPServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
    return true;
  } catch {
    return false;
  } finally {
    server.close();
  }
}
