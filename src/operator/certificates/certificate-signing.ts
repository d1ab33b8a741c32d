import { defined } from '../../api/json.ts';
import { reasons } from '../../api/reasons.ts';
import { certificateSigningRequests } from '../../api/resources.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import type { Clock } from '../../kube/clock.ts';
import { isAlreadyExists } from '../../kube/kube-error.ts';
import type { KubeObject } from '../../kube/object.ts';
import { sleep } from '../../kube/sleep.ts';
import { atTarget, targetFailure } from '../targets/target-failure.ts';

export interface SigningRequest {
  readonly metadata: { readonly name: string; readonly labels: object; readonly annotations: object };
  /** PKCS #10 in PEM. */
  readonly request: string;
  /** Absent: as long as the signer likes. */
  readonly expirationSeconds?: number;
}

/** By what its answer is told from that to another request. */
export type ApprovedRequest = Pick<KubeObject['metadata'], 'name' | 'uid'>;

interface CertificateSigningRequest extends KubeObject {
  readonly spec?: {
    readonly request?: unknown;
    readonly signerName?: unknown;
    readonly usages?: unknown;
    readonly expirationSeconds?: unknown;
  };
  readonly status?: { readonly conditions?: unknown; readonly certificate?: unknown };
}

const signerName = 'kubernetes.io/kube-apiserver-client';
const usages = ['client auth', 'digital signature'];
const maxWaitMs = 15_000;
const firstPauseMs = 5;
const maxPauseMs = 640;
/** A signature takes 20 to 40 ms: doubled pauses would find it up to as much later. */
const pauseGrowth = 1.3;

/** Has the signer of a virtual cluster sign a request of ours, and nothing else. */
export class CertificateSigning {
  readonly #clock: Clock;
  /** Throws when nothing may be issued now. */
  readonly #assertMayIssue: () => void;

  constructor(clock: Clock, assertMayIssue: () => void) {
    this.#clock = clock;
    this.#assertMayIssue = assertMayIssue;
  }

  /**
   * Has the request in the target and approved. Resolves with undefined when an object of someone else has the name already.
   * Rejects with a TargetFailure.
   */
  async request(client: KubeClient, asked: SigningRequest): Promise<ApprovedRequest | undefined> {
    const created = await this.#create(client, asked);
    if (created === undefined) return undefined;
    if (!isOurRequest(created, asked)) throw altered();
    this.#assertMayIssue();
    const { status: _unset, ...request } = created;
    const approved = { ...request, status: { conditions: [approval] } };
    const key = { name: asked.metadata.name };
    await atTarget(
      async () =>
        await client.replace(certificateSigningRequests, key, approved, { subresource: 'approval' }),
    );
    return created.metadata;
  }

  /** Resolves with the PEM that the signer issued, unchecked. Rejects with a TargetFailure. */
  async issued(client: KubeClient, { name, uid }: ApprovedRequest): Promise<string> {
    const deadline = this.#clock.monotonic() + maxWaitMs;
    for (let pause = firstPauseMs; ; pause = Math.min(pause * pauseGrowth, maxPauseMs)) {
      const request = await atTarget(
        async () => await client.get<CertificateSigningRequest>(certificateSigningRequests, { name }),
      );
      if (request.metadata?.uid !== uid) throw altered();
      const certificate = certificateOf(request);
      if (certificate !== undefined) return certificate;
      if (this.#clock.monotonic() + pause > deadline) throw silent();
      await sleep(this.#clock, pause);
    }
  }

  async #create(client: KubeClient, asked: SigningRequest): Promise<CertificateSigningRequest | undefined> {
    const { metadata, request, expirationSeconds } = asked;
    const object = {
      apiVersion: 'certificates.k8s.io/v1',
      kind: 'CertificateSigningRequest',
      metadata,
      spec: {
        request: base64(request),
        signerName,
        usages,
        ...defined({ expirationSeconds }),
      },
    };
    return await atTarget(async () => {
      try {
        return await client.create<CertificateSigningRequest>(certificateSigningRequests, object);
      } catch (error) {
        if (isAlreadyExists(error)) return undefined;
        throw error;
      }
    });
  }
}

/** The request is compared as it was sent: what was approved is what the signer signs. */
function isOurRequest({ metadata, spec }: CertificateSigningRequest, asked: SigningRequest): boolean {
  return (
    typeof metadata?.uid === 'string' &&
    typeof metadata.resourceVersion === 'string' &&
    metadata.name === asked.metadata.name &&
    spec?.request === base64(asked.request) &&
    spec.signerName === signerName &&
    JSON.stringify(spec.usages) === JSON.stringify(usages) &&
    spec.expirationSeconds === asked.expirationSeconds
  );
}

/** @throws TargetFailure when the request was denied or has failed. */
function certificateOf({ status }: CertificateSigningRequest): string | undefined {
  const conditions = Array.isArray(status?.conditions) ? status.conditions : [];
  const has = (type: string) => conditions.some((condition) => condition?.type === type);
  if (has('Denied')) throw targetFailure(reasons.certificateDenied, messages.denied);
  if (has('Failed')) throw targetFailure(reasons.certificateFailed, messages.failed);
  const certificate = status?.certificate;
  if (typeof certificate !== 'string' || certificate === '') return undefined;
  return Buffer.from(certificate, 'base64').toString('latin1');
}

const approval = {
  type: 'Approved',
  status: 'True',
  reason: 'LatchkeyIssued',
  message: 'Latchkey made this request itself, for a VirtualClusterInstanceKubeConfig.',
};

const messages = {
  denied:
    'The request for the certificate was denied in the virtual cluster: find out who or what denies it.',
  failed:
    'The signer of the virtual cluster could not sign: look at the CertificateSigningRequest and the signer there.',
  altered:
    'The request for the certificate was changed in the virtual cluster, so it was not approved: look at its admission webhooks.',
  silent:
    'The signer of the virtual cluster has issued nothing in 15 seconds: check that it signs for kubernetes.io/kube-apiserver-client.',
};

const altered = () => targetFailure(reasons.certificateFailed, messages.altered);
const silent = () => targetFailure(reasons.certificateTimeout, messages.silent);
const base64 = (text: string): string => Buffer.from(text).toString('base64');
