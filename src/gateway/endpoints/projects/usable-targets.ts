import { asObject, asTexts, isObject, type JsonObject, parseJSON } from '../../../api/json.ts';
import { group } from '../../../api/names.ts';
import {
  clusters,
  type Resource,
  selfSubjectRulesReviews,
  spaceInstances,
  virtualClusterInstances,
} from '../../../api/resources.ts';
import type { Store, StoredRecord } from '../../../kube/cache/store.ts';
import { type KubeObject, parseKey } from '../../../kube/object.ts';
import { collectionPath } from '../../../kube/resource-path.ts';
import { authorise } from '../../../scope/gate/authorise.ts';
import { apiPrefix, formatTarget, type RequestTarget } from '../../../scope/request-path.ts';
import { resolveRequest } from '../../../scope/requests/resolve-request.ts';
import type { Verdict } from '../../index/verdict.ts';
import { manifestAnnotations, without } from '../own/secrets.ts';
import { recordNames } from '../own/sent-object.ts';
import { type Asking, ask } from '../shared/ask.ts';
import { ignoreTooLarge } from '../shared/ask-within.ts';
import { type EndpointRequest, type EndpointServices, eachInTurn } from '../shared/endpoint.ts';
import type { AcceptedForm } from '../shared/list-options.ts';

export interface TargetQuestion {
  readonly resource: Resource;
  readonly form: AcceptedForm;
  readonly usable: UsableTargets;
}

type Services = Pick<EndpointServices, 'targetRecords' | 'permissions'>;
type AskingRequest = Asking & Pick<EndpointRequest, 'sender'>;

/** The resources that targets are objects of, by plural. */
export const targetResources: ReadonlyMap<string, Resource> = new Map(
  [virtualClusterInstances, spaceInstances, clusters].map((resource) => [resource.plural, resource]),
);

/** Questions of one answer: about namespaces, and about single targets. Who may use all there are needs one. */
const maxNamespaces = 500;
const maxNames = 500;
/** At once: others of the same user, and other users, must get through beside it. */
const atOnce = 4;
/** Of the rights of a user in one namespace. */
const maxRulesBytes = 2 ** 19;

/**
 * The targets of one kind that the sender of a request may enter: each that every scope names, and that its user has the verb `use` on.
 * The gate asks the same when a request enters one.
 */
export class UsableTargets {
  readonly #request: AskingRequest;
  readonly #services: Services;
  readonly #resource: Resource;
  #namesLeft = maxNames;
  #isCutShort = false;

  constructor(request: AskingRequest, services: Services, resource: Resource) {
    this.#request = request;
    this.#services = services;
    this.#resource = resource;
  }

  /** Whether some were not asked about, and so are left out. */
  get isCutShort(): boolean {
    return this.#isCutShort;
  }

  /** Their keys. `namespace`: empty for all. Rejects where the platform does not answer. */
  async find(namespace: string): Promise<ReadonlySet<string>> {
    this.#namesLeft = maxNames;
    const byNamespace = await this.#inScope(namespace);
    if (byNamespace.size === 0) return new Set();
    if (await this.#mayUse('', '')) return new Set([...byNamespace.values()].flat());
    const places = [...byNamespace];
    if (places.length > maxNamespaces) this.#isCutShort = true;
    const usable = new Set<string>();
    for (let index = 0; index < Math.min(places.length, maxNamespaces); index += atOnce) {
      const batch = places.slice(index, Math.min(index + atOnce, maxNamespaces));
      const found = await Promise.all(batch.map(([place, keys]) => this.#usableIn(place, keys)));
      for (const key of found.flat()) usable.add(key);
      await this.#request.turn();
    }
    return usable;
  }

  /** Whether this one is among them. */
  async includes(key: string): Promise<boolean> {
    const target = this.#targetOf(key);
    if (target === undefined || !isTargetInScope(this.#request.sender.verdict, target)) return false;
    const { namespace = '', name } = parseKey(key);
    return await this.#mayUse(namespace, name);
  }

  /** By namespace; empty for those without one. */
  async #inScope(namespace: string): Promise<Map<string, string[]>> {
    const { verdict } = this.#request.sender;
    const found = new Map<string, string[]>();
    await eachInTurn(this.#request, this.#records().values(), ({ key }) => {
      const { namespace: place = '' } = parseKey(key);
      if (namespace !== '' && place !== namespace) return;
      const target = this.#targetOf(key);
      if (target === undefined || !isTargetInScope(verdict, target)) return;
      const keys = found.get(place);
      if (keys === undefined) found.set(place, [key]);
      else keys.push(key);
    });
    return found;
  }

  #records(): Pick<Store<StoredRecord>, 'values'> {
    const { targetRecords } = this.#services;
    switch (this.#resource.plural) {
      case virtualClusterInstances.plural:
        return targetRecords.instances;
      case spaceInstances.plural:
        return targetRecords.spaces;
      default:
        return targetRecords.clusters;
    }
  }

  /** Undefined for one in a namespace that is no project. */
  #targetOf(key: string): RequestTarget | undefined {
    const { namespace = '', name } = parseKey(key);
    if (this.#resource.plural === clusters.plural) return { kind: 'cluster', cluster: name };
    const project = this.#services.targetRecords.findProject(namespace);
    if (project === undefined) return undefined;
    return this.#resource.plural === spaceInstances.plural
      ? { kind: 'space', project, space: name }
      : { kind: 'virtualCluster', project, virtualCluster: name };
  }

  async #usableIn(namespace: string, keys: readonly string[]): Promise<readonly string[]> {
    const rules = await this.#rulesIn(namespace);
    if (rules.mayBeAll && namespace !== '' && (await this.#mayUse(namespace, ''))) return keys;
    const candidates =
      rules.names === undefined ? keys : keys.filter((key) => rules.names?.has(parseKey(key).name));
    const asked = candidates.slice(0, this.#namesLeft);
    if (asked.length < candidates.length) this.#isCutShort = true;
    this.#namesLeft -= asked.length;
    const usable: string[] = [];
    for (let index = 0; index < asked.length; index += atOnce) {
      const batch = asked.slice(index, index + atOnce);
      const answers = await Promise.all(batch.map((key) => this.#mayUse(namespace, parseKey(key).name)));
      usable.push(...batch.filter((_, place) => answers[place]));
    }
    return usable;
  }

  /**
   * The rights of the user there, as the API server knows them. One such question saves one for each target; it says only what to ask
   * for, because authorizers other than RBAC may know more, and less.
   */
  async #rulesIn(namespace: string): Promise<NamespaceRules> {
    const { impersonation } = this.#request.sender.verdict;
    const review = {
      ...{ apiVersion: 'authorization.k8s.io/v1', kind: selfSubjectRulesReviews.kind },
      spec: { namespace: namespace || 'default' },
    };
    const answer = await ask(this.#request, {
      ...{ method: 'POST', path: collectionPath(selfSubjectRulesReviews), maxBytes: maxRulesBytes },
      headers: [...jsonHeaders, ...impersonation],
      body: Buffer.from(JSON.stringify(review)),
    }).catch(ignoreTooLarge);
    if (answer !== undefined && answer.status !== 201)
      throw new Error(`the API server answered with ${answer.status}`);
    const { status } = asObject(parseJSON(answer?.body ?? ''));
    return readRules(status, this.#resource.plural);
  }

  async #mayUse(namespace: string, name: string): Promise<boolean> {
    const { identity } = this.#request.sender.verdict;
    const entry = { verb: 'use', resource: this.#resource.plural, namespace, name };
    return await this.#services.permissions.isAllowed(identity, entry);
  }
}

const jsonHeaders = ['accept', 'application/json', 'content-type', 'application/json'];

interface NamespaceRules {
  /** Whether all targets in the namespace may be meant. */
  readonly mayBeAll: boolean;
  /** The only ones to ask about; undefined: any. */
  readonly names?: ReadonlySet<string>;
}

/** Reads which targets of a kind the rules of a user let them use. */
export function readRules(status: unknown, resource: string): NamespaceRules {
  const { resourceRules, incomplete } = asObject(status);
  if (incomplete !== false || !Array.isArray(resourceRules)) return { mayBeAll: true };
  const allowing = resourceRules.filter(isObject).filter((rule) => allowsUse(rule, resource));
  const lists = allowing.map((rule) => asTexts(rule['resourceNames']));
  if (lists.some((names) => names.length === 0)) return { mayBeAll: true };
  return { mayBeAll: false, names: new Set(lists.flat()) };
}

function allowsUse(rule: JsonObject, resource: string): boolean {
  const has = (field: string, value: string): boolean => {
    const given = asTexts(rule[field]);
    return given.includes(value) || given.includes('*');
  };
  return has('verbs', 'use') && has('apiGroups', group) && has('resources', resource);
}

/** Annotations about the maker with groups and key, and copies of the whole manifest. */
const hiddenAnnotations: readonly string[] = [...recordNames, ...manifestAnnotations];

/**
 * A target for those who may use it and perhaps no more: without the record of other people, and without the place of its
 * administrator kubeconfig. Its managed fields name both.
 */
export function asJSON(object: KubeObject): JsonObject {
  const { metadata, spec, ...others } = object as unknown as JsonObject;
  const { managedFields: _, annotations, ...shown } = asObject(metadata);
  const left = without(asObject(annotations), hiddenAnnotations);
  return {
    ...others,
    metadata: { ...shown, ...(Object.keys(left).length === 0 ? {} : { annotations: left }) },
    ...(isObject(spec) ? { spec: without(spec, ['kubeConfigSecretRef']) } : {}),
  };
}

/** Stands for the namespace that a space is: a look at what there is takes any. */
const anyPlace = { namespace: 'any', isPlatform: true } as const;

/** Whether the scopes of a credential let it see what there is in that target. */
export function isTargetInScope({ gates }: Pick<Verdict, 'gates'>, target: RequestTarget): boolean {
  const path = formatTarget(target);
  if (path === undefined) return false;
  if (gates.length === 0) return true;
  const request = resolveRequest({
    ...{ method: 'GET', target: `${apiPrefix}${path}/version`, contentType: undefined },
  });
  return !('problem' in request) && authorise({ gates, request, place: anyPlace }).allowed;
}
