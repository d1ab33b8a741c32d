import { createPublicKey } from 'node:crypto';
import type { KubeClient } from '../../../src/kube/client/client.ts';
import { makeIdentity } from '../../../src/kube/client/client-identity.ts';
import type { RawResponse } from '../../../src/kube/client/response-collector.ts';
import type { RequestTransport, TransportRequest } from '../../../src/kube/client/transport.ts';
import type { Clock } from '../../../src/kube/clock.ts';
import { badAnswer, KubeError, kubeErrorFromStatus } from '../../../src/kube/kube-error.ts';
import { keyOf } from '../../../src/kube/object.ts';
import { createUntrustedClient } from '../../../src/platform/targets/untrusted/untrusted-answers.ts';
import { readCertificateRequest } from '../../builders/certificate-request.ts';
import { certificateOf, usages } from '../../builders/issued-certificate.ts';
import { type Fate, MemoryApi, type StoredObject } from './memory-api.ts';

/** Acts as the signer of an approved request: returns the PEM that it issues, or nothing. */
export type Signer = (request: StoredObject) => string | undefined;

const requests = 'certificatesigningrequests';

/** As for targets, so that what is too large there is too large here. */
const limits = { maxObjectBytes: 16 * 2 ** 20, maxSingleBytes: 16 * 2 ** 20 };

/** The subject of a request, read from its path as an API server reads it. */
interface Asked {
  readonly plural: string;
  /** `name` or `namespace/name`; absent: all of them. */
  readonly key: string | undefined;
  /** Absent: all of them. */
  readonly namespace: string | undefined;
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
  /** Changes a request before the API server stores it, as an admission webhook may. */
  admit: (request: StoredObject) => StoredObject = (request) => request;
  /** Thrown by every request, when set. */
  failure: Error | undefined;
  /** The most that the client reads of a list. Default: as for targets. */
  maxListBytes = 4 * 2 ** 20;
  /** A proxy in front of it drops the bodies of deletions. */
  withoutBodies = false;
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
      overOneConnection: () => transport,
      close: async () => undefined,
    };
    const random = () => 0.5;
    return createUntrustedClient({
      ...limits,
      maxListBytes: this.maxListBytes,
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
    if (request.path.length + (request.query ?? '').length > maxAddressLength)
      return { status: 431, body: '' };
    try {
      const status = request.method === 'POST' ? 201 : 200;
      const asked = askedOf(request);
      const isBare = this.withoutBodies && request.method === 'DELETE';
      return { status, body: await this.#effectOf(request.method, isBare ? { ...asked, body: {} } : asked) };
    } catch (error) {
      if (!(error instanceof KubeError) || error.code !== 'ERR_KUBE_STATUS') throw error;
      const { status: code, reason } = error;
      return { status: code, body: { kind: 'Status', status: 'Failure', reason, code } };
    }
  }

  async #effectOf(method: string, asked: Asked): Promise<unknown> {
    const { plural, key, subresource, body } = asked;
    const { client } = this.api;
    const options = subresource === undefined ? {} : { subresource };
    const resource = { plural } as never;
    if (key === undefined) {
      if (method === 'GET') return this.#list(asked);
      if (method === 'DELETE') return await this.#deleteAll(asked);
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

  /** As an API server does: one object after the other, up to the first that does not fit the preconditions. */
  async #deleteAll(asked: Asked): Promise<unknown> {
    const { plural, query, body } = asked;
    const { preconditions = {} } = body as { preconditions?: object };
    const page = this.#page(asked);
    // Without a body the query holds the options.
    if (Object.keys(body).length === 0 && query.get('dryRun') === 'All') return this.#list(asked);
    for (const { metadata } of page.items)
      await this.api.client.delete({ plural } as never, metadata, { preconditions });
    return { kind: 'Status', status: 'Success' };
  }

  #list(asked: Asked) {
    const { items, end } = this.#page(asked);
    const marker = end === undefined ? {} : { continue: pageMarker(`${end}\0`) };
    return { metadata: { resourceVersion: '1', ...marker }, items: items.map(asShown) };
  }

  /** In the order of their keys. `end`: the key that the page ends with, when there are more. */
  #page({ plural, namespace, query }: Asked) {
    const [label = '', value] = (query.get('labelSelector') ?? '').split('=');
    const prefix = namespace === undefined ? '' : `${namespace}/`;
    const from = startOfPage(query.get('continue'));
    const limit = Number(query.get('limit') ?? Number.POSITIVE_INFINITY);
    const rest = this.api
      .all(plural)
      .filter(({ metadata }) => isSelected(metadata.labels?.[label], label, value))
      .map((item) => ({ key: keyOf(item.metadata), item }))
      .filter(({ key }) => key.startsWith(prefix))
      .map(({ key, item }) => ({ key: key.slice(prefix.length), item }))
      .filter(({ key }) => key >= from)
      .sort((one, other) => (one.key < other.key ? -1 : 1));
    const page = rest.slice(0, limit);
    return {
      items: page.map(({ item }) => item),
      end: page.length < rest.length ? page.at(-1)?.key : undefined,
    };
  }
}

/** `label=value`, or `label` for every value. */
const isSelected = (found: string | undefined, label: string, value: string | undefined): boolean =>
  label === '' || (value === undefined ? found !== undefined : found === value);

const maxAddressLength = 2 ** 20;

/** A byte that is no UTF-8 is kept as the second half of a surrogate pair, and shown as API servers show it in JSON. */
const withoutBytes = (text: string): string =>
  text.replaceAll(/(?<![\ud800-\udbff])[\udc80-\udcff]/g, '\ufffd');

const asShown = (item: StoredObject): StoredObject => ({
  ...item,
  metadata: { ...item.metadata, name: withoutBytes(String(item.metadata.name)) },
});

/** As an API server writes them: unknown bytes in a key make a marker that leads to another place. */
const pageMarker = (start: string): string =>
  Buffer.from(JSON.stringify({ v: 'meta.k8s.io/v1', rv: 7, start: withoutBytes(start) })).toString(
    'base64url',
  );

function startOfPage(marker: string | null): string {
  if (marker === null) return '';
  const { start } = JSON.parse(Buffer.from(marker, 'base64url').toString());
  if (start === '' || start === '.' || start === '..') throw refusal(400, 'BadRequest');
  return start;
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
    namespace,
    subresource,
    query: new URLSearchParams(query),
    body: JSON.parse(body),
  };
}

/** As the API server refuses. */
export const refusal = (code: number, reason: string): Error =>
  kubeErrorFromStatus({ verb: 'GET', path: '/in/memory' }, code, { kind: 'Status', reason, code });
