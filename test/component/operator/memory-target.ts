import { createPublicKey } from 'node:crypto';
import type { Resource } from '../../../src/api/resources.ts';
import type { KubeClient, ObjectKey } from '../../../src/kube/client/client.ts';
import type { ListOptions } from '../../../src/kube/client/client-options.ts';
import { kubeErrorFromStatus } from '../../../src/kube/kube-error.ts';
import { readCertificateRequest } from '../../builders/certificate-request.ts';
import { certificateOf, usages } from '../../builders/issued-certificate.ts';
import { type Fate, MemoryApi, type StoredObject } from './memory-api.ts';

/** What a signer does with an approved request: the PEM that it issues, or nothing. */
export type Signer = (request: StoredObject) => string | undefined;

const requests = 'certificatesigningrequests';

/** An API server in memory that stands for a virtual cluster and signs what is approved. */
export class MemoryTarget {
  readonly api: MemoryApi;
  /** Seconds from now that a certificate lives when the request names none. */
  signerLife = 31_536_000;
  sign: Signer = (request) => this.issue(request);
  /** What the API server makes of a request before it stores it, as an admission webhook may. */
  admit: (request: StoredObject) => StoredObject = (request) => request;
  /** Thrown by every request, when set. */
  failure: Error | undefined;
  readonly #now: () => number;

  constructor(now: () => number, fates: () => Fate) {
    this.api = new MemoryApi(now, fates);
    this.#now = now;
  }

  get client(): KubeClient {
    const base = this.api.client;
    const client = {
      ...base,
      create: (resource: Resource, object: StoredObject) =>
        this.#answer(() => base.create(resource, resource.plural === requests ? this.admit(object) : object)),
      get: (resource: Resource, key: ObjectKey) => this.#answer(() => this.#get(base, resource, key)),
      list: (resource: Resource, options: ListOptions) =>
        this.#answer(async () => this.#list(resource, options)),
      delete: (...parts: Parameters<KubeClient['delete']>) => this.#answer(() => base.delete(...parts)),
      replace: (...parts: Parameters<KubeClient['replace']>) => this.#answer(() => base.replace(...parts)),
      mergePatch: (...parts: Parameters<KubeClient['mergePatch']>) =>
        this.#answer(() => base.mergePatch(...parts)),
    };
    return client as unknown as KubeClient;
  }

  /** The certificate that an honest signer issues. */
  issue({ spec = {} }: StoredObject): string {
    const { publicKey, subject } = readCertificateRequest(
      Buffer.from(String(spec['request']), 'base64').toString(),
    );
    const seconds = Math.min(Number(spec['expirationSeconds'] ?? this.signerLife), this.signerLife);
    return certificateOf({
      publicKey: createPublicKey({ key: publicKey, format: 'der', type: 'spki' }),
      subject: subject.flat().map(({ oid, text }) => [oid === '2.5.4.3' ? 'CN' : 'O', text] as const),
      notAfter: new Date(this.#now() + seconds * 1000),
      usages: [usages.client],
    });
  }

  names(plural: string): string[] {
    return this.api.all(plural).map(({ metadata }) => metadata.name);
  }

  #answer<T>(work: () => Promise<T>): Promise<T> {
    return this.failure === undefined ? work() : Promise.reject(this.failure);
  }

  async #get(base: KubeClient, resource: Resource, key: ObjectKey): Promise<StoredObject> {
    const found = await base.get<StoredObject>(resource, key);
    const conditions = (found.status?.['conditions'] ?? []) as { type: string }[];
    const isApproved = conditions.some(({ type }) => type === 'Approved');
    if (resource.plural !== requests || !isApproved || found.status?.['certificate'] !== undefined)
      return found;
    const pem = this.sign(found);
    if (pem === undefined) return found;
    const certificate = Buffer.from(pem).toString('base64');
    return this.api.patch(requests, key.name, { status: { certificate } }, { subresource: 'status' });
  }

  #list({ plural }: Resource, { labelSelector, limit = 500, continue: from = '0' }: ListOptions) {
    const [label = '', value] = (labelSelector ?? '').split('=');
    const all = this.api
      .all(plural)
      .filter(({ metadata }) => labelSelector === undefined || metadata.labels?.[label] === value);
    const end = Number(from) + limit;
    const items = structuredClone(all.slice(Number(from), end));
    return {
      metadata: { resourceVersion: '1', ...(end < all.length ? { continue: String(end) } : {}) },
      items,
    };
  }
}

/** As the API server refuses. */
export const refusal = (code: number, reason: string): Error =>
  kubeErrorFromStatus({ verb: 'GET', path: '/in/memory' }, code, { kind: 'Status', reason, code });
