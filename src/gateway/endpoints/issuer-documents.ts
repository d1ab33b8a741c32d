import { asObject } from '../../api/json.ts';
import { systemNamespace, systemObjects } from '../../api/names.ts';
import { configMaps } from '../../api/resources.ts';
import { issuerDocuments } from '../../credentials/tokens/discovery.ts';
import { Store, type StoredRecord } from '../../kube/cache/store.ts';
import { provenWatches } from '../../kube/cache/watch-requests.ts';
import { type KubeObject, keyOf } from '../../kube/object.ts';
import { type InformerSource, Informers, type InformersOptions } from '../../platform/informers.ts';
import { toPublicDocument } from './public-document.ts';
import type { IssuerDocumentSource, PublicDocument } from './shared/endpoint.ts';

interface PublishedRecord extends StoredRecord {
  /** By path. */
  readonly documents: ReadonlyMap<string, PublicDocument>;
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

  find(path: string): PublicDocument | undefined {
    if (this.#informers.unsynced() !== undefined) return undefined;
    if (this.#informers.stale(this.#staleAfterMs) !== undefined) return undefined;
    return this.#store.get(`${systemNamespace}/${systemObjects.discovery}`)?.documents.get(path);
  }
}

/** Of the ConfigMap. An entry that is not there is not served. */
export function toPublishedRecord(object: KubeObject): PublishedRecord {
  const data = asObject((object as { readonly data?: unknown }).data);
  const documents = new Map<string, PublicDocument>();
  for (const { entry, path } of [discovery, keySet]) {
    const text = data[entry];
    if (typeof text !== 'string') continue;
    // Longer, and an API server that reads them would take no new key meanwhile.
    const maxAgeSeconds = 30;
    documents.set(path, toPublicDocument(text, { contentType: contentTypes.get(path) ?? '', maxAgeSeconds }));
  }
  const { uid = '', resourceVersion = '' } = object.metadata;
  return { key: keyOf(object.metadata), uid, resourceVersion, documents };
}
