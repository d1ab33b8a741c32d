import { randomBytes } from 'node:crypto';
import { asObject, asText, defined, isObject, type JsonObject, parseJSON } from '../../../api/json.ts';
import { groups, version } from '../../../api/names.ts';
import { reasons } from '../../../api/reasons.ts';
import { virtualClusterInstanceKubeConfigs, virtualClusterInstances } from '../../../api/resources.ts';
import type { RawResponse } from '../../../kube/client/response-collector.ts';
import { badAnswer } from '../../../kube/kube-error.ts';
import { type KubeObject, keyOf, uidOf } from '../../../kube/object.ts';
import { collectionPath } from '../../../kube/resource-path.ts';
import { isProtectedNamespace } from '../../../scope/gate/sensitive.ts';
import { touchedObject } from '../../audit/trail.ts';
import type { Arrivals } from '../../index/arrivals.ts';
import { forward } from '../../proxy/forward.ts';
import { type ErrorAnswer, errorAnswer } from '../../server/error-answer.ts';
import { warningOf } from '../../server/warning.ts';
import { refusalOf } from '../own/await-issued.ts';
import { namedKeyDenial, refuseBySitePolicy, speakerOf, useDenial } from '../own/checks.ts';
import { askerOf, withNewRecord } from '../own/sent-object.ts';
import { schemaHint, specWarnings } from '../own/spec-warnings.ts';
import { ask, headersInPlace } from '../shared/ask.ts';
import { type Endpoint, type EndpointRequest, type EndpointServices, queryOf } from '../shared/endpoint.ts';
import type { QuotaPermit } from '../shared/quota.ts';
import type { MadeObject } from '../shared/removals.ts';
import { answerFailure, parseRefusal, retryAfterOf, sendObject } from '../shared/reply.ts';
import { readSentObject } from '../shared/request-body.ts';
import { strictUnlessAsked } from '../shared/strict-fields.ts';
import {
  type InstanceKey,
  kubeConfigKind as kind,
  objectNameFor,
  type Progress,
  parentOf,
  placeProblem,
  progressOf,
  type StoredObject,
  stalledAnswer,
  toAnswer,
  toStoredObject,
} from './kubeconfig-object.ts';

type KubeConfigsOptions = Pick<
  EndpointServices,
  'index' | 'targetRecords' | 'permissions' | 'removals' | 'quota' | 'held' | 'yaml' | 'sitePolicy'
>;

/** How long a client waits for the operator, milliseconds. */
const maxWaitMs = 30_000;

/** A kubeconfig that is to be made for a client. */
interface Order {
  readonly request: EndpointRequest;
  readonly place: InstanceKey;
  /** The object from the client. */
  readonly sent: JsonObject;
  readonly warnings: readonly string[];
  /** The object for the API server. */
  readonly object: StoredObject;
  /** Options of the client that are for the API server. */
  readonly query: URLSearchParams;
}

/**
 * Answers a POST of a kubeconfig to a virtual cluster instance: makes an object as the holder, waits until the operator has issued
 * it, and passes the kubeconfig on. The object stays for as long as the kubeconfig is to work; it goes when no one has got it.
 */
export class KubeConfigs {
  readonly #options: KubeConfigsOptions;

  constructor(options: KubeConfigsOptions) {
    this.#options = options;
  }

  readonly answer: Endpoint = async (request) => {
    // The API server knows no such version, and says so.
    if (request.asked.apiVersion !== version) return forward(request);
    if (!queryOf(request).has('dryRun')) request.trail?.acts('fetch');
    try {
      const order = await this.#read(request);
      if (request.response.destroyed) return;
      if ('refusal' in order) return request.refuse(order.refusal);
      await this.#makeWithinQuota(order);
    } catch (error) {
      answerFailure(request, error as Error);
    }
  };

  async #read(request: EndpointRequest): Promise<Order | { readonly refusal: ErrorAnswer }> {
    const { asked, sender } = request;
    const place = { namespace: asked.namespace, name: asked.name };
    if (isProtectedNamespace(place.namespace))
      return { refusal: errorAnswer('ERR_NAMESPACE', { namespace: place.namespace }) };
    const read = await readSentObject(request, { kind }, this.#options);
    if ('refusal' in read) return read;
    const { object: sent, warnings } = read;
    const problem = placeProblem(sent, place);
    if (problem !== undefined) return { refusal: errorAnswer('ERR_OBJECT_MISMATCH', { problem }) };
    const parent = parentOf(sent, sender.verdict);
    if ('refusal' in parent) return parent;
    // First, or who may not use any instance would learn which ones there are.
    const clientCert = asObject(sent['spec'])['clientCert'] === true;
    const entry = { resource: virtualClusterInstances.plural, ...place, clientCert };
    const speaker = speakerOf(this.#options, sender.verdict, asText(parent.accessKey));
    const denial = await useDenial(this.#options, speaker, entry);
    if (denial !== undefined) return { refusal: denial };
    const key = { accessKey: asText(parent.accessKey), namespace: place.namespace };
    const keyDenial = await namedKeyDenial(this.#options, sender.verdict, key);
    if (keyDenial !== undefined) return { refusal: keyDenial };
    const instance = this.#instanceAt(place);
    if (instance === undefined) return { refusal: noInstance };
    const stalled = stalledAnswer(instance);
    if (stalled !== undefined) return { refusal: stalled };
    const objectName = objectNameFor(place, randomText());
    const object = toStoredObject(sent, { ...place, ...parent, objectName, instanceUID: instance.uid });
    refuseBySitePolicy(this.#options.sitePolicy(), { kind, object: { ...object } });
    const all = [...warnings, ...specWarnings({ kind, spec: asObject(object.spec), former: undefined })];
    return { request, place, sent, warnings: all, object, query: passedQuery(asked.forward) };
  }

  #instanceAt({ namespace, name }: InstanceKey) {
    const instance = this.#options.targetRecords.instances.get(`${namespace}/${name}`);
    return instance?.deleted === undefined ? instance : undefined;
  }

  async #makeWithinQuota(order: Order): Promise<void> {
    const { request } = order;
    const { user } = request.sender.verdict.identity;
    const { quota, removals } = this.#options;
    const permit = quota.acquire(kind, user);
    const endWork = removals.begin();
    try {
      await this.#make(order, permit);
    } finally {
      endWork();
      permit.release();
    }
  }

  async #make(order: Order, permit: QuotaPermit): Promise<void> {
    const { request, object, query } = order;
    const arrivals = this.#options.index.records.arrivals[kind];
    const wait = new IssueWait(request, { arrivals, key: keyOf(object.metadata), maxWaitMs });
    try {
      const answer = await this.#create(order, { wait, permit });
      const made = readAnswer(answer);
      permit.made(uidOf(made));
      if (answer.status !== 201) {
        const hint = schemaHint(answer.status, made);
        const hints = hint === undefined ? [] : [hint];
        return sendObject(request, answer.status, made, passedHeaders(answer, hints));
      }
      if (query.has('dryRun')) return send(order, answer, made);
      await this.#finish(order, { answer, made, outcome: await wait.outcome, latest: wait.latest });
    } finally {
      wait.end();
    }
  }

  async #create(order: Order, { wait, permit }: Making): Promise<RawResponse> {
    const { request, object, query } = order;
    const collection = collectionPath(virtualClusterInstanceKubeConfigs, object.metadata.namespace);
    const path = query.size === 0 ? collection : `${collection}?${query}`;
    const headers = headersInPlace(request, { contentType: 'application/json', group: groups.selfService });
    const recorded = withNewRecord(object, kind, askerOf(request, groups.selfService));
    const body = Buffer.from(JSON.stringify(recorded));
    try {
      const answer = await ask(request, { method: 'POST', path, headers, body });
      if (answer.status < 500) return answer;
      throw new Error(`the API server answered with ${answer.status}`);
    } catch (error) {
      // No one knows whether it was made, or will be: a server that answers too late goes on all the same.
      permit.keepUntil(this.#options.removals.removeWhenItComes(toMade(order, wait.latest)));
      throw error;
    }
  }

  async #finish(order: Order, { answer, made, outcome, latest }: Finished): Promise<void> {
    const { request, place } = order;
    const { response } = request;
    const remove = async () => await this.#options.removals.remove(toMade(order, made as never));
    if (outcome.state === 'issued' && !response.destroyed) {
      const closed = Promise.withResolvers<void>();
      response.once('close', closed.resolve);
      request.trail?.touched(touchedObject(kind, asObject(latest ?? made)));
      send(order, answer, made, outcome.kubeConfig);
      await closed.promise;
      return response.writableFinished ? undefined : await remove();
    }
    await remove();
    if (response.destroyed) return;
    if (outcome.state === 'refused') return request.refuse(outcome.refusal);
    request.refuse(this.#instanceAt(place) === undefined ? noInstance : pendingAnswer(latest));
  }
}

interface Making {
  readonly wait: IssueWait;
  readonly permit: QuotaPermit;
}

interface Finished {
  readonly answer: RawResponse;
  /** As the API server made it. */
  readonly made: JsonObject;
  readonly outcome: Outcome;
  /** As the watch brought it last. */
  readonly latest: KubeObject | undefined;
}

const toMade = ({ request, object }: Order, made: KubeObject | undefined): MadeObject => ({
  identity: request.sender.verdict.identity,
  key: object.metadata,
  uid: made?.metadata.uid,
});

/** The API server answers these; how long it may take is up to us. */
const passedOptions: ReadonlySet<string> = new Set(['dryRun', 'fieldManager', 'fieldValidation']);

function passedQuery(forwarded: string): URLSearchParams {
  const { searchParams } = new URL(forwarded, 'http://localhost');
  return strictUnlessAsked(
    new URLSearchParams([...searchParams].filter(([option]) => passedOptions.has(option))),
  );
}

/** Ten of 32 letters and digits: no two objects of one instance have the same. */
const randomText = (): string => Array.from(randomBytes(10), (byte) => alphabet[byte % 32]).join('');
const alphabet = 'abcdefghijklmnopqrstuvwxyz234567';

const action = { verb: 'POST', path: virtualClusterInstanceKubeConfigs.plural };

/** Reads the API server's answer, where that is about the request. */
function readAnswer(answer: RawResponse): JsonObject {
  const { status, body } = answer;
  if (status >= 400) return parseRefusal(answer);
  if (status !== 201) throw new Error(`the API server answered with ${status}`);
  const object: unknown = parseJSON(body);
  if (!isObject(object)) throw badAnswer(action, 'it is no object', status);
  return object;
}

function send(
  { request, place, sent, warnings }: Order,
  answer: RawResponse,
  made: JsonObject,
  kubeConfig?: string,
): void {
  const { creationTimestamp: created } = asObject(made['metadata']);
  const object = toAnswer(sent, place, { created, kubeConfig });
  sendObject(request, 200, object, passedHeaders(answer, warnings));
}

function passedHeaders(answer: RawResponse, warnings: readonly string[] = []) {
  const { warning = [] } = answer.headers;
  const retryAfter = retryAfterOf(answer);
  const all = [warning, warnings.map(warningOf)].flat();
  return {
    ...(all.length === 0 ? {} : { warning: all }),
    ...defined({ 'retry-after': retryAfter }),
  };
}

/** Why the client has to ask again. */
function pendingAnswer(latest: KubeObject | undefined): ErrorAnswer {
  const progress = latest && progressOf(latest);
  const ready = progress?.state === 'waiting' ? progress.ready : undefined;
  const silent = { reason: reasons.pending, message: 'the operator has not worked on it' };
  return refusalOf('ERR_KUBECONFIG_PENDING', ready ?? silent);
}

const noInstance = refusalOf('ERR_KUBECONFIG_INSTANCE', {
  reason: reasons.instanceNotFound,
  message: 'there is none of this name in this namespace, or it is being deleted',
});

type Outcome = Exclude<Progress, { readonly state: 'waiting' }> | { readonly state: 'late' | 'left' };

interface IssueWaitOptions {
  readonly arrivals: Pick<Arrivals, 'on'>;
  /** Of the object: `namespace/name`. */
  readonly key: string;
  readonly maxWaitMs: number;
}

/** A wait for what the operator makes of one object. Begin before creating that: the watch may be faster than the answer. Call `end`. */
class IssueWait {
  readonly outcome: Promise<Outcome>;
  /** As the watch brought it last. */
  latest: KubeObject | undefined;
  readonly end: () => void;

  constructor(
    { clock, response }: Pick<EndpointRequest, 'clock' | 'response'>,
    { arrivals, key, maxWaitMs }: IssueWaitOptions,
  ) {
    const { promise, resolve } = Promise.withResolvers<Outcome>();
    const stop = arrivals.on(key, (object) => {
      this.latest = object;
      const progress = progressOf(object);
      if (progress.state !== 'waiting') resolve(progress);
    });
    const timer = clock.setTimer(() => resolve({ state: 'late' }), maxWaitMs);
    const onClosed = () => resolve({ state: 'left' });
    response.once('close', onClosed);
    this.outcome = promise;
    this.end = () => {
      stop();
      timer.cancel();
      response.off('close', onClosed);
    };
  }
}
