import { createHash } from 'node:crypto';
import { credentialKinds } from '../../src/api/credential-kinds.ts';
import { annotations, apiVersion, fieldManager, finalizers, labels } from '../../src/api/names.ts';
import { computeFingerprints } from '../../src/credentials/fingerprint.ts';
import type { CredentialKind } from '../../src/credentials/record.ts';

const users = 2_000;
const groups = 50;
const scopes = 40;

/** One object as a watch brings it: applied by a person, confirmed and issued by the operator, with all its managed fields. */
export function credentialObject(kind: CredentialKind, index: number) {
  const isKubeConfig = kind === 'VirtualClusterInstanceKubeConfig';
  const name = `credential-of-pipeline-${index}`;
  const spec = specs[kind](index);
  const manifest = { apiVersion, kind, metadata: { name, annotations: {} }, spec };
  return {
    apiVersion,
    kind,
    metadata: {
      name,
      ...(isKubeConfig && { namespace: `p-project-${index % 200}` }),
      uid: uid(`object ${index}`),
      resourceVersion: String(1_000_000 + index),
      generation: 1,
      creationTimestamp: instant(index),
      labels: { 'app.kubernetes.io/managed-by': 'platform-team', [labels.project]: `project-${index % 200}` },
      annotations: {
        [annotations.requester]: user(index),
        [annotations.requesterGroups]: JSON.stringify([
          group(index),
          group(index + 7),
          'system:authenticated',
        ]),
        'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify(manifest),
      },
      finalizers: [finalizers[kind]],
      managedFields: managedFields(spec),
    },
    spec,
    status: { ...status(index, spec), ...statuses[kind](index), conditions: [ready(kind, index)] },
  };
}

const specs: Readonly<Record<CredentialKind, (index: number) => object>> = {
  OwnedAccessKey: (index) => ({
    displayName: `Pipeline ${index}`,
    user: user(index),
    groups: [group(index)],
    key: `sha256:${sha256(`key ${index}`)}`,
    ttl: 7_776_000,
    scope: scope(index),
  }),
  DirectClusterEndpointToken: (index) => ({
    accessKey: `key-of-pipeline-${parent(index)}`,
    ttl: 86_400,
    scope: scope(index),
    secretRef: { namespace: 'pipelines', name: `token-of-pipeline-${index}` },
  }),
  VirtualClusterInstanceKubeConfig: (index) => ({
    accessKey: `key-of-pipeline-${parent(index)}`,
    virtualClusterInstance: `shop-${index % 1000}`,
    certificateTTL: 86_400,
    clientCert: true,
    secretRef: { name: `kubeconfig-of-pipeline-${index}` },
  }),
};

const statuses: Readonly<Record<CredentialKind, (index: number) => object>> = {
  OwnedAccessKey: (index) => ({
    keySource: 'Hash',
    active: true,
    lastActivity: instant(90),
    subject: user(index),
  }),
  DirectClusterEndpointToken: (index) => ({
    ...issued(index),
    signingKeyID: sha256('signing key').slice(0, 43),
    tokenID: { serial: 1, hash: sha256(`ID of token ${index}`).slice(0, 43) },
    audiences: ['https://latchkey.example.com/clusters'],
  }),
  VirtualClusterInstanceKubeConfig: (index) => ({
    ...issued(index),
    auth: 'ClientCertificate',
    documentHash: sha256(`document ${index}`),
    targetHash: sha256(`target ${index % 1000}`),
    virtualClusterInstanceUID: uid(`instance ${index % 1000}`),
    boundSerials: [1],
  }),
};

function status(index: number, spec: object): object {
  const hash = sha256(`key ${index}`);
  return {
    observedGeneration: 1,
    credentialHash: hash,
    keyID: hash.slice(0, 16),
    fingerprint: computeFingerprints({ ...spec })[0],
    serial: 1,
    notAfter: instant(index + 7_776_000),
    confirmedTTL: 7_776_000,
    expirationTimestamp: instant(index + 7_776_000),
  };
}

const issued = (index: number) => ({
  issuedAt: instant(index),
  subject: user(parent(index)),
  accessKeyUID: uid(`key ${parent(index)}`),
  chain: sha256(`chain ${index}`),
});

const ready = (kind: CredentialKind, index: number) => ({
  type: 'Ready',
  status: 'True',
  reason: 'Issued',
  message: `The ${credentialKinds[kind].noun} is confirmed and works.`,
  observedGeneration: 1,
  lastTransitionTime: instant(index),
});

function managedFields(spec: object): object[] {
  const names = Object.keys(spec).map((name) => [`f:${name}`, {}] as const);
  const time = instant(0);
  const own = { apiVersion, fieldsType: 'FieldsV1', time };
  return [
    {
      manager: 'kubectl-client-side-apply',
      operation: 'Update',
      ...own,
      fieldsV1: { 'f:metadata': { 'f:annotations': {} }, 'f:spec': Object.fromEntries(names) },
    },
    {
      manager: fieldManager,
      operation: 'Update',
      subresource: 'status',
      ...own,
      fieldsV1: { 'f:status': { 'f:credentialHash': {}, 'f:fingerprint': {}, 'f:serial': {} } },
    },
  ];
}

/** A few kinds of scope, as platforms have: equal in meaning and text, but each parsed again from its object. */
const scope = (index: number) => ({
  projects: [{ project: `project-${index % scopes}` }],
  clusters: [{ cluster: `cluster-${index % scopes}` }],
  roles: [{ role: 'platform-cli' }],
});

/** A key has a few children. */
const parent = (index: number): number => Math.floor(index / 4);
const user = (index: number): string => `person-${index % users}@example.com`;
const group = (index: number): string => `developers-of-team-${index % groups}`;
const instant = (seconds: number): string =>
  new Date(Date.UTC(2026, 0, 1) + seconds * 1000).toISOString().replace('.000', '');
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const uid = (text: string): string =>
  sha256(text).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, '$1-$2-$3-$4-$5');
