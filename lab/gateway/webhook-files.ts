import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { createAuthority, createClient, createServer } from '../controlplane/certificates.ts';
import { currentProgram } from '../operator/program.ts';
import type { ServedCertificate } from './running-gateway.ts';

export interface WebhookFilesOptions {
  /** Where the API server will find them. */
  readonly folder: string;
  readonly cluster: string;
  readonly platform: { readonly url: string; readonly ca: string };
  /** Of the webhook. */
  readonly port: number;
}

export interface WebhookFiles {
  readonly apiServerArgs: readonly string[];
  readonly authentication: string;
  readonly authorization: string;
  /** Settings of the direct endpoint, and its certificate. */
  readonly env: Readonly<Record<string, string>>;
  readonly certificate: ServedCertificate;
  /** As the API server asks: PEM. */
  readonly client: { readonly cert: string; readonly key: string };
}

/** Writes what `latchkey direct-endpoint print-config` prints, and the certificates beside it. */
export async function writeWebhookFiles(options: WebhookFilesOptions): Promise<WebhookFiles> {
  const { folder, cluster, platform, port } = options;
  await mkdir(folder, { recursive: true });
  const place = (name: string) => path.join(folder, name);
  const authority = createAuthority('endpoint-ca');
  const clientAuthority = createAuthority('api-server-ca');
  const client = createClient(clientAuthority, { user: 'api-server' });
  const env = {
    LATCHKEY_ENDPOINT_WEBHOOK_CLIENT_CA_FILE: place('client-ca.crt'),
    LATCHKEY_ENDPOINT_WEBHOOK_ADDRESS: `127.0.0.1:${port}`,
  };
  const written = {
    'ca.crt': platform.ca,
    'webhook-ca.crt': authority.certificate,
    'client-ca.crt': clientAuthority.certificate,
    'client.crt': client.certificate,
    'client.key': client.key,
  };
  for (const [name, text] of Object.entries(written)) await writeFile(place(name), text, { mode: 0o600 });
  const settings = {
    ...env,
    LATCHKEY_BASE_URL: platform.url,
    LATCHKEY_ENDPOINT_CLUSTER: cluster,
    LATCHKEY_ENDPOINT_AGENT_FOLDER: folder,
  };
  const flags = [`--url=https://127.0.0.1:${port}`, `--folder=${folder}`];
  const names = { authentication: 'authentication.yaml', authorization: 'authorization.yaml' };
  for (const [file, name] of Object.entries({ ...names, kubeconfig: 'webhook.kubeconfig' }))
    await writeFile(place(name), await printConfig([file, ...flags], settings));
  const [authentication, authorization] = [place(names.authentication), place(names.authorization)];
  return {
    apiServerArgs: [`--authentication-config=${authentication}`, `--authorization-config=${authorization}`],
    ...{ authentication, authorization, env },
    certificate: { ...createServer(authority, ['localhost']), ca: authority.certificate },
    client: { cert: client.certificate, key: client.key },
  };
}

async function printConfig(
  options: readonly string[],
  settings: Readonly<Record<string, string>>,
): Promise<string> {
  const { file: program, env } = currentProgram();
  const args = [program, 'direct-endpoint', 'print-config', ...options];
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    env: { ...env, ...settings },
    timeout: 60_000,
  });
  return stdout;
}
