import { hash } from 'node:crypto';
import path from 'node:path';
import type { JSONWebKeySet, JWTHeaderParameters, JWTPayload } from 'jose';
import { credentialKinds, read } from './cluster.ts';
import type { DemoGateway } from './gateway.ts';
import { collectGateway, type GatewayFacts } from './gateway-facts.ts';
import { collectKubeConfigs, type KubeConfigFacts } from './kubeconfig-facts.ts';
import { collectPosted, type PostedFacts, type TrustingFacts, trustingFacts } from './posted-facts.ts';
import { type TokenIssuer, verifiedToken } from './verified-token.ts';
import type { Planes } from './virtual-cluster.ts';

/** The facts that the demo shows. No key and no token is among them. */
export interface Summary {
  /** Output of `kubectl get -o wide`. */
  readonly listing: string;
  readonly token: TokenFacts;
  readonly key: KeyFacts;
  /** A key that others name as their access key. */
  readonly parent: string;
  readonly kubeConfigs: KubeConfigFacts;
  readonly gateway: GatewayFacts;
  /** Undefined where there is no curl, or no one asked. */
  readonly posted: PostedFacts | undefined;
  readonly trusting: TrustingFacts;
  /** Of the user who applied the samples. */
  readonly kubeconfig: string;
  /** Of the administrator of the control plane. */
  readonly adminKubeconfig: string;
  /** Of the ordinary user. */
  readonly userKubeconfig: string;
  /** Where kubectl is, and where it may keep what it knows of the API. */
  readonly kubectl: { readonly folder: string; readonly cache: string };
}

export interface TokenFacts {
  readonly name: string;
  readonly header: JWTHeaderParameters;
  readonly claims: JWTPayload;
  /** The `kid`s of the published set, with which the signature was checked. */
  readonly publishedKeys: readonly string[];
}

export interface KeyFacts {
  readonly name: string;
  readonly keyID: string;
  readonly keySource: string;
}

interface Listed {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: { readonly key?: string; readonly accessKey?: string };
  readonly status: {
    readonly token?: string;
    readonly credentialHash?: string;
    readonly keyID?: string;
    readonly keySource?: string;
  };
}

/** By the paths of their kubeconfigs. */
export interface People {
  readonly administrator: string;
  readonly user: string;
}

/**
 * Collects what became of the samples; `posting` also makes credentials by POST. @throws Error when something shown would not be
 * true: a hash that differs, or a token that does not verify.
 */
export async function collectSummary(
  planes: Planes,
  { administrator: kubeconfig, user }: People,
  gateway: DemoGateway,
  posting: boolean,
): Promise<Summary> {
  const { platform } = planes;
  const listing = await read(platform, ['get', credentialKinds, '-o', 'wide'], kubeconfig);
  const list = await read(platform, ['get', credentialKinds, '-o', 'json'], kubeconfig);
  const { items } = JSON.parse(list) as { items: Listed[] };
  const published = await read(platform, [
    ...['get', 'configmap', 'latchkey-oidc-discovery', '--namespace=latchkey-system'],
    '--output=jsonpath={.data.jwks}',
  ]);
  const issuer = { baseURL: gateway.baseURL, keySet: JSON.parse(published) as JSONWebKeySet };
  return {
    listing,
    token: await tokenFacts(items, issuer),
    key: keyFacts(items),
    parent: parentIn(items),
    kubeConfigs: await collectKubeConfigs(platform, kubeconfig, issuer),
    gateway: await collectGateway(platform, kubeconfig, gateway),
    posted: posting ? await collectPosted(planes, kubeconfig, gateway) : undefined,
    trusting: trustingFacts(planes),
    kubeconfig,
    adminKubeconfig: platform.adminKubeconfig,
    userKubeconfig: user,
    kubectl: {
      folder: path.dirname(platform.binaries.kubectl),
      cache: path.join(platform.folder, 'kubectl-cache'),
    },
  };
}

/** Verifies the first token that stands in an object. */
export async function tokenFacts(items: readonly Listed[], issuer: TokenIssuer): Promise<TokenFacts> {
  const found = items.find(({ status }) => status.token !== undefined);
  if (found?.status.token === undefined) throw new Error('no sample has a token in its status');
  const publishedKeys = issuer.keySet.keys.map(({ kid = '' }) => kid);
  return { name: found.metadata.name, publishedKeys, ...(await verifiedToken(found.status.token, issuer)) };
}

/** Compares the first key that stands in an object with the hash in its status. */
export function keyFacts(items: readonly Listed[]): KeyFacts {
  const found = items.find(({ kind, spec }) => kind === 'OwnedAccessKey' && isPlain(spec.key));
  if (found?.spec.key === undefined) throw new Error('no sample has a plain key in its spec');
  const { credentialHash, keyID = '', keySource = '' } = found.status;
  const { name } = found.metadata;
  if (hash('sha256', found.spec.key, 'hex') !== credentialHash) {
    throw new Error(`status.credentialHash of the OwnedAccessKey ${name} is not the SHA-256 of its spec.key`);
  }
  return { name, keyID, keySource };
}

/** The key that a token names, or else another key. */
export function parentIn(items: readonly Listed[]): string {
  const byTokens = items.toSorted((one, other) => one.kind.localeCompare(other.kind));
  const parent = byTokens.find(({ spec }) => spec.accessKey !== undefined)?.spec.accessKey;
  if (parent === undefined) throw new Error('no sample names an access key');
  return parent;
}

const isPlain = (key: string | undefined): boolean => key !== undefined && !/^(sha256:|$)/.test(key);
