import { defined } from '../../api/json.ts';
import { reasons } from '../../api/reasons.ts';
import {
  type CertificateRequest,
  createCertificateRequest,
} from '../../credentials/certificates/certificate-request.ts';
import {
  type IssuedCertificate,
  readIssuedCertificate,
} from '../../credentials/certificates/issued-certificate.ts';
import { certificateSubject } from '../../credentials/certificates/subject.ts';
import type { Confirmation } from '../../credentials/record.ts';
import { BackOff } from '../../kube/back-off.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import type { Clock } from '../../kube/clock.ts';
import { sleep } from '../../kube/sleep.ts';
import type { OpenTarget } from '../../platform/targets/target-clients.ts';
import { TargetFailure, targetFailure } from '../targets/target-failure.ts';
import { bindCertificate, type CertificateBinding } from './certificate-binding.ts';
import type { CertificateRevoker } from './certificate-revoker.ts';
import { type ApprovedRequest, CertificateSigning } from './certificate-signing.ts';
import { caFingerprint, type Revocation, type RevocationRecords } from './revocation-records.ts';
import { deadSerials, nextSerial } from './serials.ts';
import { targetObjectMetadata } from './target-object-names.ts';

export interface CertificateIssuerOptions {
  readonly revoker: Pick<CertificateRevoker, 'revoke'>;
  readonly revocations: Pick<RevocationRecords, 'write'>;
  /** The records of this UID, as far as the watch has brought them. */
  readonly recorded: (uid: string) => readonly OnRecord[];
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** Throws when nothing may be issued now. */
  readonly assertMayIssue: () => void;
}

type OnRecord = Pick<Revocation, 'caFingerprint' | 'serials' | 'notAfter'>;

/** The purpose of a certificate. Instants are epoch milliseconds. */
export interface IssueRequest extends Pick<Revocation, 'instance' | 'secret'> {
  /** Of the VirtualClusterInstanceKubeConfig. */
  readonly uid: string;
  /** Of that object: which certificates it has had, and the end of the last. */
  readonly status: Pick<Confirmation, 'serial' | 'boundSerials' | 'notAfter'>;
  /** Serials of the certificates that live on beside the new one. */
  readonly live: readonly number[];
  /** Who the certificate speaks for. */
  readonly requester: string;
  /** The role of the certificate inside. */
  readonly clusterRole: string;
  /** Seconds; 0: as long as the signer likes. */
  readonly certificateTTL?: number;
  readonly end: number;
  /** When this was decided. */
  readonly now: number;
  /** Writes to status which certificates may be bound. None is asked for before it has resolved. */
  readonly nameSerials: (serials: readonly number[]) => Promise<void>;
}

/** A certificate that is bound and that no status confirms yet. */
export interface BoundCertificate {
  readonly serial: number;
  /** PEM. */
  readonly privateKey: string;
  readonly certificate: IssuedCertificate;
}

/** Serials that are tried when others hold their names. */
const maxSerials = 3;
/** With a shorter life the successor would be due at once, again and again. */
const minLifeMs = 10_000;
/** The least that an API server takes. */
const minExpirationSeconds = 600;
/** The life for `certificateTTL: 0` counts as in status when nothing shortens it. */
const oneYearSeconds = 31_536_000;
/** A certificate may outlive the end in status by the least life that an API server grants. */
const beyondEndMs = 15 * 60_000;
/** For how long a target is asked again that may still refuse bindings because of the predecessor. */
const maxDeniedMs = 5_000;

/**
 * Issues client certificates of virtual clusters. What a sudden death leaves behind there has a serial that status has
 * named before, so that the next reconcile finds and removes it. A record says where, should the object be gone by then.
 */
export class CertificateIssuer {
  readonly #options: CertificateIssuerOptions;
  readonly #signing: CertificateSigning;

  constructor(options: CertificateIssuerOptions) {
    this.#options = options;
    this.#signing = new CertificateSigning(options.clock, options.assertMayIssue);
  }

  /** Rejects with a TargetFailure; what was made until then is known by `status.boundSerials`. */
  async issue({ client, config }: OpenTarget, request: IssueRequest): Promise<BoundCertificate> {
    const { revocations, recorded } = this.#options;
    const { uid, live, end, requester, clusterRole, nameSerials } = request;
    const ca = caFingerprint(config);
    const records = recorded(uid);
    const before = records.filter((record) => record.caFingerprint === ca);
    let { status } = request;
    let wasDenied = false;
    for (let tries = 0; tries < maxSerials; tries++) {
      if (await this.#revokeDead(client, { ...request, status }, serialsOf(before))) wasDenied = true;
      const serial = nextSerial(status, serialsOf(records));
      status = { ...status, boundSerials: [...live, serial] };
      const revocation = revocationOf({ ...request, status }, { ca, end, before });
      // At once: no certificate exists before both are written, and RevocationController waits for a status behind its record.
      await allDone(nameSerials([...live, serial]), revocations.write(revocation));
      const asked = await this.#ask(client, request, serial);
      if (asked === undefined) continue;
      const binding = { uid, serial, requester, clusterRole };
      return await this.#finish(client, asked, {
        bind: () => this.#bind(client, binding, wasDenied ? maxDeniedMs : 0),
        // A signer may give more than was asked for. The holder gets no certificate that outlives its record.
        recordUntil: async (notAfter) => {
          if (notAfter > revocation.notAfter)
            await revocations.write(revocationOf({ ...request, status }, { ca, end: notAfter, before }));
        },
      });
    }
    throw targetFailure(reasons.certificateFailed, namesTaken);
  }

  /**
   * The predecessor first of all, unless it is to be valid a while longer: what narrows comes before what widens. What only the
   * record of this target names goes along, because the next one does not name it: the Secret may have led elsewhere when status
   * let go of it. Resolves with true when the target may refuse bindings of this object for a moment more.
   */
  async #revokeDead(
    client: KubeClient,
    { uid, status, live }: IssueRequest,
    recorded: readonly number[],
  ): Promise<boolean> {
    const boundSerials = [...new Set([...(status.boundSerials ?? []), ...recorded])];
    const serials = deadSerials({ ...status, boundSerials }, live);
    return serials.length > 0 && (await this.#options.revoker.revoke(client, { uid, serials, live }));
  }

  /** The binding is made while the signer works, which takes longer. Where that decides on the end, the record says so first. */
  async #finish(client: KubeClient, asked: Asked, { bind, recordUntil }: Finish): Promise<BoundCertificate> {
    const isBoundMeanwhile = asked.expirationSeconds !== undefined;
    const signed = await allDone(this.#read(client, asked), ...(isBoundMeanwhile ? [bind()] : []));
    await recordUntil(signed.certificate.notAfter);
    if (!isBoundMeanwhile) await bind();
    return signed;
  }

  async #bind(client: KubeClient, binding: CertificateBinding, patienceMs: number): Promise<void> {
    const { clock, random, assertMayIssue } = this.#options;
    const deadline = clock.monotonic() + patienceMs;
    const backOff = new BackOff({ initialMs: 200, maxMs: 1_000, random });
    for (;;) {
      try {
        return await bindCertificate(client, binding);
      } catch (error) {
        if (!(error instanceof TargetFailure) || clock.monotonic() >= deadline) throw error;
      }
      await sleep(clock, backOff.next());
      assertMayIssue();
    }
  }

  /** Undefined when the name of the request is taken. */
  async #ask(client: KubeClient, request: IssueRequest, serial: number): Promise<Asked | undefined> {
    const { uid, requester } = request;
    const subject = certificateSubject(uid, serial);
    const made = createCertificateRequest({ commonName: subject, organization: subject });
    const { privateKey, publicKey } = made;
    const limit = defined({ expirationSeconds: expirationSeconds(request) });
    const approved = await this.#signing.request(client, {
      metadata: targetObjectMetadata({ uid, serial, requester }),
      request: made.request,
      ...limit,
    });
    return approved && { approved, serial, subject, privateKey, publicKey, ...limit };
  }

  async #read(client: KubeClient, asked: Asked): Promise<BoundCertificate> {
    const { approved, serial, subject, privateKey, publicKey } = asked;
    const pem = await this.#signing.issued(client, approved);
    const now = this.#options.clock.now() + minLifeMs;
    const reading = readIssuedCertificate(pem, { subject, publicKey, now });
    if ('problem' in reading) throw targetFailure(reasons.certificateFailed, unusable(reading.problem));
    return { serial, privateKey, certificate: reading };
  }
}

interface Finish {
  readonly bind: () => Promise<void>;
  /** Has the record cover a certificate until then, epoch milliseconds. */
  readonly recordUntil: (notAfter: number) => Promise<void>;
}

/** A certificate that the signer may make now. */
interface Asked extends Pick<CertificateRequest, 'privateKey' | 'publicKey'> {
  readonly approved: ApprovedRequest;
  readonly serial: number;
  readonly subject: string;
  /** Absent: the signer decides. */
  readonly expirationSeconds?: number;
}

/**
 * `expirationSeconds` of the signing request for a certificate whose life ends at `end`, decided at `now`. Undefined: the
 * signer decides, because `certificateTTL` is 0 and neither policy, parent nor predecessor ends it earlier. A
 * certificate that outlives its object's end is unbound at that end.
 */
export function expirationSeconds({
  certificateTTL,
  end,
  now,
}: Pick<IssueRequest, 'certificateTTL' | 'end' | 'now'>): number | undefined {
  const rest = Math.ceil((end - now) / 1000);
  return certificateTTL === 0 && rest >= oneYearSeconds ? undefined : Math.max(rest, minExpirationSeconds);
}

/** Waits for all even when one fails: a write still under way could overwrite what follows. Resolves with the first. */
async function allDone<T>(first: Promise<T>, ...others: readonly Promise<void>[]): Promise<T> {
  await Promise.allSettled([first, ...others]);
  const [value] = await Promise.all([first, ...others]);
  return value;
}

const serialsOf = (records: readonly OnRecord[]): readonly number[] =>
  records.flatMap(({ serials }) => serials);

interface RecordedLife {
  readonly ca: string;
  readonly end: number;
  /** The record that is replaced, if any. Its end may be that of a certificate which outlives its end in status. */
  readonly before: readonly OnRecord[];
}

/** The revocation that is due when the object goes; its status names the certificate that is asked for next. */
function revocationOf(
  { uid, status, instance, secret }: IssueRequest,
  { ca, end, before }: RecordedLife,
): Revocation {
  const { boundSerials = [], notAfter = 0 } = status;
  return {
    ownerUID: uid,
    instance,
    secret,
    caFingerprint: ca,
    serials: boundSerials,
    notAfter: Math.max(Math.max(notAfter, end) + beyondEndMs, ...before.map((record) => record.notAfter)),
  };
}

const namesTaken =
  'Other CertificateSigningRequests in the virtual cluster have the names that Latchkey uses: find out who makes them.';

/** The problem is one of a few constant sentences. */
const unusable = (problem: string): string =>
  `The certificate was not used: ${problem}. Look at the signer of the virtual cluster.`;
