import { createHash } from 'node:crypto';
import { type Api, entryOf, type Stored, secretAt } from '../../../lab/operator/api.ts';
import { credentialHash } from '../../../src/credentials/keys/credential-hash.ts';

interface Form {
  /** Default entry of the Secret. */
  readonly entry: string;
  /** The credential where it stands in the object. */
  readonly held: (object: Stored) => string | undefined;
  /** The hash that the operator confirmed, and that of what is held. */
  readonly confirmed: (object: Stored) => string;
  readonly hash: (credential: string) => string;
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

const forms: Readonly<Record<string, Form>> = {
  OwnedAccessKey: {
    entry: 'key',
    held: ({ spec }) => spec.key,
    confirmed: ({ status }) => status.credentialHash,
    hash: (key) => (key.startsWith('sha256:') ? key.slice('sha256:'.length) : credentialHash(key)),
  },
  DirectClusterEndpointToken: {
    entry: 'token',
    held: ({ status }) => status.token,
    confirmed: ({ status }) => status.credentialHash,
    hash: credentialHash,
  },
  VirtualClusterInstanceKubeConfig: {
    entry: 'config',
    held: ({ status }) => status.kubeConfig,
    confirmed: ({ status }) => status.documentHash,
    hash: sha256,
  },
};

/**
 * The credential as its holder finds it, in the object or in its Secret, and of a key in Git its hash. Undefined for what is
 * no credential. @throws Error when it is not the one that the operator confirmed.
 */
export async function credentialOf(admin: Api, object: Stored): Promise<string | undefined> {
  const { kind = '', metadata, spec } = object;
  const form = forms[kind];
  if (form === undefined) return undefined;
  const { namespace = metadata.namespace, name, key = form.entry } = spec?.secretRef ?? {};
  const credential =
    name === undefined ? form.held(object) : entryOf(await admin.get(secretAt(namespace, name)), key);
  if (credential === undefined || form.hash(credential) !== form.confirmed(object))
    throw new Error(`${kind} ${metadata.name}: its credential is not the one that was confirmed`);
  return credential;
}
