import type { ControlPlaneFiles } from './files.ts';
import type { ControlPlaneOptions } from './options.ts';

/**
 * Names of Unix sockets, relative to the folder in which etcd and the API server run. Unlike a port a socket in that
 * private folder cannot be taken, or be another control plane's etcd, and a relative name is never too long for the
 * system. etcd wants them to look like host and port.
 */
export const etcdSocket = 'etcd:1';
/** Of the proxy between etcd and a second API server. */
export const twinEtcdSocket = 'etcd-twin:1';
const etcdPeerSocket = 'etcd-peer:1';

export const serviceAccountIssuer = 'https://kubernetes.default.svc.cluster.local';

/** The controllers that a credential platform meets; those that run pods would only cost time. */
const defaultControllers = [
  'certificatesigningrequest-approving-controller',
  'certificatesigningrequest-cleaner-controller',
  'certificatesigningrequest-signing-controller',
  'clusterrole-aggregation-controller',
  'garbage-collector-controller',
  'namespace-controller',
  'root-ca-certificate-publisher-controller',
  'serviceaccount-controller',
  'serviceaccount-token-controller',
  'validatingadmissionpolicy-status-controller',
];

export function etcdArgs(files: ControlPlaneFiles, options: ControlPlaneOptions): string[] {
  const client = `unix://${etcdSocket}`;
  const peer = `unix://${etcdPeerSocket}`;
  return [
    `--data-dir=${files.etcdData}`,
    `--listen-client-urls=${client}`,
    `--advertise-client-urls=${client}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=default=${peer}`,
    `--quota-backend-bytes=${options.etcdQuotaBytes ?? 8 * 2 ** 30}`,
    '--auto-compaction-retention=5m',
    ...(options.fsync === true ? [] : ['--unsafe-no-fsync']),
    ...(options.extraEtcdArgs ?? []),
  ];
}

export function apiServerArgs(
  files: ControlPlaneFiles,
  { port, etcd }: { readonly port: number; readonly etcd: string },
  options: ControlPlaneOptions,
): string[] {
  return [
    `--etcd-servers=unix://${etcd}`,
    '--bind-address=127.0.0.1',
    `--secure-port=${port}`,
    '--advertise-address=127.0.0.1',
    // The endpoints of the service "kubernetes" may not be loopback addresses; nothing here uses that service.
    '--endpoint-reconciler-type=none',
    '--service-cluster-ip-range=10.0.0.0/24',
    `--client-ca-file=${files.ca.certificate}`,
    `--tls-cert-file=${files.server.certificate}`,
    `--tls-private-key-file=${files.server.key}`,
    `--kubelet-client-certificate=${files.kubeletClient.certificate}`,
    `--kubelet-client-key=${files.kubeletClient.key}`,
    ...authorizationArgs(options),
    `--service-account-issuer=${serviceAccountIssuer}`,
    `--service-account-key-file=${files.serviceAccountPublicKey}`,
    `--service-account-signing-key-file=${files.serviceAccountKey}`,
    ...((options.users ?? []).length > 0 ? [`--token-auth-file=${files.tokens}`] : []),
    ...auditArgs(files, options),
    ...(options.authentication === undefined ? [] : [`--authentication-config=${files.authentication}`]),
    ...(options.extraApiServerArgs ?? []),
  ];
}

/** The two flags exclude each other. */
function authorizationArgs({ extraApiServerArgs = [] }: ControlPlaneOptions): string[] {
  const isGiven = extraApiServerArgs.some((arg) => arg.startsWith('--authorization-config='));
  return isGiven ? [] : ['--authorization-mode=RBAC'];
}

function auditArgs(files: ControlPlaneFiles, options: ControlPlaneOptions): string[] {
  if (options.auditPolicy === undefined) return [];
  return [`--audit-policy-file=${files.auditPolicy}`, `--audit-log-path=${files.auditLog}`];
}

export function controllerManagerArgs(
  files: ControlPlaneFiles,
  kubeconfig: string,
  options: ControlPlaneOptions,
): string[] {
  return [
    `--kubeconfig=${kubeconfig}`,
    '--secure-port=0',
    '--leader-elect=false',
    '--use-service-account-credentials=true',
    `--root-ca-file=${files.ca.certificate}`,
    `--cluster-signing-cert-file=${files.ca.certificate}`,
    `--cluster-signing-key-file=${files.ca.key}`,
    `--service-account-private-key-file=${files.serviceAccountKey}`,
    `--controllers=${(options.controllers ?? defaultControllers).join(',')}`,
    ...(options.extraControllerManagerArgs ?? []),
  ];
}
