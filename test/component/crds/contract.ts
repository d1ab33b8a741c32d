/** Every field of the API contract, with its type there. `[]` stands for the items of a list. */
export interface ContractField {
  readonly kind: string;
  readonly field: string;
  readonly type: string;
  readonly format?: string;
}

const text = { type: 'string' };
const list = { type: 'array' };
const flag = { type: 'boolean' };
const object = { type: 'object' };
const time = { type: 'string', format: 'date-time' };
const int64 = { type: 'integer', format: 'int64' };
const int32 = { type: 'integer', format: 'int32' };

type Fields = Readonly<Record<string, { readonly type: string; readonly format?: string }>>;

const rules: Fields = {
  '': list,
  '[].verbs': list,
  '[].verbs[]': text,
  '[].resources': list,
  '[].resources[].group': text,
  '[].resources[].resources': list,
  '[].resources[].resources[]': text,
  '[].resourceNames': list,
  '[].resourceNames[]': text,
  '[].namespaces': list,
  '[].namespaces[]': text,
  '[].nonResourceURLs': list,
  '[].nonResourceURLs[]': text,
  '[].requestTargets': list,
  '[].requestTargets[]': text,
  '[].cluster': text,
  '[].virtualClusters': list,
  '[].virtualClusters[].name': text,
  '[].virtualClusters[].namespace': text,
};

const scope: Fields = {
  '': object,
  '.roles': list,
  '.roles[].role': text,
  '.roles[].projects': list,
  '.roles[].projects[]': text,
  '.roles[].virtualClusters': list,
  '.roles[].virtualClusters[]': text,
  '.projects': list,
  '.projects[].project': text,
  '.spaces': list,
  '.spaces[].project': text,
  '.spaces[].space': text,
  '.virtualClusters': list,
  '.virtualClusters[].project': text,
  '.virtualClusters[].virtualCluster': text,
  '.clusters': list,
  '.clusters[].cluster': text,
  ...under('.rules', rules),
};

const envelope: Fields = { apiVersion: text, kind: text, metadata: object, spec: object, status: object };

const accessKey: Fields = {
  ...envelope,
  'spec.displayName': text,
  'spec.description': text,
  'spec.user': text,
  'spec.team': text,
  'spec.subject': text,
  'spec.groups': list,
  'spec.groups[]': text,
  'spec.key': text,
  'spec.disabled': flag,
  'spec.ttl': int64,
  'spec.ttlAfterLastActivity': flag,
  ...under('spec.scope', scope),
  'spec.type': text,
  'spec.identity': object,
  'spec.identity.userId': text,
  'spec.identity.username': text,
  'spec.identity.preferredUsername': text,
  'spec.identity.email': text,
  'spec.identity.emailVerified': flag,
  'spec.identity.extraClaims': object,
  'spec.identity.extraClaims.*': text,
  'spec.identity.groups': list,
  'spec.identity.groups[]': text,
  'spec.identity.connector': text,
  'spec.identity.connectorData': text,
  'spec.identity.identityRefresh': time,
  'spec.oidcProvider': object,
  'spec.oidcProvider.clientId': text,
  'spec.oidcProvider.nonce': text,
  'spec.oidcProvider.redirectUri': text,
  'spec.oidcProvider.scopes': text,
  'spec.parent': text,
  'spec.oidcLogin': object,
  'spec.oidcLogin.idToken': text,
  'spec.oidcLogin.accessToken': text,
  'spec.oidcLogin.refreshToken': text,
  'spec.oidcLogin.lastRefresh': time,
  'status.lastActivity': time,
};

const token: Fields = {
  ...envelope,
  'spec.ttl': int64,
  ...under('spec.scope', scope),
  ...under('spec.rules', rules),
  'spec.allowPlatformCli': flag,
  'status.token': text,
};

const kubeConfig: Fields = {
  ...envelope,
  'spec.certificateTTL': int32,
  'spec.server': text,
  'spec.clientCert': flag,
  'status.kubeConfig': text,
};

function under(prefix: string, fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).map(([name, type]) => [`${prefix}${name}`, type]));
}

const of = (kind: string, fields: Fields): ContractField[] =>
  Object.entries(fields).map(([field, type]) => ({ kind, field, ...type }));

export const contract: readonly ContractField[] = [
  ...of('OwnedAccessKey', accessKey),
  ...of('DirectClusterEndpointToken', token),
  ...of('VirtualClusterInstanceKubeConfig', kubeConfig),
];

/** Of what the operator issues and renews, beyond the contract. */
const ofIssued = [
  'status.expirationTimestamp',
  'status.credentialHash',
  'status.fingerprint',
  'status.serial',
  'status.notAfter',
  'status.confirmedTTL',
  'status.accessKeyUID',
  'status.requester',
  'status.confirmedGroups',
  'status.keyID',
  'status.signingKeyID',
  'status.subject',
  'status.audiences',
  'status.observedRotation',
  'status.issuedAt',
  'status.previous',
  'status.criticalScopes',
  'status.chain',
] as const;

/** Fields of ours beyond the contract. A new one is a promise to users, so it is made on purpose. */
export const additions: Readonly<Record<string, readonly string[]>> = {
  OwnedAccessKey: [
    'spec.secretRef',
    'spec.accessKey',
    'spec.exchange',
    'spec.allowedNamespaces',
    'status.state',
    'status.scope',
    'status.conditions',
    'status.observedGeneration',
    'status.active',
    'status.expirationTimestamp',
    'status.credentialHash',
    'status.fingerprint',
    'status.serial',
    'status.notAfter',
    'status.confirmedTTL',
    'status.allowedNamespaces',
    'status.accessKeyUID',
    'status.requester',
    'status.confirmedGroups',
    'status.keyID',
    'status.subject',
    'status.observedRotation',
    'status.keySource',
    'status.disabledByExpiry',
  ],
  DirectClusterEndpointToken: [
    'spec.secretRef',
    'spec.accessKey',
    'spec.renewBefore',
    'status.state',
    'status.scope',
    'status.conditions',
    'status.observedGeneration',
    'status.tokenID',
    'status.clusterUID',
    ...ofIssued,
  ],
  VirtualClusterInstanceKubeConfig: [
    'spec.virtualClusterInstance',
    'spec.secretRef',
    'spec.accessKey',
    'spec.renewBefore',
    'status.state',
    'status.conditions',
    'status.observedGeneration',
    'status.auth',
    'status.documentHash',
    'status.targetHash',
    'status.virtualClusterInstanceUID',
    'status.boundSerials',
    ...ofIssued,
  ],
};
