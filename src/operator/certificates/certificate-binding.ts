import { labels } from '../../api/names.ts';
import { clusterRoleBindings } from '../../api/resources.ts';
import { certificateSubject } from '../../credentials/certificates/subject.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { ignoreNotFound, isAlreadyExists } from '../../kube/kube-error.ts';
import { atTarget } from '../targets/target-failure.ts';
import { targetObjectMetadata } from './target-object-names.ts';

export interface CertificateBinding {
  readonly uid: string;
  readonly serial: number;
  readonly requester: string;
  readonly clusterRole: string;
}

const group = 'rbac.authorization.k8s.io';

/**
 * Binds the user of one certificate to the role of the instance. What stands under that name already was not made for
 * this certificate, which is seconds old; its role cannot be changed, so it is replaced. Rejects with a TargetFailure.
 */
export async function bindCertificate(client: KubeClient, binding: CertificateBinding): Promise<void> {
  const object = objectOf(binding);
  const create = async () => void (await client.create(clusterRoleBindings, object));
  await atTarget(async () => {
    try {
      await create();
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      await client.delete(clusterRoleBindings, { name: object.metadata.name }).catch(ignoreNotFound);
      await create();
    }
  });
}

function objectOf({ clusterRole, ...certificate }: CertificateBinding) {
  const metadata = targetObjectMetadata(certificate);
  const name = certificateSubject(certificate.uid, certificate.serial);
  return {
    apiVersion: `${group}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: { ...metadata, labels: { ...metadata.labels, ...partOf } },
    roleRef: { apiGroup: group, kind: 'ClusterRole', name: clusterRole },
    subjects: [{ apiGroup: group, kind: 'User', name }],
  };
}

const partOf = { [labels.ownerKind]: 'VirtualClusterInstanceKubeConfig' };
