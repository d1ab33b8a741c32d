import type { RequestOptions } from 'node:https';
import type { KubeConfig } from '@kubernetes/client-node';
import { LatchkeyError } from '../../errors.ts';
import { type ClientIdentity, makeIdentity, type TlsIdentity } from './client-identity.ts';

/** The server and the credentials of a kubeconfig, now: the files that it names are read, and plug-ins run. */
export async function readIdentity(kubeConfig: KubeConfig): Promise<ClientIdentity> {
  const cluster = kubeConfig.getCurrentCluster();
  if (cluster === null) throw unusable('it has no current cluster: set current-context');
  const server = serverOf(cluster);
  const options: RequestOptions = {};
  await kubeConfig.applyToHTTPSOptions(options);
  return makeIdentity(server, tlsOf(options), headersOf(options));
}

function serverOf(cluster: { readonly server: string; readonly proxyUrl?: string }): URL {
  if (cluster.proxyUrl) throw unusable('proxy-url is not supported: remove it');
  const server = URL.parse(cluster.server);
  if (server === null || server.protocol !== 'https:') {
    throw unusable('clusters[].cluster.server must be an https URL');
  }
  return server;
}

function tlsOf({ ca, cert, key, servername, rejectUnauthorized }: RequestOptions): TlsIdentity {
  const given = { ca, cert, key, servername, rejectUnauthorized };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as TlsIdentity;
}

function headersOf({ headers = {} }: RequestOptions): string[] {
  return Object.entries(headers).flatMap(([name, value]) => [name.toLowerCase(), String(value).trim()]);
}

export function unusable(problem: string): LatchkeyError {
  return new LatchkeyError('ERR_KUBECONFIG', { problem });
}
