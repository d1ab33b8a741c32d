import type { Condition, ConditionType } from '../../src/api/conditions.ts';
import {
  certificateSigningRequests,
  clusterRoleBindings,
  clusterRoles,
  clusters,
  configMaps,
  credentialLocks,
  credentialResources,
  deployments,
  directClusterEndpointTokens,
  events,
  namespaces,
  ownedAccessKeys,
  type Resource,
  secrets,
  serviceAccounts,
  spaceInstances,
  virtualClusterInstances,
} from '../../src/api/resources.ts';
import type { DeleteOptions, KubeClient, WriteOptions } from '../../src/kube/client/client.ts';
import { isNotFound } from '../../src/kube/kube-error.ts';
import type { KubeObject, ObjectKey } from '../../src/kube/object.ts';
import { type Manifest, manifestOf, uniqueName } from './manifest.ts';
import { type UntilOptions, until } from './until.ts';

/** An object as it came back. */
export interface Stored extends KubeObject {
  // biome-ignore lint/suspicious/noExplicitAny: the JSON that the API server sent, looked into by assertions.
  spec: any;
  // biome-ignore lint/suspicious/noExplicitAny: the same.
  status: any;
  data?: Record<string, string>;
}

/** Which object is meant; what came back from a create or a get will do. */
export interface Target {
  readonly kind?: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

export interface ApiEvent extends KubeObject {
  readonly reason: string;
  readonly type: string;
  readonly note?: string;
  /** When the operator first reported it, microseconds. */
  readonly eventTime: string;
  readonly reportingInstance?: string;
  readonly regarding: { readonly name: string; readonly uid?: string };
  readonly series?: { readonly count: number };
}

/** The requests of a test to the API server as one user. */
export class Api {
  readonly client: KubeClient;
  readonly #onCreated: (resource: Resource, created: Stored) => void;

  /** `onCreated` hears of every object that is made here, so that it can be cleared away. */
  constructor(client: KubeClient, onCreated: (resource: Resource, created: Stored) => void) {
    this.client = client;
    this.#onCreated = onCreated;
  }

  /** Creates an OwnedAccessKey under a name of its own; without `spec`: for the user `alice`, key generated. */
  async createKey(
    spec: object = { user: 'alice' },
    metadata: Partial<Manifest['metadata']> = {},
  ): Promise<Stored> {
    return await this.create(ownedAccessKeys, spec, { name: uniqueName('key'), ...metadata });
  }

  async createToken(spec: object = {}, metadata: Partial<Manifest['metadata']> = {}): Promise<Stored> {
    return await this.create(directClusterEndpointTokens, spec, { name: uniqueName('token'), ...metadata });
  }

  async create(
    resource: Resource,
    spec: object,
    metadata: Partial<Manifest['metadata']> = {},
  ): Promise<Stored> {
    return await this.createObject(resource, manifestOf(resource, spec, metadata));
  }

  async createObject(resource: Resource, object: object, options: WriteOptions = {}): Promise<Stored> {
    const { namespace } = (object as Manifest).metadata;
    const place = namespace === undefined ? {} : { namespace };
    const created = await this.client.create<Stored>(resource, object, { ...place, ...options });
    this.#onCreated(resource, created);
    return created;
  }

  /** Clears away after the tests what something else has made, e.g. kubectl. */
  track(made: Stored): Stored {
    this.#onCreated(resourceOf(made), made);
    return made;
  }

  async get(target: Target): Promise<Stored> {
    return await this.client.get<Stored>(resourceOf(target), keyOf(target));
  }

  /** Undefined when there is none. */
  async find(target: Target): Promise<Stored | undefined> {
    try {
      return await this.get(target);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /** JSON merge patch, e.g. `{ spec: { disabled: true } }`. */
  async patch(target: Target, patch: object, options: WriteOptions = {}): Promise<Stored> {
    return await this.client.mergePatch<Stored>(resourceOf(target), keyOf(target), patch, options);
  }

  async annotate(target: Target, annotations: Record<string, string | null>): Promise<Stored> {
    return await this.patch(target, { metadata: { annotations } });
  }

  async delete(target: Target, options: DeleteOptions = {}): Promise<void> {
    await this.client.delete(resourceOf(target), keyOf(target), options);
  }

  /** Waits until the object looks as `holds` says, and resolves with it. */
  async until(
    target: Target,
    what: string,
    holds: (object: Stored) => boolean,
    options: UntilOptions = {},
  ): Promise<Stored> {
    let seen: Stored | undefined;
    const look = async () => {
      seen = await this.get(target);
      return holds(seen) ? seen : undefined;
    };
    const outline = () => seen && { generation: seen.metadata.generation, status: withoutSecrets(seen) };
    return await until(`${target.metadata.name}: ${what}`, look, { ...options, seen: outline });
  }

  /** Waits until the condition says so for the present generation. */
  async untilCondition(
    target: Target,
    wanted: { readonly type?: ConditionType; readonly status: Condition['status']; readonly reason?: string },
    options: UntilOptions = {},
  ): Promise<Stored> {
    const { type = 'Ready', status, reason } = wanted;
    const holds = (object: Stored) => {
      const found = conditionOf(object, type);
      const current = found?.observedGeneration === object.metadata.generation;
      return current && found?.status === status && (reason === undefined || found.reason === reason);
    };
    return await this.until(target, `${type}=${status} ${reason ?? ''}`, holds, options);
  }

  async untilReady(target: Target, options: UntilOptions = {}): Promise<Stored> {
    return await this.untilCondition(target, { status: 'True' }, options);
  }

  /** Waits until `Ready` is `False` for this reason. */
  async untilRefused(target: Target, reason: string, options: UntilOptions = {}): Promise<Stored> {
    return await this.untilCondition(target, { status: 'False', reason }, options);
  }

  async untilGone(target: Target, options: UntilOptions = {}): Promise<void> {
    const gone = async () => (await this.find(target)) === undefined;
    await until(`${target.metadata.name}: gone`, gone, options);
  }

  /** Events about the object, of `events.k8s.io`. */
  async eventsOf(target: Target & { metadata: { uid: string } }): Promise<readonly ApiEvent[]> {
    const namespace = target.metadata.namespace ?? 'default';
    const fieldSelector = `regarding.name=${target.metadata.name},regarding.uid=${target.metadata.uid}`;
    return (await this.client.list<ApiEvent>(events, { namespace, fieldSelector })).items;
  }

  async untilEvent(
    target: Target & { metadata: { uid: string } },
    reason: string,
    options: UntilOptions = {},
  ): Promise<ApiEvent> {
    const look = async () => (await this.eventsOf(target)).find((event) => event.reason === reason);
    return await until(`${target.metadata.name}: event ${reason}`, look, options);
  }
}

export const conditionOf = (object: Stored, type: ConditionType = 'Ready'): Condition | undefined =>
  (object.status?.conditions as Condition[] | undefined)?.find((condition) => condition.type === type);

/** How many whole seconds after that instant the operator wrote `Ready`, by its own stamp: reading it may take its time. */
export const secondsAfter = (instantMs: number, object: Stored): number =>
  Math.floor((Date.parse(conditionOf(object)?.lastTransitionTime ?? '') - instantMs) / 1000);

/** A Secret by place, to pass where an object is asked for. */
export const secretAt = (namespace: string, name: string): Target => ({
  kind: 'Secret',
  metadata: { name, namespace },
});

/** The text of an entry of a Secret. @throws TypeError when there is no such entry. */
export function entryOf(secret: Stored, entry: string): string {
  const value = secret.data?.[entry];
  if (value === undefined) throw new TypeError(`Secret ${secret.metadata.name} has no entry ${entry}`);
  return Buffer.from(value, 'base64').toString();
}

const resources: readonly Resource[] = [
  ...Object.values(credentialResources),
  virtualClusterInstances,
  spaceInstances,
  clusters,
  credentialLocks,
  configMaps,
  secrets,
  namespaces,
  deployments,
  events,
  serviceAccounts,
  clusterRoles,
  clusterRoleBindings,
  certificateSigningRequests,
];

export function resourceOf({ kind }: Target): Resource {
  const resource = resources.find((candidate) => candidate.kind === kind);
  if (resource === undefined) throw new TypeError(`kind "${kind}" is not known here: add its resource`);
  return resource;
}

export function keyOf({ metadata: { name, namespace } }: Target): ObjectKey {
  return namespace === undefined ? { name } : { name, namespace };
}

function withoutSecrets({ status }: Stored): object {
  const shown = (value: unknown) => (value === undefined ? undefined : '(set)');
  return { ...status, token: shown(status?.token), kubeConfig: shown(status?.kubeConfig) };
}
