import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createAuthority, createClient, createServer, type Identity } from './certificates.ts';
import type { ControlPlaneOptions, TokenUser } from './options.ts';

export interface IdentityFiles {
  readonly certificate: string;
  readonly key: string;
}

/** Paths in the folder of one control plane. */
export interface ControlPlaneFiles {
  readonly folder: string;
  readonly ca: IdentityFiles;
  readonly server: IdentityFiles;
  /** Of the API server, as a client of kubelets. */
  readonly kubeletClient: IdentityFiles;
  readonly serviceAccountKey: string;
  readonly serviceAccountPublicKey: string;
  readonly tokens: string;
  readonly auditPolicy: string;
  readonly authentication: string;
  readonly auditLog: string;
  readonly etcdData: string;
}

export interface PreparedFiles {
  readonly files: ControlPlaneFiles;
  readonly authority: Identity;
  readonly tokens: ReadonlyMap<string, string>;
}

/** In the folder of the control plane. */
export const authenticationFile = 'authentication.yaml';
/**
 * In the same folder: the authority of the API server as a client of kubelets. It signs nothing else, so no user with a certificate of
 * the control plane is taken for the API server.
 */
export const kubeletClientAuthority = path.join('pki', 'kubelet-client-ca.crt');

const serverNames = [
  'localhost',
  'kubernetes',
  'kubernetes.default',
  'kubernetes.default.svc',
  'kubernetes.default.svc.cluster.local',
];

/** Makes the keys, certificates and tokens that do not depend on the ports. */
export async function prepareFiles(
  folder: string,
  { users = [], auditPolicy, authentication }: ControlPlaneOptions,
): Promise<PreparedFiles> {
  const files = pathsIn(folder);
  const authority = createAuthority('latchkey-local-control-plane');
  const ofKubeletClient = createAuthority('latchkey-local-kubelet-client');
  const tokens = new Map(users.map(({ user }) => [user, randomBytes(24).toString('base64url')]));
  await mkdir(path.dirname(files.ca.certificate), { recursive: true });
  await Promise.all([
    writeIdentity(files.ca, authority),
    writeIdentity(files.server, createServer(authority, serverNames)),
    writeFile(path.join(folder, kubeletClientAuthority), ofKubeletClient.certificate),
    writeIdentity(
      files.kubeletClient,
      createClient(ofKubeletClient, { user: 'kube-apiserver-kubelet-client' }),
    ),
    writeServiceAccountKeys(files),
    writeFile(files.tokens, users.map((user) => tokenLine(user, tokens)).join('')),
    auditPolicy === undefined ? undefined : writeFile(files.auditPolicy, JSON.stringify(auditPolicy)),
    authentication === undefined
      ? undefined
      : writeFile(files.authentication, JSON.stringify(authentication)),
  ]);
  return { files, authority, tokens };
}

function pathsIn(folder: string): ControlPlaneFiles {
  const inFolder = (...names: string[]): string => path.join(folder, ...names);
  return {
    folder,
    ca: { certificate: inFolder('pki', 'ca.crt'), key: inFolder('pki', 'ca.key') },
    server: { certificate: inFolder('pki', 'server.crt'), key: inFolder('pki', 'server.key') },
    kubeletClient: {
      certificate: inFolder('pki', 'kubelet-client.crt'),
      key: inFolder('pki', 'kubelet-client.key'),
    },
    serviceAccountKey: inFolder('pki', 'service-account.key'),
    serviceAccountPublicKey: inFolder('pki', 'service-account.pub'),
    tokens: inFolder('pki', 'tokens.csv'),
    auditPolicy: inFolder('audit-policy.json'),
    authentication: inFolder(authenticationFile),
    auditLog: inFolder('audit.jsonl'),
    etcdData: inFolder('etcd-data'),
  };
}

async function writeIdentity(files: IdentityFiles, identity: Identity): Promise<void> {
  await writeFile(files.certificate, identity.certificate);
  await writeFile(files.key, identity.key, { mode: 0o600 });
}

async function writeServiceAccountKeys(files: ControlPlaneFiles): Promise<void> {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  await writeFile(files.serviceAccountKey, privateKey.export({ format: 'pem', type: 'pkcs8' }), {
    mode: 0o600,
  });
  await writeFile(files.serviceAccountPublicKey, publicKey.export({ format: 'pem', type: 'spki' }));
}

/** `token,user,uid,"group,group"`, the form of the API server's --token-auth-file. */
function tokenLine({ user, groups = [] }: TokenUser, tokens: ReadonlyMap<string, string>): string {
  const fields = [tokens.get(user) ?? '', user, user, groups.join(',')];
  return `${fields.map((field) => `"${field.replaceAll('"', '""')}"`).join(',')}\n`;
}
