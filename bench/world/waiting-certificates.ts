import { randomBytes, randomUUID } from 'node:crypto';
import { accountKubeconfig } from '../../lab/operator/running-operator.ts';
import { certificateSigningRequests, virtualClusterInstances } from '../../src/api/resources.ts';
import { createCertificateRequest } from '../../src/credentials/certificates/certificate-request.ts';
import { certificateSubject } from '../../src/credentials/certificates/subject.ts';
import { createKubeClient, type KubeClient } from '../../src/kube/client/client.ts';
import { kubeConfigSource } from '../../src/kube/client/kube-config.ts';
import { forEachConcurrently } from '../../src/kube/for-each-concurrently.ts';
import { bindCertificate } from '../../src/operator/certificates/certificate-binding.ts';
import { RecordSignatures } from '../../src/operator/certificates/record-signatures.ts';
import { caFingerprint, RevocationRecords } from '../../src/operator/certificates/revocation-records.ts';
import { targetObjectMetadata } from '../../src/operator/certificates/target-object-names.ts';
import {
  toInstanceRecord,
  type VirtualClusterInstanceRecord,
} from '../../src/platform/targets/target-record.ts';
import { benchUser, type Platform } from './platform.ts';
import { instance, type VirtualCluster } from './virtual-cluster.ts';

const serial = 1;
const hour = 3_600_000;
/** Requests at the same time, to each of the two control planes. */
const concurrency = 16;

/**
 * Leftovers of certificates whose kubeconfigs are gone, made by the operator's own code: in the virtual cluster a signing
 * request and a binding, on the platform a signed record. No one signs the requests: a signer takes twenty a second.
 */
export class WaitingCertificates {
  readonly #cluster: VirtualCluster;
  readonly #operator: KubeClient;
  readonly #records: RevocationRecords;
  readonly #instance: VirtualClusterInstanceRecord;

  static async open({ plane, client }: Platform, cluster: VirtualCluster): Promise<WaitingCertificates> {
    const file = await accountKubeconfig(plane, 'latchkey-operator');
    const operator = createKubeClient({
      kubeConfig: kubeConfigSource({ file }),
      userAgent: 'latchkey-bench',
    });
    const signatures = new RecordSignatures(operator, randomBytes);
    await signatures.load();
    const events = { publish: () => undefined };
    const records = new RevocationRecords({ client: operator, signatures, events });
    const record = toInstanceRecord(await client.get(virtualClusterInstances, instance));
    return new WaitingCertificates({ cluster, operator, records, record });
  }

  private constructor(parts: {
    readonly cluster: VirtualCluster;
    readonly operator: KubeClient;
    readonly records: RevocationRecords;
    readonly record: VirtualClusterInstanceRecord;
  }) {
    this.#cluster = parts.cluster;
    this.#operator = parts.operator;
    this.#records = parts.records;
    this.#instance = parts.record;
  }

  /** Resolves with the UIDs of their kubeconfigs, which never existed. */
  async make(count: number): Promise<readonly string[]> {
    const uids = Array.from({ length: count }, () => randomUUID());
    await forEachConcurrently(uids, concurrency, async (uid) => await this.#makeOne(uid));
    return uids;
  }

  /** From now on they are to be revoked. */
  async record(uids: readonly string[]): Promise<void> {
    const { kubeConfig: secret, namespace, name, uid } = this.#instance;
    const ca = Buffer.from(this.#cluster.plane.caData, 'base64').toString();
    const place = { instance: { namespace, name, uid }, secret, caFingerprint: caFingerprint({ ca }) };
    const notAfter = Date.now() + hour;
    await forEachConcurrently(
      uids,
      concurrency,
      async (ownerUID) => await this.#records.write({ ...place, ownerUID, serials: [serial], notAfter }),
    );
  }

  async close(): Promise<void> {
    await this.#operator.close();
  }

  async #makeOne(uid: string): Promise<void> {
    const { client } = this.#cluster;
    const subject = certificateSubject(uid, serial);
    const { request } = createCertificateRequest({ commonName: subject, organization: subject });
    await client.create(certificateSigningRequests, {
      apiVersion: 'certificates.k8s.io/v1',
      kind: certificateSigningRequests.kind,
      metadata: targetObjectMetadata({ uid, serial, requester: benchUser }),
      spec: {
        request: Buffer.from(request).toString('base64'),
        signerName: 'kubernetes.io/kube-apiserver-client',
        usages: ['client auth'],
      },
    });
    await bindCertificate(client, { uid, serial, requester: benchUser, clusterRole: 'cluster-admin' });
  }
}
