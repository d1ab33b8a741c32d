import { defined } from '../../api/json.ts';
import { argoCDClusterLabels } from '../../credentials/argocd-cluster.ts';
import type { CredentialRecord } from '../../credentials/record.ts';
import type { SecretLayout } from '../../credentials/secret-template.ts';
import { apiPrefix, formatTarget, type RequestTarget } from '../../scope/request-path.ts';
import type { GatewayAddress } from './gateway-address.ts';

/** Finds what the Secret of a credential has besides the credential; `pending` while that depends on what is not known yet. */
export type FindLayout = (record: CredentialRecord) => SecretLayout | 'pending' | undefined;

export function findLayout(
  { kind, name, secretTemplate }: CredentialRecord,
  { issuer, ca, isCAPending }: GatewayAddress,
): SecretLayout | 'pending' | undefined {
  if (secretTemplate?.format === undefined) return secretTemplate;
  const { labels, annotations, entries, target } = secretTemplate;
  const layout = { labels: { ...labels, ...argoCDClusterLabels }, annotations, entries };
  if (kind === 'VirtualClusterInstanceKubeConfig') return { ...layout, cluster: {} };
  if (isCAPending === true) return 'pending';
  const path = formatTarget(readTarget(target));
  // The schema lets none of them through.
  if (path === undefined) return { labels, annotations, entries };
  return { ...layout, cluster: { name, server: `${issuer}${apiPrefix}${path}`, ...defined({ ca }) } };
}

/** `cluster/<name>`, `space/<project>/<name>` or `virtualcluster/<project>/<name>`. Any other text leads nowhere. */
function readTarget(text = ''): RequestTarget {
  const [kind, first = '', second = '', ...more] = text.split('/');
  if (more.length > 0 || (kind === 'cluster' && second !== '')) return nowhere;
  if (kind === 'space') return { kind: 'space', project: first, space: second };
  if (kind === 'virtualcluster') return { kind: 'virtualCluster', project: first, virtualCluster: second };
  return kind === 'cluster' ? { kind: 'cluster', cluster: first } : nowhere;
}

const nowhere: RequestTarget = { kind: 'cluster', cluster: '' };
