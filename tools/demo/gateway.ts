import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { ControlPlaneAccess } from '../../lab/controlplane/access.ts';
import type { Guard } from '../../lab/controlplane/guard.ts';
import { freePort } from '../../lab/controlplane/ports.ts';
import { RunningGateway, type ServedCertificate } from '../../lab/gateway/running-gateway.ts';
import { systemNamespace, systemObjects } from '../../src/api/names.ts';
import { readSoon } from './cluster.ts';

/** Of a gateway on this machine. The operator writes it into kubeconfigs before there is a gateway. */
export const chooseBaseURL = async (): Promise<string> => `https://127.0.0.1:${await freePort()}`;

/** Of its page. Browsers look up every name of this kind on loopback, and providers take no address for an https redirect. */
export const choosePageURL = async (): Promise<string> => `https://keys.localhost:${await freePort()}`;

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
