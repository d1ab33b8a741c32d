import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { configFolder } from '../../lab/operator/kustomization.ts';
import type { OpenIDProvider } from '../../lab/provider/provider.ts';
import type { CommandLine } from './command-line.ts';
import { apiURL } from './posted-facts.ts';
import type { Summary } from './summary.ts';

/** Where the processes log. */
export interface Logs {
  readonly operator: string;
  readonly gateway: string;
}

/** For those who log in. */
interface Door extends Pick<CommandLine, 'bin'>, Pick<OpenIDProvider, 'password'> {
  readonly pageURL: string;
}

/** Writes what a shell needs to try things. The user's kubectl asks for the key, which does not stand in it. Returns the file. */
export async function writeEnvironment(
  folder: string,
  summary: Summary,
  logs: Logs,
  door: Door,
): Promise<string> {
  const file = path.join(folder, 'env');
  await writeFile(file, environmentText(summary, logs, door), { mode: 0o600 });
  return file;
}

export function environmentText(
  { kubeconfig, adminKubeconfig, userKubeconfig, kubectl, kubeConfigs, gateway, trusting }: Summary,
  logs: Logs,
  { bin, password, pageURL }: Door,
): string {
  const values = {
    KUBECONFIG: kubeconfig,
    KUBECACHEDIR: kubectl.cache,
    ADMIN: adminKubeconfig,
    BOB: userKubeconfig,
    DANA_PASSWORD: password,
    SAMPLES: path.join(configFolder, 'samples'),
    SHOP: kubeConfigs.certificate.file,
    GATEWAY: gateway.baseURL,
    CA: gateway.caFile,
    PAGE: pageURL,
    PLATFORM: gateway.file,
    API: apiURL(gateway.baseURL),
    STAGING: trusting.server,
    STAGING_CA: trusting.caFile,
    OPERATOR_LOG: logs.operator,
    GATEWAY_LOG: logs.gateway,
  };
  const exports = Object.entries(values).map(([name, value]) => `export ${name}='${value}'`);
  const late = [
    `export PATH='${bin}:${kubectl.folder}':"$PATH"`,
    `export KEY="$(kubectl get oak ${gateway.key} -o jsonpath={.spec.key})"`,
  ];
  return `${[...exports, ...late].join('\n')}\n`;
}
