import { parse } from 'yaml';
import { asObject, asText, defined, type JsonObject } from '../api/json.ts';

/** The one format of `spec.secretRef.format`: the Secret of a cluster as Argo CD reads it. */
export const argoCDClusterFormat = 'argocd-cluster';

/** By it Argo CD finds its clusters. */
export const argoCDClusterLabels = { 'argocd.argoproj.io/secret-type': 'cluster' } as const;

/** The cluster that an access key opens; empty for a kubeconfig, which says so itself. */
export interface ArgoCDCluster {
  /** As Argo CD calls it. */
  readonly name?: string;
  /** An https URL. */
  readonly server?: string;
  /** PEM; absent: Argo CD trusts the server's certificate anyway. */
  readonly ca?: string;
}

/**
 * The entries by which Argo CD takes a Secret for a cluster. `credential`: an access key, or a kubeconfig that Latchkey made; no other
 * text may come here, because to read YAML of strangers can take long.
 */
export function argoCDEntries(cluster: ArgoCDCluster, credential: string): Readonly<Record<string, string>> {
  const { name = '', server, ca } = cluster;
  if (server === undefined) return entriesOf(asObject(parse(credential)));
  const caData = ca === undefined ? undefined : Buffer.from(ca).toString('base64');
  return { name, server, config: configText({ bearerToken: credential }, { caData }) };
}

function entriesOf(document: JsonObject): Readonly<Record<string, string>> {
  const [named, { user: rawUser }] = [firstOf(document['clusters']), firstOf(document['users'])];
  const [cluster, user] = [asObject(named['cluster']), asObject(rawUser)];
  const tls = {
    caData: asText(cluster['certificate-authority-data']),
    certData: asText(user['client-certificate-data']),
    keyData: asText(user['client-key-data']),
  };
  return {
    name: asText(named['name']) ?? '',
    server: asText(cluster['server']) ?? '',
    config: configText(defined({ bearerToken: asText(user['token']) }), tls),
  };
}

const firstOf = (list: unknown): JsonObject => asObject(Array.isArray(list) ? list[0] : undefined);

/** Argo CD reads the base64 of PEM. */
const configText = (user: object, tls: Readonly<Record<string, string | undefined>>): string =>
  JSON.stringify({ ...user, tlsClientConfig: { insecure: false, ...defined(tls) } });
