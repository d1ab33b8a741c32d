import { createHash } from 'node:crypto';
import { asObject } from '../../api/json.ts';
import { systemNamespace, systemObjects } from '../../api/names.ts';
import { configMaps } from '../../api/resources.ts';
import { issuerDocuments } from '../../credentials/tokens/discovery.ts';
import { Store, type StoredRecord } from '../../kube/cache/store.ts';
import { provenWatches } from '../../kube/cache/watch-requests.ts';
import { type KubeObject, keyOf } from '../../kube/object.ts';
import { type InformerSource, Informers, type InformersOptions } from '../../platform/informers.ts';
import { authenticate } from '../gate/authenticate.ts';
import { type ErrorAnswer, errorAnswer, hasBody } from '../server/error-answer.ts';
import type {
  EndpointServices,
  Exchange,
  IssuerDocument,
  IssuerDocumentSource,
  PublicEndpoint,
} from './shared/endpoint.ts';

interface PublishedRecord extends StoredRecord {
  /** By path. */
  readonly documents: ReadonlyMap<string, IssuerDocument>;
}

interface IssuerDocumentsOptions extends InformersOptions {
  /** Without a proof that they are current for this long, no document is served: a key in it may be withdrawn. */
  readonly staleAfterMs: number;
}

const { discovery, keySet } = issuerDocuments;
const contentTypes: ReadonlyMap<string, string> = new Map([
  [discovery.path, 'application/json'],
  [keySet.path, 'application/jwk-set+json'],
]);

/**
 * The documents that the operator publishes. They are watched apart from the credentials: while they cannot be read, credentials
 * are served on.
 */
export class IssuerDocuments implements IssuerDocumentSource {
  readonly #informers: Informers;
  readonly #store = new Store<PublishedRecord>();
  readonly #staleAfterMs: number;

  constructor(options: IssuerDocumentsOptions) {
    this.#staleAfterMs = options.staleAfterMs;
    this.#informers = new Informers(options);
    const source: InformerSource<PublishedRecord> = {
      ...provenWatches,
      resource: configMaps,
      namespace: systemNamespace,
      fieldSelector: `metadata.name=${systemObjects.discovery}`,
      store: this.#store,
      toRecord: toPublishedRecord,
    };
    this.#informers.add('issuer-documents', source);
  }

  /** Works until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#informers.run(signal);
  }

  find(path: string): IssuerDocument | undefined {
    if (this.#informers.unsynced() !== undefined) return undefined;
    if (this.#informers.stale(this.#staleAfterMs) !== undefined) return undefined;
    return this.#store.get(`${systemNamespace}/${systemObjects.discovery}`)?.documents.get(path);
  }
}

/** Of the ConfigMap. An entry that is not there is not served. */
export function toPublishedRecord(object: KubeObject): PublishedRecord {
  const data = asObject((object as { readonly data?: unknown }).data);
  const documents = new Map<string, IssuerDocument>();
  for (const { entry, path } of [discovery, keySet]) {
    const text = data[entry];
    if (typeof text !== 'string') continue;
    const etag = `"${createHash('sha256').update(text).digest('hex').slice(0, 32)}"`;
    documents.set(path, { contentType: contentTypes.get(path) ?? '', text, etag });
  }
  const { uid = '', resourceVersion = '' } = object.metadata;
  return { key: keyOf(object.metadata), uid, resourceVersion, documents };
}

/** For reads of one document, of which one address may ask for so many. A live credential may always. */
export function publicDocument(
  path: string,
  { issuer, issuerReads, index, clock, clientAddress }: EndpointServices,
): PublicEndpoint {
  return {
    methods: ['GET', 'HEAD'],
    answer: (exchange) => {
      const { request, response } = exchange;
      // Counted apart from misses: a client nearby with an old credential must not keep a verifier from the keys.
      if (issuerReads.isTooMany(clientAddress(request))) {
        if (!('verdict' in authenticate(request, { index, clock }))) {
          response.shouldKeepAlive = false;
          return tooManyReads;
        }
      }
      return sendDocument(exchange, issuer.find(path));
    },
  };
}

function sendDocument(
  { request, response }: Exchange,
  document: IssuerDocument | undefined,
): ErrorAnswer | undefined {
  if (document === undefined) return unpublished;
  if (hasBody(request)) response.shouldKeepAlive = false;
  const { text, etag, contentType } = document;
  // Longer, and an API server that reads them would take no new key meanwhile.
  const headers = { etag, 'cache-control': 'max-age=30', 'x-content-type-options': 'nosniff' };
  if (names(request.headers['if-none-match'], etag)) {
    response.writeHead(304, headers).end();
    return undefined;
  }
  const length = Buffer.byteLength(text);
  response.writeHead(200, { ...headers, 'content-type': contentType, 'content-length': length });
  response.end(request.method === 'HEAD' ? undefined : text);
  return undefined;
}

/** A proxy that packs answers weakens the tag. */
const names = (tags: string | undefined, etag: string): boolean =>
  tags?.split(',').some((tag) => ['*', etag].includes(tag.trim().replace(/^W\//, ''))) === true;

const unpublished = errorAnswer('ERR_ISSUER_UNKNOWN', {}, { headers: ['retry-after', '5'] });
const tooManyReads = errorAnswer('ERR_TOO_MANY_UNAUTHENTICATED', {}, { headers: ['retry-after', '10'] });
