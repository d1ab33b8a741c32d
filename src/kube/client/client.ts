import type { LookupFunction } from 'node:net';
import type { KubeConfig } from '@kubernetes/client-node';
import { asObject, defined } from '../../api/json.ts';
import type { Resource } from '../../api/resources.ts';
import { type Logger, silentLogger } from '../../logger.ts';
import { type Clock, systemClock } from '../clock.ts';
import type { KubeList, KubeObject, ObjectKey } from '../object.ts';
import { collectionPath, objectPath } from '../resource-path.ts';
import { type AnswerGuard, type Asked, asTheyCome } from './answer-guard.ts';
import { Authentication } from './authentication.ts';
import type { ByteLane } from './byte-budget.ts';
import { type ClientIdentity, fixedIdentity, hardenedTls, type IdentitySource } from './client-identity.ts';
import {
  type ApplyOptions,
  type DeleteOptions,
  type ListOptions,
  listQuery,
  type RawRequestOptions,
  type RequestOptions,
  type WriteOptions,
  writeQuery,
} from './client-options.ts';
import { type Impersonation, impersonating } from './impersonation.ts';
import { fixedSource, type KubeConfigSource } from './kube-config.ts';
import { metadataOnly } from './metadata-only.ts';
import { type ObservedRequest, type RequestInit, RequestSender } from './request-sender.ts';
import type { SilenceReports } from './silence-reports.ts';
import { type RequestTransport, Transport } from './transport.ts';
import { type WatchEvent, type WatchStreamOptions, watchEvents } from './watch-stream.ts';

export type { ObjectKey } from '../object.ts';
export type {
  ApplyOptions,
  DeleteOptions,
  ListOptions,
  RawRequestOptions,
  RequestOptions,
  WriteOptions,
} from './client-options.ts';

interface ClientOptions {
  readonly userAgent: string;
  readonly clock?: Clock;
  readonly random?: () => number;
  /** Called right before each write goes out, retries included; throws when this process may not write (now). */
  readonly writeGuard?: () => void;
  /** Connections for short requests. Default 16. */
  readonly connections?: number;
  /** Connections for watches; one more watch waits. Default 128. */
  readonly watchConnections?: number;
  /** Requests that may wait for a connection; one more fails at once. Default 1,000. */
  readonly maxWaiting?: number;
  /** Default 10 s. */
  readonly timeoutMs?: number;
  /** How often a request is sent again: see `retries` of a single one. Default 4. */
  readonly retries?: number;
  /** The largest answer that is one object. Default 16 MiB. */
  readonly maxObjectBytes?: number;
  /** The largest answer that is a list. Default 256 MiB. */
  readonly maxListBytes?: number;
  /** The same for a list with `limit: 1`, which is asked for when a larger page exceeds the limit. Default as `maxListBytes`. */
  readonly maxSingleBytes?: number;
  /** The transport of the requests. Default: connections of the client's own. */
  readonly transport?: RequestTransport;
  /** Called after each short request, for metrics. */
  readonly observe?: (request: ObservedRequest) => void;
  /** Shared with the other clients of the same API server. */
  readonly reports?: SilenceReports;
}

export interface KubeClientOptions extends ClientOptions {
  /** Our own credentials. Files are read again while the client runs; a whole kubeconfig only from a source. */
  readonly kubeConfig: KubeConfig | KubeConfigSource;
  readonly log?: Logger;
  /** How long credentials are used before their files are looked at again. Default 20 s. */
  readonly refreshMs?: number;
}

/**
 * For an API server that others chose. Neither its address nor its answers are trusted: the guard of answers judges them all.
 */
export interface UntrustedClientOptions extends ClientOptions {
  readonly identity: ClientIdentity;
  readonly answers: AnswerGuard;
  /** Decides what may be dialled, at each connection: resolves names, and is asked about addresses too. */
  readonly lookup?: LookupFunction;
  /** Of what is shared with other clients, for large answers. */
  readonly budget?: ByteLane;
}

interface Patch {
  readonly resource: Resource;
  readonly key: ObjectKey;
  readonly body: object;
  readonly contentType: string;
}

/** One object weighs at most 1.5 MiB in etcd; JSON escapes and managed fields make it a few times that. */
const defaultObjectBytes = 16 * 2 ** 20;
/** A page of 500 objects of half a mebibyte. */
const defaultListBytes = 256 * 2 ** 20;

/** Makes the client of one API server. Close it to end its connections. */
export function createKubeClient(options: KubeClientOptions | UntrustedClientOptions): KubeClient {
  return new KubeClient(options);
}

/**
 * Requests to the API server as plain JSON: objects go out and come back with every field, known to us or not. Each
 * method rejects with a KubeError, with the reason of the signal, or with what the write guard threw.
 */
export class KubeClient {
  readonly #options: KubeClientOptions | UntrustedClientOptions;
  readonly #transport: RequestTransport;
  readonly #sender: RequestSender;
  readonly #clock: Clock;
  readonly #limits: { readonly object: number; readonly list: number; readonly single: number };
  readonly #answers: AnswerGuard;

  constructor(options: KubeClientOptions | UntrustedClientOptions) {
    const { clock = systemClock, random = Math.random } = options;
    this.#options = options;
    this.#clock = clock;
    this.#answers = 'answers' in options ? options.answers : asTheyCome;
    this.#limits = {
      object: options.maxObjectBytes ?? defaultObjectBytes,
      list: options.maxListBytes ?? defaultListBytes,
      single: options.maxSingleBytes ?? options.maxListBytes ?? defaultListBytes,
    };
    this.#transport = options.transport ?? transportOf(options, clock);
    const isUntrusted = 'identity' in options;
    const transport = this.#transport;
    this.#sender = new RequestSender({ ...options, transport, clock, random, isUntrusted });
  }

  /**
   * The same client for somebody else: its requests go out over the same connections, as this process, and the API
   * server carries them out as `who`. Throws a TypeError for a name that no request may carry.
   */
  as(who: Impersonation): KubeClient {
    return new KubeClient({ ...this.#options, transport: impersonating(this.#transport, who) });
  }

  /** The same client for lists and watches of objects of which only `metadata` counts. */
  metadataOnly(): Pick<KubeClient, 'list' | 'watch' | 'overOneConnection'> {
    return new KubeClient({ ...this.#options, transport: metadataOnly(this.#transport) });
  }

  /**
   * The same client over one connection of its own, for requests that must reach the same server one after the other:
   * when the connection has ended, what follows fails. Close it.
   */
  overOneConnection(): KubeClient {
    return new KubeClient({ ...this.#options, transport: this.#transport.overOneConnection() });
  }

  get<T extends KubeObject>(resource: Resource, key: ObjectKey, options: RequestOptions = {}): Promise<T> {
    return this.#send<T>({ method: 'GET', resource, path: this.#pathOf(resource, key) }, options);
  }

  /** One page, or everything when no limit is given. */
  list<T extends KubeObject>(resource: Resource, options: ListOptions = {}): Promise<KubeList<T>> {
    const path = this.#pathOfAll(resource, options.namespace);
    const query = listQuery(options).toString();
    const { limit } = options;
    return this.#send({ method: 'GET', resource, path, query, list: { limit } }, options);
  }

  /** An object without a name needs `metadata.generateName`. */
  create<T extends KubeObject>(
    resource: Resource,
    object: object,
    options: WriteOptions & { readonly namespace?: string } = {},
  ): Promise<T> {
    const path = this.#pathOfAll(resource, options.namespace);
    return this.#send({ method: 'POST', resource, path, query: writeQuery(options), body: object }, options);
  }

  /** PUT: `object` must hold every field that shall stay, and the resourceVersion that it was made from. */
  replace<T extends KubeObject>(
    resource: Resource,
    key: ObjectKey,
    object: object,
    options: WriteOptions = {},
  ): Promise<T> {
    const path = this.#pathOf(resource, key, options.subresource);
    return this.#send({ method: 'PUT', resource, path, query: writeQuery(options), body: object }, options);
  }

  /** `metadata.uid` and `metadata.resourceVersion` in the patch are preconditions: see `isConflict`. */
  mergePatch<T extends KubeObject>(
    resource: Resource,
    key: ObjectKey,
    patch: object,
    options: WriteOptions = {},
  ): Promise<T> {
    return this.#patch({ resource, key, body: patch, contentType: 'application/merge-patch+json' }, options);
  }

  /** Server-side apply; creates the object where it is not there. */
  apply<T extends KubeObject>(
    resource: Resource,
    key: ObjectKey,
    object: object,
    options: ApplyOptions,
  ): Promise<T> {
    return this.#patch({ resource, key, body: object, contentType: 'application/apply-patch+yaml' }, options);
  }

  /** Resolves with whether it is gone: something may hold it, such as a finalizer. */
  async delete(resource: Resource, key: ObjectKey, options: DeleteOptions = {}): Promise<boolean> {
    const { preconditions, propagationPolicy, dryRun } = options;
    const body = {
      kind: 'DeleteOptions',
      apiVersion: 'v1',
      preconditions,
      propagationPolicy,
      ...(dryRun ? { dryRun: ['All'] } : {}),
    };
    const path = this.#pathOf(resource, key);
    const answer = await this.#send<unknown>({ method: 'DELETE', resource, path, body }, options);
    return asObject(answer)['kind'] === 'Status';
  }

  /** Anything else, such as `/version` or an access review. Every method but GET and HEAD counts as a write. */
  request<T>(method: string, path: string, options: RawRequestOptions = {}): Promise<T> {
    const { query, body, contentType } = options;
    const sent = { method, path, ...defined({ query: query?.toString(), body, contentType }) };
    return this.#send<T>(sent, options);
  }

  /** For reflectors: the events of one watch, until it ends. */
  watch(
    path: string,
    query: URLSearchParams,
    options: Omit<WatchStreamOptions, 'clock' | 'reports'>,
  ): AsyncIterable<WatchEvent> {
    const open = (signal: AbortSignal) => this.#transport.stream({ path, query: query.toString(), signal });
    const { reports } = this.#options;
    const events = watchEvents(open, path, { ...options, clock: this.#clock, reports });
    return this.#answers.watch({ verb: 'WATCH', path }, events, options.signal);
  }

  /** Cuts every connection, watches included; requests under way fail. */
  close(): Promise<void> {
    return this.#transport.close();
  }

  #pathOf(resource: Resource, key: ObjectKey, subresource?: string): string {
    return this.#made(resource, () => objectPath(resource, key, subresource));
  }

  #pathOfAll(resource: Resource, namespace: string | undefined): string {
    return this.#made(resource, () => collectionPath(resource, namespace));
  }

  /** The names of further requests may be out of earlier answers. */
  #made(resource: Resource, make: () => string): string {
    return this.#answers.make({ verb: 'NAME', path: resource.plural }, make);
  }

  #patch<T>(patch: Patch, options: WriteOptions & { readonly force?: boolean }): Promise<T> {
    const { resource, key, body, contentType } = patch;
    const path = this.#pathOf(resource, key, options.subresource);
    return this.#send(
      { method: 'PATCH', resource, path, query: writeQuery(options), body, contentType },
      options,
    );
  }

  #send<T>(init: Omit<RequestInit, 'maxBytes'> & Pick<Asked, 'list'>, options: RequestOptions): Promise<T> {
    const { object, list, single } = this.#limits;
    const ofList = init.list?.limit === 1 ? single : list;
    const maxBytes = init.list === undefined ? object : ofList;
    const answer = this.#sender.send({ ...init, maxBytes }, options);
    return this.#answers.check(answer, init, options.signal) as Promise<T>;
  }
}

function transportOf(options: KubeClientOptions | UntrustedClientOptions, clock: Clock): Transport {
  return new Transport({
    authentication: authenticationOf(options, clock),
    clock,
    userAgent: options.userAgent,
    connections: options.connections ?? 16,
    watchConnections: options.watchConnections ?? 128,
    maxWaiting: options.maxWaiting ?? 1_000,
    ...defined({ reports: options.reports }),
    ...('identity' in options ? defined({ lookup: options.lookup, budget: options.budget }) : {}),
  });
}

function authenticationOf(options: KubeClientOptions | UntrustedClientOptions, clock: Clock): IdentitySource {
  if ('identity' in options) return fixedIdentity(hardenedTls(options.identity));
  const { kubeConfig, log = silentLogger, refreshMs } = options;
  const source = 'load' in kubeConfig ? kubeConfig : fixedSource(kubeConfig);
  return new Authentication({ source, clock, log, ...defined({ refreshMs }) });
}
