import { reasons } from '../../../api/reasons.ts';
import { createCertificateRequest } from '../../../credentials/certificate-request.ts';
import { certificateSubject } from '../../../credentials/certificate-subject.ts';
import { credentialHash } from '../../../credentials/credential-hash.ts';
import { type IssuedCertificate, readIssuedCertificate } from '../../../credentials/issued-certificate.ts';
import { kubeConfigDocument } from '../../../credentials/kubeconfig-document.ts';
import type { CredentialRecord } from '../../../credentials/record.ts';
import type { KubeClient } from '../../../kube/client/client.ts';
import type { Clock } from '../../../kube/clock.ts';
import type { OpenTarget, TargetClients, TargetSource } from '../../../platform/targets/target-clients.ts';
import type { VirtualClusterInstanceRecord } from '../../../platform/targets/target-record.ts';
import { authorityOf } from '../../certificates/ca-fingerprint.ts';
import { bindCertificate } from '../../certificates/certificate-binding.ts';
import { expirationSeconds } from '../../certificates/certificate-life.ts';
import { CertificateSigning } from '../../certificates/certificate-signing.ts';
import { revocationOf } from '../../certificates/revocation-of.ts';
import type { RevocationRecords } from '../../certificates/revocation-records.ts';
import { deadSerials, nextSerial } from '../../certificates/serials.ts';
import { TargetFailure, targetFailure } from '../../certificates/target-failure.ts';
import { outsideMetadata } from '../../certificates/target-object-names.ts';
import type { Withdrawals } from '../../certificates/withdrawals.ts';
import type { CredentialWriter } from '../credential-writer.ts';
import type { IssueCredential } from '../issued/step.ts';
import { directDestination, namesOf, targetHashOf } from './destination.ts';
import type { MadeKubeConfig } from './issued-kubeconfig.ts';

export interface CertificateFormOptions {
  readonly clients: Pick<TargetClients, 'open'>;
  readonly withdrawals: Withdrawals;
  readonly revocations: Pick<RevocationRecords, 'write'>;
  readonly writer: Pick<CredentialWriter, 'noteSerials'>;
  readonly clock: Clock;
  /** Throws when nothing may be issued now. */
  readonly assertMayIssue: () => void;
}

export interface CertificateOrder {
  readonly record: CredentialRecord;
  readonly issue: IssueCredential;
  readonly instance: VirtualClusterInstanceRecord;
  /** Epoch milliseconds, when the decision was made. */
  readonly now: number;
}

interface Signed {
  readonly record: CredentialRecord;
  readonly serial: number;
  readonly privateKey: string;
  readonly certificate: IssuedCertificate;
}

/** Serials that are tried when others hold their names. */
const mostSerials = 3;
/** Anything shorter would have its successor due at once, again and again; milliseconds. */
const leastLife = 10_000;

/**
 * Makes kubeconfigs with a client certificate of the virtual cluster. Whatever a sudden death leaves behind there has a
 * serial that status has named before, so that the next look finds and removes it; and a record says where to look
 * should the object itself be gone by then.
 */
export class CertificateForm {
  readonly #options: CertificateFormOptions;
  readonly #signing: CertificateSigning;

  constructor(options: CertificateFormOptions) {
    this.#options = options;
    this.#signing = new CertificateSigning(options.clock, options.assertMayIssue);
  }

  /** Rejects with a TargetFailure; what was made until then is known by `status.boundSerials`. */
  async make(order: CertificateOrder): Promise<MadeKubeConfig> {
    const { instance, issue } = order;
    const { client, config } = await this.#open(instance);
    const destination = directDestination(order.record, instance, config.ca);
    // The policy has refused what has none; this is for the compiler.
    if (destination === undefined) throw new RangeError('a kubeconfig without a destination');
    const { record, serial, certificate, privateKey } = await this.#sign(client, authorityOf(config), order);
    const requester = issue.identity.user;
    const { clusterRole } = instance;
    await bindCertificate(client, { uid: record.uid, serial, requester, clusterRole });
    const { server, ca = config.ca } = destination;
    const user = { certificate: certificate.certificate, key: privateKey };
    const document = kubeConfigDocument({ server, ca, name: namesOf(record), user });
    const extra = {
      auth: 'ClientCertificate',
      documentHash: credentialHash(document),
      targetHash: targetHashOf(destination),
      instanceUID: instance.uid,
      ...(record.status.boundSerials === undefined ? {} : { boundSerials: record.status.boundSerials }),
    } as const;
    return {
      record,
      issue: { ...issue, serial, end: Math.min(issue.end, certificate.notAfter) },
      issued: { document, credentialHash: certificate.hash, keyID: certificate.serialNumber, extra },
    };
  }

  async #open(instance: VirtualClusterInstanceRecord): Promise<OpenTarget> {
    const opened = await this.#options.clients.open(sourceOf(instance));
    if ('problem' in opened) throw new TargetFailure(opened.problem);
    return opened.target;
  }

  async #sign(client: KubeClient, authority: string, order: CertificateOrder): Promise<Signed> {
    const { writer, revocations } = this.#options;
    const { issue, instance } = order;
    let { record } = order;
    const live = issue.keepPrevious ? [record.status.serial] : [];
    for (let tries = 0; tries < mostSerials; tries++) {
      await this.#withdrawDead(client, record, live);
      const serial = nextSerial(record);
      record = await writer.noteSerials(record, [...live, serial]);
      const revocation = revocationOf(record, instance, { authority, end: issue.end });
      await revocations.write(revocation);
      const signed = await this.#certify(client, { ...order, record }, serial);
      if (signed === undefined) continue;
      const end = signed.certificate.notAfter;
      // A signer may give more than was asked for.
      if (end > revocation.notAfter)
        await revocations.write(revocationOf(record, instance, { authority, end }));
      return { record, serial, ...signed };
    }
    throw targetFailure(reasons.certificateFailed, namesTaken);
  }

  /** The predecessor first of all, unless it is to be valid a while longer: what narrows comes before what widens. */
  async #withdrawDead(client: KubeClient, record: CredentialRecord, live: readonly number[]): Promise<void> {
    const serials = deadSerials(record, live);
    if (serials.length === 0) return;
    await this.#options.withdrawals.withdraw(client, { uid: record.uid, serials, live });
  }

  /** Undefined when the name of the request is taken. */
  async #certify(
    client: KubeClient,
    { record, issue, now }: CertificateOrder,
    serial: number,
  ): Promise<Pick<Signed, 'privateKey' | 'certificate'> | undefined> {
    const { uid } = record;
    const subject = certificateSubject(uid, serial);
    const { request, privateKey, publicKey } = createCertificateRequest({
      commonName: subject,
      organization: subject,
    });
    const seconds = expirationSeconds(record, issue, now);
    const pem = await this.#signing.sign(client, {
      metadata: outsideMetadata({ uid, serial, requester: issue.identity.user }),
      request,
      ...(seconds === undefined ? {} : { expirationSeconds: seconds }),
    });
    if (pem === undefined) return undefined;
    const reading = readIssuedCertificate(pem, {
      subject,
      publicKey,
      now: this.#options.clock.now() + leastLife,
    });
    if ('problem' in reading) throw targetFailure(reasons.certificateFailed, unusable(reading.problem));
    return { privateKey, certificate: reading };
  }
}

/** Where the administrator kubeconfig of an instance is. */
export const sourceOf = ({ uid, kubeConfig }: VirtualClusterInstanceRecord): TargetSource => ({
  uid,
  secret: kubeConfig,
});

const namesTaken =
  'Other CertificateSigningRequests in the virtual cluster have the names that Latchkey uses: find out who makes them.';

/** The problem is one of a few constant sentences. */
const unusable = (problem: string): string =>
  `The certificate was not used: ${problem}. Look at the signer of the virtual cluster.`;
