import type { CredentialKind } from '../../api/credential-kinds.ts';
import type { CredentialRecord } from '../../credentials/record.ts';
import type { TargetStores } from '../../platform/targets/target-stores.ts';
import { wasIssued } from '../credentials/creator.ts';
import type { CredentialStores } from '../credentials/credential-stores.ts';

interface Known {
  readonly stores: CredentialStores;
  readonly targets: Pick<TargetStores, 'instances'>;
}

/**
 * Whether what a credential depends on may be of a kind that the API server does not know (yet). It cannot be found then, and must not
 * count as gone: that would be said for good, and takes back what was issued.
 */
export function waitsForKind({ stores, targets }: Known, kind: CredentialKind, key: string): boolean {
  const { store } = stores.ofKind[kind];
  if (store.isUnserved) return true;
  const record = store.get(key);
  if (record === undefined || record.deleted !== undefined) return false;
  if (record.accessKey !== undefined && stores.keys.isUnserved) return true;
  if (record.kubeConfig !== undefined && targets.instances.isUnserved) return true;
  return waitsForCreator(stores, record);
}

/**
 * The credential that it was made with, and the keys above that one, are asked about before the first issue; of a certificate
 * before each.
 */
function waitsForCreator(stores: CredentialStores, record: CredentialRecord): boolean {
  const { createdWith, kubeConfig } = record;
  if (createdWith === undefined) return false;
  if (wasIssued(record) && kubeConfig?.clientCert !== true) return false;
  if (stores.keys.isUnserved) return true;
  const isMissing = stores.byUID(createdWith.split('/')[1] ?? '').length === 0;
  return isMissing && stores.credentials.some(({ isUnserved }) => isUnserved);
}
