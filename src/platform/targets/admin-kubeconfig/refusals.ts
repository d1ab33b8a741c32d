const inline = 'put a token, or client-certificate-data and client-key-data, there instead';
const account =
  'make a ServiceAccount in the cluster and put its token there instead, as the guide "Targets" shows';
const flatten = '`kubectl config view --minify --flatten --raw` writes one that fits';

/** A map of the document: where it stands, what it may hold, and what is known and not allowed there, with the reason and the fix. */
export interface Section {
  readonly path: string;
  readonly allowed: readonly string[];
  readonly forbidden: Readonly<Record<string, string>>;
}

const extensions = 'it has no meaning here; remove it';

export const sections = {
  root: {
    path: '',
    allowed: ['apiVersion', 'kind', 'preferences', 'clusters', 'users', 'contexts', 'current-context'],
    forbidden: { extensions },
  },
  preferences: { path: 'preferences', allowed: [], forbidden: { colors: extensions, extensions } },
  clusterEntry: { path: 'clusters[]', allowed: ['name', 'cluster'], forbidden: {} },
  userEntry: { path: 'users[]', allowed: ['name', 'user'], forbidden: {} },
  contextEntry: { path: 'contexts[]', allowed: ['name', 'context'], forbidden: {} },
  cluster: {
    path: 'clusters[].cluster',
    allowed: ['server', 'certificate-authority-data'],
    forbidden: {
      'certificate-authority': 'it names a file; put its content into certificate-authority-data',
      'insecure-skip-tls-verify':
        'the server must prove who it is; put its CA into certificate-authority-data and remove this field',
      'proxy-url': 'targets are dialled directly; remove it',
      'tls-server-name': 'the certificate must be for the host of the server; remove it',
      'disable-compression': extensions,
      extensions,
    },
  },
  user: {
    path: 'users[].user',
    allowed: ['token', 'client-certificate-data', 'client-key-data'],
    forbidden: {
      exec: `it runs a command, as those of EKS, GKE, AKS and Teleport do; ${account}`,
      'auth-provider': `it runs a command or calls a server; ${account}`,
      tokenFile: 'it names a file; put its content into token',
      'client-certificate': 'it names a file; put its content into client-certificate-data',
      'client-key': 'it names a file; put its content into client-key-data',
      username: `passwords are not supported; ${inline}`,
      password: `passwords are not supported; ${inline}`,
      as: 'impersonation is not supported; use the credentials of the user itself',
      'as-uid': 'impersonation is not supported; use the credentials of the user itself',
      'as-groups': 'impersonation is not supported; use the credentials of the user itself',
      'as-user-extra': 'impersonation is not supported; use the credentials of the user itself',
      extensions,
    },
  },
  context: {
    path: 'contexts[].context',
    allowed: ['cluster', 'user', 'namespace'],
    forbidden: { extensions },
  },
} as const satisfies Record<string, Section>;

export const refusals = {
  tooLarge: 'The kubeconfig is larger than 64 KiB: keep one cluster, one user and one context.',
  encoding: 'The kubeconfig is not plain UTF-8 text: write it as YAML or JSON without control characters.',
  base64Twice:
    'The kubeconfig is base64 twice: put it into stringData of the Secret as it is, or encode it once in data.',
  fieldBase64Twice:
    'A field of the kubeconfig that ends in -data is base64 twice: encode its PEM once, as `kubectl config view --flatten --raw` does.',
  syntax: `The kubeconfig is neither YAML nor JSON: ${flatten}.`,
  tooComplex: `The kubeconfig has too many or too deeply nested values: ${flatten}.`,
  documents: 'The kubeconfig has several YAML documents, or a document end marker: keep one document.',
  directive: 'The kubeconfig has a YAML directive: remove the lines that begin with %.',
  anchor: 'The kubeconfig has YAML anchors or aliases: write every value out.',
  tag: 'The kubeconfig has YAML tags: write plain values.',
  mergeKey: 'The kubeconfig has a YAML merge key: write every value out.',
  fieldName: 'The kubeconfig has a field whose name is no text: remove it.',
  duplicateKey: 'The kubeconfig has the same field twice: keep one of them.',
  valueType:
    'The kubeconfig has a value that is neither text, number, boolean, list nor map: write plain values.',
  root: `The kubeconfig is no map of fields: ${flatten}.`,
  apiVersion: 'apiVersion must be v1.',
  kind: 'kind must be Config.',
  preferences: 'preferences must be {}: empty it, or remove it.',
  clusters: 'clusters must be a list of exactly one cluster: keep one.',
  users: 'users must be a list of exactly one user: keep one.',
  contexts: 'contexts must be a list of exactly one context: keep one.',
  clusterName: 'clusters[].name must be text: give the cluster a name.',
  userName: 'users[].name must be text: give the user a name.',
  contextName: 'contexts[].name must be text: give the context a name.',
  cluster: 'clusters[].cluster must be a map with server and certificate-authority-data.',
  user: 'users[].user must be a map with a token, or with client-certificate-data and client-key-data.',
  context: 'contexts[].context must be a map with cluster and user.',
  currentContext: 'current-context must be the name of the context.',
  contextCluster: 'contexts[].context.cluster must be the name of the cluster.',
  contextUser: 'contexts[].context.user must be the name of the user.',
  contextNamespace: 'contexts[].context.namespace must be text: correct it, or remove it.',
  server: 'clusters[].cluster.server must be a URL of the form https://<host>[:<port>][/<path>].',
  serverScheme: 'clusters[].cluster.server must begin with https://.',
  serverUser: 'clusters[].cluster.server must not hold a user name or password: remove them.',
  serverQuery: 'clusters[].cluster.server must not have a query or fragment: remove it.',
  authority:
    'clusters[].cluster.certificate-authority-data must be base64 of CERTIFICATE blocks in PEM and of nothing else.',
  noCredential: 'users[].user has no credentials: set token, or client-certificate-data and client-key-data.',
  halfCredential:
    'users[].user needs both client-certificate-data and client-key-data: set the other one too.',
  token: 'users[].user.token must be 1 to 8,192 printable ASCII characters without white space.',
  certificate:
    'users[].user.client-certificate-data must be base64 of CERTIFICATE blocks in PEM and of nothing else.',
  key: 'users[].user.client-key-data must be base64 of one PRIVATE KEY block in PEM and of nothing else.',
  keyEncrypted: 'users[].user.client-key-data is encrypted: decrypt it first.',
  keyKind:
    'users[].user.client-key-data must be an RSA key of 2048 to 4096 bits, or P-256, P-384, P-521 or Ed25519.',
  keyMismatch:
    'users[].user.client-key-data is not the key of client-certificate-data: set the one that fits.',
  unusable:
    'The certificates of the kubeconfig cannot be used for TLS: renew them with a present-day key and signature algorithm.',
} as const;

const unknownField = ({ path, allowed }: Section): string =>
  path === ''
    ? `The kubeconfig has a field that is not known: keep only ${allowed.join(', ')}.`
    : `${path} has a field that is not known: keep only ${allowed.join(', ') || 'an empty map'}.`;

const forbiddenField = ({ path, forbidden }: Section, name: string): string =>
  `${path === '' ? name : `${path}.${name}`} is not allowed: ${forbidden[name]}.`;

export type RefusalName = keyof typeof refusals;

/** Ends the reading of a document. Its text is constant: no text of a document is ever part of one. */
export class KubeConfigRefusal extends Error {
  /** The text may have been made by {@link fieldRefusal}. */
  constructor(name: RefusalName | { readonly text: string }) {
    super(typeof name === 'string' ? refusals[name] : name.text);
  }
}

/** The refusal of a map by the names of its fields. A field that is known and forbidden is named before one that is not known. */
export function fieldRefusal(section: Section, names: Iterable<string>): string | undefined {
  const present = new Set(names);
  const forbidden = Object.keys(section.forbidden).find((name) => present.has(name));
  if (forbidden !== undefined) return forbiddenField(section, forbidden);
  const isUnknown = [...present].some((name) => !section.allowed.includes(name));
  return isUnknown ? unknownField(section) : undefined;
}
