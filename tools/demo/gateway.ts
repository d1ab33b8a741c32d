import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import path from 'node:path';
import type { ControlPlaneAccess } from '../../lab/controlplane/access.ts';
import type { Guard } from '../../lab/controlplane/guard.ts';
import { RunningGateway, type ServedCertificate } from '../../lab/gateway/running-gateway.ts';
import { systemNamespace, systemObjects } from '../../src/api/names.ts';
import { readSoon } from './cluster.ts';

/** The system gives connections ports from 32768 on, and the gateway listens only some seconds from now. */
const ports = { from: 20_000, to: 32_000 };

/** Of a gateway on this machine. The operator writes it into kubeconfigs before there is a gateway. */
export const chooseBaseURL = async (): Promise<string> => `https://127.0.0.1:${await freePort()}`;

/** Of its page. Browsers look up every name of this kind on loopback, and providers take no address for an https redirect. */
export const choosePageURL = async (): Promise<string> => `https://keys.localhost:${await freePort()}`;

async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(ports.from, ports.to);
    if (await isFree(port)) return port;
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
    return true;
  } catch {
    return false;
  } finally {
    server.close();
  }
}

/** A gateway, and what its clients need. */
export interface DemoGateway {
  readonly running: RunningGateway;
  readonly baseURL: string;
  readonly pageURL: string;
  /** The authority of its certificate. */
  readonly caFile: string;
}

/** Starts it with the certificate that the operator makes for it. Resolves when it is ready. */
export async function startGateway(
  platform: ControlPlaneAccess,
  guard: Guard,
  { baseURL, pageURL }: Pick<DemoGateway, 'baseURL' | 'pageURL'>,
  env: Readonly<Record<string, string>>,
): Promise<DemoGateway> {
  const certificate = await servedCertificate(platform);
  const caFile = path.join(platform.folder, 'gateway-ca.crt');
  await writeFile(caFile, certificate.ca);
  const running = await RunningGateway.start(platform, guard, {
    certificate,
    env: {
      ...env,
      LATCHKEY_BASE_URL: baseURL,
      LATCHKEY_LISTEN_ADDRESS: new URL(baseURL).host,
      LATCHKEY_PAGE_URL: pageURL,
      LATCHKEY_PAGE_ADDRESS: `127.0.0.1:${new URL(pageURL).port}`,
      // A watch that somebody left open would delay Ctrl-C for longer.
      LATCHKEY_SHUTDOWN_GRACE: '1s',
    },
  });
  return { running, baseURL, pageURL, caFile };
}

/** In a Pod the kubelet puts it into files. */
async function servedCertificate(platform: ControlPlaneAccess): Promise<ServedCertificate> {
  const name = systemObjects.gatewayCertificate;
  const get = ['get', 'secret', name, `--namespace=${systemNamespace}`, '--output=json'];
  const { data } = JSON.parse(await readSoon(platform, get)) as { data: Record<string, string> };
  const entry = (key: string): string => Buffer.from(data[key] ?? '', 'base64').toString();
  return { certificate: entry('tls.crt'), key: entry('tls.key'), ca: entry('ca.crt') };
}
