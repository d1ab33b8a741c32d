import { stringify } from 'yaml';
import { createAuthority, createClient, type Identity } from '../../lab/controlplane/certificates.ts';

export const base64 = (text: string): string => Buffer.from(text).toString('base64');

export interface AdminDocument {
  [field: string]: unknown;
  clusters: { name: unknown; cluster: Record<string, unknown> }[];
  users: { name: unknown; user: Record<string, unknown> }[];
  contexts: { name: unknown; context: Record<string, unknown> }[];
}

const authority = createAuthority('target');

export interface DocumentParts {
  readonly server?: string;
  readonly authority?: Identity;
  readonly user?: Record<string, unknown>;
  /** Beside the server and its authority. */
  readonly cluster?: Record<string, unknown>;
  readonly context?: Record<string, unknown>;
  readonly root?: Record<string, unknown>;
}

/** An administrator kubeconfig that is accepted as long as no part makes it otherwise. */
export function adminDocument(parts: DocumentParts = {}): AdminDocument {
  const { server = 'https://target.test:6443', user = { token: 'admin-token' } } = parts;
  const ca = parts.authority ?? authority;
  const cluster = { server, 'certificate-authority-data': base64(ca.certificate), ...parts.cluster };
  return {
    apiVersion: 'v1',
    kind: 'Config',
    preferences: {},
    'current-context': 'admin@target',
    clusters: [{ name: 'target', cluster }],
    users: [{ name: 'admin', user }],
    contexts: [{ name: 'admin@target', context: { cluster: 'target', user: 'admin', ...parts.context } }],
    ...parts.root,
  };
}

/** The user part of a client certificate. */
export function certificateUser(identity: Identity = createClient(authority, { user: 'admin' })) {
  return {
    'client-certificate-data': base64(identity.certificate),
    'client-key-data': base64(identity.key),
  };
}

export const yamlOf = (document: unknown): Uint8Array => Buffer.from(stringify(document));
export const jsonOf = (document: unknown): Uint8Array => Buffer.from(JSON.stringify(document));
