import { defined } from '../../../api/json.ts';
import { credentialHash } from '../../../credentials/keys/credential-hash.ts';
import { kubeConfigDocument } from '../../../credentials/kubeconfig-document.ts';
import type { CredentialRecord } from '../../../credentials/record.ts';
import type { OpenResult, TargetSource } from '../../../platform/targets/target-clients.ts';
import type { VirtualClusterInstanceRecord } from '../../../platform/targets/target-record.ts';
import type { CertificateIssuer } from '../../certificates/certificate-issuer.ts';
import { TargetFailure } from '../../targets/target-failure.ts';
import type { CredentialWriter } from '../credential-writer.ts';
import type { IssueCredential, MadeCredential } from '../issued/issued-steps.ts';
import { directDestination, namesOf, targetHashOf } from './destination.ts';

export interface CertificateKubeConfigsOptions {
  readonly issuer: Pick<CertificateIssuer, 'issue'>;
  readonly writer: Pick<CredentialWriter, 'nameSerials'>;
}

export interface CertificateKubeConfigRequest {
  readonly record: CredentialRecord;
  readonly issue: IssueCredential;
  readonly instance: VirtualClusterInstanceRecord;
  readonly opened: OpenResult;
  /** Epoch milliseconds, when the decision was made. */
  readonly now: number;
}

/** Makes a kubeconfig with a client certificate of the virtual cluster. Rejects with a TargetFailure. */
export async function makeWithCertificate(
  { issuer, writer }: CertificateKubeConfigsOptions,
  { record: decided, issue, instance, opened, now }: CertificateKubeConfigRequest,
): Promise<MadeCredential> {
  if ('problem' in opened) throw new TargetFailure(opened.problem);
  const { config } = opened.target;
  const destination = directDestination(decided, instance, config.ca);
  // The policy has refused what has none; this is for the compiler.
  if (destination === undefined) throw new RangeError('a kubeconfig without a destination');
  let record = decided;
  const { serial, privateKey, certificate } = await issuer.issue(opened.target, {
    ...{ uid: record.uid, status: record.status, end: issue.end, now, instance },
    live: issue.keepPrevious ? [record.status.serial] : [],
    secret: instance.kubeConfig,
    requester: issue.identity.user,
    clusterRole: instance.clusterRole,
    ...defined({ certificateTTL: record.ttl }),
    nameSerials: async (serials) => {
      record = await writer.nameSerials(record, serials);
    },
  });
  const { server, ca = config.ca } = destination;
  const user = { certificate: certificate.certificate, key: privateKey };
  const document = kubeConfigDocument({ server, ca, name: namesOf(record), user });
  const extra = {
    auth: 'ClientCertificate',
    documentHash: credentialHash(document),
    targetHash: targetHashOf(destination),
    instanceUID: instance.uid,
    ...defined({ boundSerials: record.status.boundSerials }),
  } as const;
  return {
    record,
    issue: { ...issue, serial, end: Math.min(issue.end, certificate.notAfter) },
    issued: { document, credentialHash: certificate.hash, extra },
  };
}

/** Where the administrator kubeconfig of an instance is. */
export const sourceOf = ({ uid, kubeConfig }: VirtualClusterInstanceRecord): TargetSource => ({
  uid,
  secret: kubeConfig,
});
