import { createPublicKey } from 'node:crypto';
import { createKubeClient, type KubeClient } from '../../../src/kube/client/client.ts';
import { makeIdentity } from '../../../src/kube/client/client-identity.ts';
import type { RawResponse } from '../../../src/kube/client/response-collector.ts';
import type { RequestTransport, TransportRequest } from '../../../src/kube/client/transport.ts';
import type { Clock } from '../../../src/kube/clock.ts';
import { badAnswer, KubeError, kubeErrorFromStatus } from '../../../src/kube/kube-error.ts';
import { keyOf } from '../../../src/kube/object.ts';
import { readCertificateRequest } from '../../builders/certificate-request.ts';
import { certificateOf, usages } from '../../builders/issued-certificate.ts';
import { type Fate, MemoryApi, type StoredObject } from './memory-api.ts';

/** What a signer does with an approved request: the PEM that it issues, or nothing. */
export type Signer = (request: StoredObject) => string | undefined;

const requests = 'certificatesigningrequests';

/** As for targets, so that what is too large there is too large here. */
const limits = { maxObjectBytes: 16 * 2 ** 20, maxListBytes: 4 * 2 ** 20, maxSingleBytes: 16 * 2 ** 20 };

/** What a request is about, read from its path as an API server reads it. */
interface Asked {
  readonly plural: string;
  /** `name` or `namespace/name`; absent: all of them. */
  readonly key: string | undefined;
  readonly subresource: string | undefined;
  readonly query: URLSearchParams;
  readonly body: Record<string, unknown>;
}

/**
 * An API server in memory that stands for a virtual cluster and signs what is approved. It is spoken to by the client
 * that speaks to targets: all it gives is the text of an answer, which is checked as that of a stranger.
 */
export class MemoryTarget {
  readonly api: MemoryApi;
  /** Seconds from now that a certificate lives when the request names none. */
  signerLife = 31_536_000;
  sign: Signer = (request) => this.issue(request);
  /** What the API server makes of a request before it stores it, as an admission webhook may. */
  admit: (request: StoredObject) => StoredObject = (request) => request;
  /** Thrown by every request, when set. */
  failure: Error | undefined;
  /** Called with each request before it is dealt with. */
  onRequest: (request: TransportRequest) => void = () => undefined;
  readonly #clock: Clock;

  constructor(clock: Clock, fates: () => Fate) {
    this.api = new MemoryApi(() => clock.now(), fates);
    this.#clock = clock;
  }

  get client(): KubeClient {
    const identity = makeIdentity(new URL('https://10.0.0.1'), { ca: 'the authority' }, []);
    const transport: RequestTransport = {
      send: async (request) => await this.#answer(request),
      stream: () => Promise.reject(new Error('there are no watches in memory')),
      close: async () => undefined,
    };
    const random = () => 0.5;
    return createKubeClient({
      ...limits,
      ...{ identity, transport, clock: this.#clock, random, userAgent: 'tester/1' },
    });
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
      notAfter: new Date(this.#clock.now() + seconds * 1000),
      usages: [usages.client],
    });
  }

  names(plural: string): string[] {
    return this.api.all(plural).map(({ metadata }) => metadata.name);
  }

  async #answer(request: TransportRequest): Promise<RawResponse> {
    this.onRequest(request);
    if (this.failure !== undefined) throw this.failure;
    const { method, path, maxBytes } = request;
    const { status, body } = await this.#outcomeOf(request);
    const text = JSON.stringify(body);
    if (Buffer.byteLength(text) > maxBytes) throw badAnswer({ verb: method, path }, 'too large', status);
    return { status, headers: {}, body: text };
  }

  async #outcomeOf(request: TransportRequest): Promise<{ status: number; body: unknown }> {
    try {
      const status = request.method === 'POST' ? 201 : 200;
      return { status, body: await this.#effectOf(request.method, askedOf(request)) };
    } catch (error) {
      if (!(error instanceof KubeError) || error.code !== 'ERR_KUBE_STATUS') throw error;
      const { status: code, reason } = error;
      return { status: code, body: { kind: 'Status', status: 'Failure', reason, code } };
    }
  }

  async #effectOf(method: string, { plural, key, subresource, query, body }: Asked): Promise<unknown> {
    const { client } = this.api;
    const options = subresource === undefined ? {} : { subresource };
    const resource = { plural } as never;
    if (key === undefined) {
      if (method === 'GET') return this.#list(plural, query);
      const draft = body as unknown as StoredObject;
      return await client.create(resource, plural === requests ? this.admit(draft) : draft);
    }
    const place = { name: key };
    if (method === 'GET') return await this.#get(plural, key);
    if (method === 'PUT') return await client.replace(resource, place, body, options);
    if (method === 'PATCH') return await client.mergePatch(resource, place, body, options);
    const { preconditions = {} } = body as { preconditions?: object };
    await client.delete(resource, place, { preconditions });
    return { kind: 'Status', status: 'Success' };
  }

  async #get(plural: string, key: string): Promise<StoredObject> {
    const found = await this.api.client.get<StoredObject>({ plural } as never, { name: key });
    const conditions = (found.status?.['conditions'] ?? []) as { type: string }[];
    const isApproved = conditions.some(({ type }) => type === 'Approved');
    if (plural !== requests || !isApproved || found.status?.['certificate'] !== undefined) return found;
    const pem = this.sign(found);
    if (pem === undefined) return found;
    const certificate = Buffer.from(pem).toString('base64');
    return this.api.patch(requests, key, { status: { certificate } }, { subresource: 'status' });
  }

  /** In the order of their keys. As that of an API server, a page marker holds the key that the page ends with. */
  #list(plural: string, query: URLSearchParams) {
    const [label = '', value] = (query.get('labelSelector') ?? '').split('=');
    const from = query.get('continue');
    const limit = Number(query.get('limit') ?? Number.POSITIVE_INFINITY);
    const rest = this.api
      .all(plural)
      .filter(({ metadata }) => label === '' || metadata.labels?.[label] === value)
      .map((item) => ({ key: keyOf(item.metadata), item }))
      .filter(({ key }) => from === null || key > from)
      .sort((one, other) => (one.key < other.key ? -1 : 1));
    const page = rest.slice(0, limit);
    const marker = page.length < rest.length ? { continue: page.at(-1)?.key } : {};
    return { metadata: { resourceVersion: '1', ...marker }, items: page.map(({ item }) => item) };
  }
}

const pathForm =
  /^\/(?:api|apis\/[^/]+)\/[^/]+(?:\/namespaces\/(?<namespace>[^/]+))?\/(?<plural>[^/]+)(?:\/(?<name>[^/]+))?(?:\/(?<subresource>[^/]+))?$/;

function askedOf({ path, query, body = '{}' }: TransportRequest): Asked {
  const { namespace, plural = '', name, subresource } = pathForm.exec(path)?.groups ?? {};
  const part = (text: string) => decodeURIComponent(text);
  const place = namespace === undefined ? {} : { namespace: part(namespace) };
  return {
    plural,
    key: name === undefined ? undefined : keyOf({ ...place, name: part(name) }),
    subresource,
    query: new URLSearchParams(query),
    body: JSON.parse(body),
  };
}

/** As the API server refuses. */
export const refusal = (code: number, reason: string): Error =>
  kubeErrorFromStatus({ verb: 'GET', path: '/in/memory' }, code, { kind: 'Status', reason, code });
