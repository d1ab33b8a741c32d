import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import type { ControlPlaneAccess } from '../../lab/controlplane/access.ts';
import { read, readSoon } from './cluster.ts';
import type { DemoGateway } from './gateway.ts';

/** The demo's facts about requests with an access key. The key is not among them. */
export interface GatewayFacts {
  readonly baseURL: string;
  readonly caFile: string;
  /** The OwnedAccessKey that is used. */
  readonly key: string;
  /** A kubeconfig with that key, readable by this user only. */
  readonly file: string;
  /** The version of the platform's API server, as curl printed it. */
  readonly version: string;
  /** Output of kubectl through the gateway. */
  readonly whoAmI: string;
  readonly namespaces: string;
}

/** The sample that speaks for the user who applies it, without a scope. */
export const sampleKey = 'sample-me';
/** A kubeconfig may take the operator a while. */
const curlSeconds = 40;

/** Uses an access key of the user of the kubeconfig at the gateway, with curl and with kubectl. */
export async function collectGateway(
  platform: ControlPlaneAccess,
  kubeconfig: string,
  { running, baseURL, caFile }: DemoGateway,
): Promise<GatewayFacts> {
  const secret = await read(platform, ['get', 'oak', sampleKey, '-o', 'jsonpath={.spec.key}'], kubeconfig);
  const file = await running.kubeconfig(secret);
  return {
    baseURL,
    caFile,
    key: sampleKey,
    file,
    namespaces: await readSoon(platform, ['get', 'ns'], file),
    whoAmI: await read(platform, ['auth', 'whoami'], file),
    version: (await curl({ url: platformVersion(baseURL), caFile, key: secret })) ?? noCurl,
  };
}

export const platformVersion = (baseURL: string): string => `${baseURL}/kubernetes/management/version`;

export const noCurl = '(there is no curl on this machine)';

interface CurlRequest {
  readonly url: string;
  readonly caFile: string;
  readonly key: string;
  /** In YAML; sent by POST. */
  readonly body?: string;
}

/** Returns curl's output; undefined without curl. The key goes through a pipe: everybody on a machine sees the arguments of a command. */
export async function curl({ url, caFile, key, body }: CurlRequest): Promise<string | undefined> {
  const sent = body === undefined ? [] : ['--header', 'Content-Type: application/yaml', '--data', body];
  const limits = ['--silent', '--show-error', '--fail', '--max-time', String(curlSeconds)];
  const args = [...limits, '--cacert', caFile, ...sent];
  const child = spawn('curl', [...args, '--config', '-', url], { stdio: ['pipe', 'pipe', 'pipe'] });
  child.stdin.on('error', () => undefined);
  child.stdin.end(`header = "Authorization: Bearer ${key}"\n`);
  const ended = new Promise<number | string | null>((resolve) => {
    child.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code ?? null));
    child.once('close', resolve);
  });
  const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  if (code === 'ENOENT') return undefined;
  if (code !== 0) throw new Error(`curl ended with ${code}: ${stderr}`);
  return stdout.trimEnd();
}
