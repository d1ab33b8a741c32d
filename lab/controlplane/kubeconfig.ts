import { randomUUID } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { stringify } from 'yaml';
import type { Identity } from './certificates.ts';

/** How a kubeconfig's user proves who it is. */
export type Credential = { readonly identity: Identity } | { readonly token: string };

export interface KubeconfigTarget {
  readonly name: string;
  readonly server: string;
  readonly caData: string;
  readonly folder: string;
}

/** Writes a kubeconfig with one context, readable by this user only. Returns its path. */
export async function writeKubeconfig(
  target: KubeconfigTarget,
  user: string,
  credential: Credential,
): Promise<string> {
  const folder = path.join(target.folder, 'kubeconfigs');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const file = path.join(
    folder,
    `${user.replaceAll(/[^A-Za-z0-9-]/g, '_').slice(0, 60)}-${randomUUID()}.yaml`,
  );
  await writeFile(file, stringify(document(target, user, credential)), { mode: 0o600 });
  return file;
}

function document(target: KubeconfigTarget, user: string, credential: Credential): object {
  return {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      { name: target.name, cluster: { server: target.server, 'certificate-authority-data': target.caData } },
    ],
    users: [{ name: user, user: userEntry(credential) }],
    contexts: [{ name: target.name, context: { cluster: target.name, user } }],
    'current-context': target.name,
  };
}

function userEntry(credential: Credential): object {
  if ('token' in credential) return { token: credential.token };
  return {
    'client-certificate-data': base64(credential.identity.certificate),
    'client-key-data': base64(credential.identity.key),
  };
}

export function base64(text: string): string {
  return Buffer.from(text, 'utf8').toString('base64');
}
