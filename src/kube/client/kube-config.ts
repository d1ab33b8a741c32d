import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import type { KubeConfig } from '@kubernetes/client-node';
import { type ClientIdentity, makeIdentity } from './client-identity.ts';
import { readIdentity, unusable } from './kube-config-identity.ts';

/** Where the client takes its credentials from, again and again. */
export interface KubeConfigSource {
  /** The server and the credentials for it, now. With `fresh`, whatever was kept in memory is read again. */
  load(fresh?: boolean): ClientIdentity | Promise<ClientIdentity>;
}

export interface KubeConfigOptions {
  /** A kubeconfig file. Default: `KUBECONFIG`, then the Pod's ServiceAccount, then `~/.kube/config`. */
  readonly file?: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Default `/var/run/secrets/kubernetes.io/serviceaccount`. */
  readonly serviceAccountFolder?: string;
}

/**
 * Our own credentials, not those of others: such a file may name commands and files, so never load one that somebody
 * else may write. Throws `ERR_KUBECONFIG` when there is none.
 */
export function kubeConfigSource(options: KubeConfigOptions = {}): KubeConfigSource {
  const { env = process.env } = options;
  const named = options.file ?? env['KUBECONFIG'];
  if (named) return fileSource(named.split(path.delimiter).filter((file) => file !== ''));
  const folder = options.serviceAccountFolder ?? '/var/run/secrets/kubernetes.io/serviceaccount';
  if (env['KUBERNETES_SERVICE_HOST'] && existsSync(path.join(folder, 'token')))
    return { load: () => inClusterIdentity(env, folder) };
  const home = path.join(homedir(), '.kube', 'config');
  if (existsSync(home)) return fileSource([home]);
  throw unusable(`KUBECONFIG is not set, and neither ${folder}/token nor ${home} is there`);
}

/** Wraps a configuration that never changes as a whole; the files it names are still read again. */
export function fixedSource(kubeConfig: KubeConfig): KubeConfigSource {
  return { load: () => readIdentity(kubeConfig) };
}

/** In a Pod there is no file, and so no need for the library that reads files. */
function fileSource(files: readonly string[]): KubeConfigSource {
  const source = (async () => {
    const { KubeConfigFiles } = await import('./kube-config-file.ts');
    return new KubeConfigFiles(files);
  })();
  return { load: async (fresh) => (await source).load(fresh) };
}

/** The kubelet puts a new token in place of the old one about every hour. */
function inClusterIdentity(env: NonNullable<KubeConfigOptions['env']>, folder: string): ClientIdentity {
  const host = env['KUBERNETES_SERVICE_HOST'] ?? '';
  const port = env['KUBERNETES_SERVICE_PORT'] ?? '443';
  const server = URL.parse(`https://${host.includes(':') ? `[${host}]` : host}:${port}`);
  if (server === null) throw unusable('KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are no address');
  const token = readServiceAccount(folder, 'token').trim();
  if (!/^[\x21-\x7e]+$/.test(token)) throw unusable(`${folder}/token holds no token`);
  const ca = readServiceAccount(folder, 'ca.crt');
  // Node takes an empty authority for none, and would trust every public one.
  if (!ca.includes('-----BEGIN CERTIFICATE-----')) throw unusable(`${folder}/ca.crt holds no certificate`);
  return makeIdentity(server, { ca, rejectUnauthorized: true }, ['authorization', `Bearer ${token}`]);
}

function readServiceAccount(folder: string, name: string): string {
  const file = path.join(folder, name);
  try {
    return readFileSync(file, 'utf8');
  } catch {
    throw unusable(`${file} cannot be read`);
  }
}
