import { endpointAuthority, endpointOrigin } from '../../api/direct-endpoint.ts';
import { defined } from '../../api/json.ts';
import { argoCDClusterLabels } from '../../credentials/argocd-cluster.ts';
import type { CredentialRecord } from '../../credentials/record.ts';
import type { SecretLayout } from '../../credentials/secret-template.ts';
import type { ClusterRecord } from '../../platform/targets/target-record.ts';
import { onlyCluster } from '../../scope/audiences.ts';
import { effectiveScope } from '../../scope/effective-scope.ts';
import { apiPrefix, formatTarget, type RequestTarget } from '../../scope/request-path.ts';
import type { GatewayAddress } from './gateway-address.ts';

/** The Secret cannot look as it is to look. For people. */
export interface LayoutProblem {
  readonly problem: string;
}

/** Undefined: the Secret has nothing but the credential. `pending`: it depends on what is not known yet. */
export type FoundLayout = SecretLayout | LayoutProblem | 'pending' | undefined;

/**
 * Finds what the Secret of a credential has besides the credential. `clusterUID`: of the Cluster for which a token is judged now; absent:
 * of the one for which it was issued.
 */
export type FindLayout = (record: CredentialRecord, clusterUID?: string) => FoundLayout;

/** Whether it is known how the Secret is to look. */
export const isKnownLayout = (found: FoundLayout): found is SecretLayout | undefined =>
  found !== 'pending' && !(found !== undefined && 'problem' in found);

export interface LayoutSources {
  readonly gateway: GatewayAddress;
  readonly findCluster: (name: string) => ClusterRecord | undefined;
}

export function findLayout(
  record: CredentialRecord,
  { gateway, findCluster }: LayoutSources,
  clusterUID?: string,
): FoundLayout {
  const { kind, name, secretTemplate } = record;
  const { issuer, ca, isCAPending } = gateway;
  if (secretTemplate?.format === undefined) return secretTemplate;
  const { labels, annotations, entries, target } = secretTemplate;
  const layout = { labels: { ...labels, ...argoCDClusterLabels }, annotations, entries };
  if (kind === 'VirtualClusterInstanceKubeConfig') return { ...layout, cluster: {} };
  if (kind === 'DirectClusterEndpointToken') {
    const place = directPlace(record, findCluster, clusterUID);
    return 'problem' in place ? place : { ...layout, cluster: { name, ...place } };
  }
  if (isCAPending === true) return 'pending';
  const path = formatTarget(readTarget(target));
  // The schema lets none of them through.
  if (path === undefined) return { labels, annotations, entries };
  return { ...layout, cluster: { name, server: `${issuer}${apiPrefix}${path}`, ...defined({ ca }) } };
}

/** The cluster whose direct endpoint the Secret of a token describes; undefined where it describes none. */
export function endpointCluster(record: CredentialRecord): string | undefined {
  const isDescribed =
    record.kind === 'DirectClusterEndpointToken' && record.secretTemplate?.format !== undefined;
  return isDescribed ? onlyCluster(effectiveScope(record)) : undefined;
}

/**
 * Whether the Cluster that the Secret of a token describes is another than the one it was issued for. Under its name anyone may have made
 * it: the right to use it is asked about again, before its host gets a credential. `remembered`: the UID that the status did not keep.
 */
export function isForEarlierCluster(
  record: CredentialRecord,
  findCluster: LayoutSources['findCluster'],
  remembered?: string,
): boolean {
  const name = endpointCluster(record);
  const present = name === undefined ? undefined : findCluster(name);
  if (present === undefined || record.status.credentialHash === undefined) return false;
  const isUsable = present.deleted === undefined && originOf(present) !== undefined;
  return (
    isUsable &&
    endpointAuthority(present.directEndpointCA) !== undefined &&
    present.uid !== (record.status.clusterUID ?? remembered ?? uidByAge(record, present))
  );
}

const originOf = ({ directEndpoint: host }: ClusterRecord): string | undefined =>
  host === undefined ? undefined : endpointOrigin(host);

/** Times of the API server and of the operator are compared. Two clocks may differ by some minutes. */
const maxClockDifferenceMs = 15 * 60_000;

/**
 * A status without the UID is of an earlier release, or its definition is. A Cluster that is older than the life of the token is the one
 * that was asked about then: under its name no other has been made since.
 */
const uidByAge = (
  { status: { issuedAt } }: CredentialRecord,
  { created, uid }: ClusterRecord,
): string | undefined =>
  issuedAt !== undefined && created + maxClockDifferenceMs <= issuedAt ? uid : undefined;

/** Where the cluster in the scope of a token is reached. */
function directPlace(
  record: CredentialRecord,
  findCluster: LayoutSources['findCluster'],
  clusterUID: string | undefined,
): { readonly server: string; readonly ca?: string } | LayoutProblem {
  const name = endpointCluster(record);
  if (name === undefined) return notOneCluster;
  const cluster = findCluster(name);
  if (cluster === undefined || cluster.deleted !== undefined)
    return {
      problem: `spec.secretRef.format needs the Cluster "${name}" of spec.scope: make it, or name another.`,
    };
  const origin = originOf(cluster);
  if (origin === undefined)
    return {
      problem: `spec.secretRef.format needs a direct endpoint of the Cluster "${name}": set its spec.directEndpoint.host.`,
    };
  const ca = endpointAuthority(cluster.directEndpointCA);
  if (ca === undefined)
    return {
      problem: `spec.directEndpoint.caData of the Cluster "${name}" holds no certificate in PEM: mend it, or leave it out.`,
    };
  if (cluster.uid !== (clusterUID ?? record.status.clusterUID ?? uidByAge(record, cluster)))
    return {
      problem: `The Cluster "${name}" was made again: the Secret stays as it is until another token is issued for it.`,
    };
  return {
    server: `${origin}${apiPrefix}${formatTarget({ kind: 'cluster', cluster: name })}`,
    ...(ca !== '' && { ca }),
  };
}

const notOneCluster: LayoutProblem = {
  problem:
    'spec.secretRef.format needs a spec.scope that names exactly one cluster, and nothing beside it, as in clusters: [{cluster: staging}].',
};

/** `cluster/<name>`, `space/<project>/<name>` or `virtualcluster/<project>/<name>`. Any other text leads nowhere. */
function readTarget(text = ''): RequestTarget {
  const [kind, first = '', second = '', ...more] = text.split('/');
  if (more.length > 0 || (kind === 'cluster' && second !== '')) return nowhere;
  if (kind === 'space') return { kind: 'space', project: first, space: second };
  if (kind === 'virtualcluster') return { kind: 'virtualCluster', project: first, virtualCluster: second };
  return kind === 'cluster' ? { kind: 'cluster', cluster: first } : nowhere;
}

const nowhere: RequestTarget = { kind: 'cluster', cluster: '' };
