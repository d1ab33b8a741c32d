import { byCredentialKind } from './credential-kinds.ts';

/** Fixed names. The admission policies and the RBAC in `config/` spell the same values out in full. */

export const group = 'management.platform.sh';
export const version = 'v1';
export const apiVersion = `${group}/${version}`;

/** Where Latchkey runs and keeps its own Secrets and ConfigMaps. Policies name it in full, so it cannot be changed. */
export const systemNamespace = 'latchkey-system';

/** Where the access to targets is kept, apart from all else: RBAC cannot tell Secrets by a prefix of their names. */
export const targetsNamespace = 'latchkey-targets';

/** Secrets in these are never named by `secretRef` or `kubeConfigSecretRef`. */
export const ownNamespaces: readonly string[] = [systemNamespace, targetsNamespace];

export const serviceAccounts = {
  operator: 'latchkey-operator',
  gateway: 'latchkey-gateway',
  reader: 'latchkey-reader',
  activity: 'latchkey-activity',
} as const;

/** In a connected cluster: what its direct endpoint runs as, and where it keeps what it needs in an outage of the platform. */
export const directEndpoint = {
  namespace: 'latchkey-direct-endpoint',
  account: 'latchkey-direct-endpoint',
  /** A Secret. */
  keptSet: 'latchkey-kept-set',
} as const;

/** The field manager of every write that the operator makes. */
export const fieldManager = 'latchkey-operator';

/** Fields of `spec` that hold login data, which must not stay where a reader of the object sees it. */
export const loginFields = {
  identity: ['connectorData'],
  oidcLogin: ['idToken', 'accessToken', 'refreshToken'],
} as const;

export const groups = {
  /** Of a verified request about one's own: with it come create, update and delete. */
  selfService: `${group}:self-service`,
  /** The same for server-side apply: create, update and patch. */
  selfServiceApply: `${group}:self-service-apply`,
  users: `${group}:users`,
} as const;

export const annotations = {
  requester: `${group}/requester`,
  requesterGroups: `${group}/requester-groups`,
  createdWith: `${group}/created-with`,
  changedBy: `${group}/changed-by`,
  changedByGroups: `${group}/changed-by-groups`,
  changedBeyondLimits: `${group}/changed-beyond-limits`,
  rotate: `${group}/rotate`,
  /** On an access key: `restored` where its object was made with this mark already, as from a backup; otherwise `created`. */
  origin: `${group}/origin`,
  /** On a key that came of a token: its issuer, its subject, and until when the token could be used once more. */
  exchangedIssuer: `${group}/exchanged-issuer`,
  exchangedSubject: `${group}/exchanged-subject`,
  exchangedUntil: `${group}/exchanged-until`,
  /** On the Lease of the operator: which policies its last leader saw, and until when. */
  policiesSeen: `${group}/policies-seen`,
  /** On the Secret of the signing keys: the base URL that they sign for. */
  issuer: `${group}/issuer`,
  /** On the Secret of a target: when the token in it was asked for, and when it ends. */
  tokenIssued: `${group}/token-issued`,
  isPlatform: `${group}/is-platform`,
  tokenExpires: `${group}/token-expires`,
  /** On the Secret of a credential, for those who read no more than that: the reason of Ready, the end, and the fingerprint. */
  reason: `${group}/reason`,
  expires: `${group}/expires`,
  fingerprint: `${group}/fingerprint`,
  /** On the same Secret, where `spec.secretRef.template` adds to it: SHA-256 of that template. */
  template: `${group}/template`,
  /** On a ClusterProfile: the target that it leads to. */
  target: `${group}/target`,
} as const;

export const labels = {
  ephemeral: `${group}/ephemeral`,
  project: `${group}/project`,
  /** On every shipped admission policy and binding. */
  policyVersion: `${group}/policy-version`,
  /** Beside it: of the contents of all policies. */
  policyHash: `${group}/policy-hash`,
  ownerKind: `${group}/owner-kind`,
  ownerName: `${group}/owner-name`,
  ownerUID: `${group}/owner-uid`,
  serial: `${group}/serial`,
  /** The content of a Secret of ours: one of `purposes`. */
  purpose: `${group}/purpose`,
} as const;

const finalizerOf = (kind: string) => `${group}/${kind.toLowerCase()}`;

/** Of each kind that has one. */
export const finalizers = {
  ...byCredentialKind(finalizerOf),
  VirtualClusterInstance: finalizerOf('VirtualClusterInstance'),
  Cluster: finalizerOf('Cluster'),
} as const;

export const purposes = {
  /** The credential that `spec.secretRef` asks for. */
  credential: 'credential',
  /** Login data taken out of `spec`. */
  login: 'login',
  signingKeys: 'signing-keys',
  /** The certificate of the gateway, and the authority that signs it. */
  gatewayCertificate: 'gateway-certificate',
  gatewayAuthority: 'gateway-authority',
  /** The token of the impersonator in a target. */
  target: 'target',
  /** Certificates whose bindings could not be removed in time. */
  revocation: 'revocation',
  /** The key that signs those records. */
  revocationKey: 'revocation-key',
  /** A ClusterProfile of a target. */
  clusterProfile: 'cluster-profile',
} as const;

/** In the header of a token, with `true`, and named by its `crit`: verifiers that do not know scopes must refuse it. */
export const criticalScopes = `${group}/scopes`;

/** Extras of a user that comes through the gateway: the credential, and whether a scope limits it. */
export const extras = {
  accessKey: `${group}/access-key`,
  accessKeyLimited: `${group}/access-key-limited`,
} as const;

/** Behind the audience of a cluster: of narrow tokens for an API server that enforces scopes. */
export const scopedAudienceSuffix = '/scoped';

/** Extra of a user whose token an API server has taken by itself: the `jti` of the token. */
export const credentialExtra = `${group}/credential`;

/** The objects that the operator makes in every target. */
export const targetObjects = {
  /** Always there, also in a virtual cluster, and ordinary users hold no rights in it. */
  namespace: 'kube-system',
  /** A ServiceAccount, a ClusterRole and a ClusterRoleBinding. */
  impersonator: 'latchkey-impersonator',
  /** The ClusterRoleBinding of `groups.users`, in virtual clusters only. */
  usersBinding: groups.users,
} as const;

/** Objects of ours in the system namespace. */
export const systemObjects = {
  lease: 'latchkey-operator',
  signingKeys: 'latchkey-signing-keys',
  discovery: 'latchkey-oidc-discovery',
  /** The Service of the gateway. */
  gatewayService: 'latchkey-gateway',
  /** The certificate of the gateway: made by the operator, or given by the site. */
  gatewayCertificate: 'latchkey-gateway-tls',
  /** The authority that the operator signs it with. No one else reads it. */
  gatewayAuthority: 'latchkey-gateway-ca',
  revocationKey: 'latchkey-revocation-key',
  /** Not ours to write: the ConfigMap of the site, which the operator and the gateway read. */
  sitePolicy: 'latchkey-site-policy',
  /** In the namespace of the profiles: the Role that lets the operator write them. */
  clusterProfilesRole: 'latchkey-cluster-profiles',
} as const;
