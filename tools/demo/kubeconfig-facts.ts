import { X509Certificate } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { JWTPayload } from 'jose';
import { parse } from 'yaml';
import type { ControlPlaneAccess } from '../../lab/controlplane/access.ts';
import { read, readSoon, targetKinds } from './cluster.ts';
import { type TokenIssuer, verifiedToken } from './verified-token.ts';
import { projectNamespace } from './virtual-cluster.ts';

/** The demo's facts about kubeconfigs. Neither a token nor a certificate's key is among them. */
export interface KubeConfigFacts {
  /** Output of `kubectl get` for kubeconfigs and for what credentials point at. */
  readonly listing: string;
  readonly certificate: CertificateFacts & Used;
  readonly token: GatewayTokenFacts & Used;
}

/** An issued kubeconfig that was put to use. */
export interface Used {
  /** Where it stands, readable by this user only. */
  readonly file: string;
  /** Output of `kubectl get ns` with nothing but that file. */
  readonly namespaces: string;
}

interface CertificateFacts {
  /** Of the object. */
  readonly name: string;
  /** The common name. */
  readonly user: string;
  readonly notAfter: string;
}

interface GatewayTokenFacts {
  readonly name: string;
  readonly server: string;
  readonly claims: JWTPayload;
}

/** A VirtualClusterInstanceKubeConfig, as far as it is read here. */
export interface ListedKubeConfig {
  readonly metadata: { readonly name: string };
  readonly status: { readonly kubeConfig?: string };
}

interface Document {
  readonly clusters: readonly { readonly cluster: { readonly server: string } }[];
  readonly users: readonly {
    readonly user: { readonly token?: string; readonly 'client-certificate-data'?: string };
  }[];
}

/** Reads the kubeconfigs as the user, and uses one of each form. @throws Error when something shown would not be true. */
export async function collectKubeConfigs(
  platform: ControlPlaneAccess,
  kubeconfig: string,
  issuer: TokenIssuer,
): Promise<KubeConfigFacts> {
  const list = ['get', 'vcik', '-n', projectNamespace, '-o', 'json'];
  const { items } = JSON.parse(await read(platform, list, kubeconfig)) as { items: ListedKubeConfig[] };
  const certificate = issuedWith(items, 'client-certificate-data');
  return {
    listing: await read(platform, ['get', targetKinds, '-A'], kubeconfig),
    certificate: { ...certificateFacts(certificate), ...(await use(platform, certificate)) },
    token: {
      ...(await gatewayTokenFacts(items, issuer)),
      ...(await use(platform, issuedWith(items, 'token'))),
    },
  };
}

/** Verifies the token in the first kubeconfig that has one. */
export async function gatewayTokenFacts(
  items: readonly ListedKubeConfig[],
  issuer: TokenIssuer,
): Promise<GatewayTokenFacts> {
  const { name, text } = issuedWith(items, 'token');
  const { clusters, users } = parse(text) as Document;
  const { claims } = await verifiedToken(users[0]?.user.token ?? '', issuer);
  return { name, server: clusters[0]?.cluster.server ?? '', claims };
}

function certificateFacts({ name, text }: Issued): CertificateFacts {
  const { users } = parse(text) as Document;
  const data = Buffer.from(users[0]?.user['client-certificate-data'] ?? '', 'base64');
  const { subject, validTo } = new X509Certificate(data);
  return {
    name,
    user: /^CN=(.*)$/m.exec(subject)?.[1] ?? '',
    notAfter: new Date(validTo).toISOString().replace('.000', ''),
  };
}

/** Writes the kubeconfig to a file, and lists the namespaces of the virtual cluster with nothing but that file. */
export async function use(platform: ControlPlaneAccess, { name, text }: Issued): Promise<Used> {
  const folder = path.join(platform.folder, 'issued');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const file = path.join(folder, `${name}.yaml`);
  await writeFile(file, text, { mode: 0o600 });
  return { file, namespaces: await readSoon(platform, ['get', 'ns'], file) };
}

export interface Issued {
  readonly name: string;
  readonly text: string;
}

/** The first kubeconfig whose user has this field. */
function issuedWith(items: readonly ListedKubeConfig[], field: 'token' | 'client-certificate-data'): Issued {
  for (const { metadata, status } of items) {
    if (status.kubeConfig === undefined) continue;
    const { users } = parse(status.kubeConfig) as Document;
    if (users[0]?.user[field] !== undefined) return { name: metadata.name, text: status.kubeConfig };
  }
  throw new Error(`no sample has a kubeconfig with ${field} in its status`);
}
