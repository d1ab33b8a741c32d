import type { Condition } from '../../api/conditions.ts';
import { parseEnd } from '../../api/instant.ts';
import { asCount, asObject, asText, asTexts, defined, type JsonObject } from '../../api/json.ts';
import { parseConditions } from '../../credentials/confirmation.ts';
import type { Requester } from '../../credentials/record.ts';
import { parseChangedBy, parseRequester } from '../../credentials/requester.ts';
import type { StoredRecord } from '../../kube/cache/store.ts';
import { type KubeObject, keyOf } from '../../kube/object.ts';
import type { ServerChoice } from './dialled-server.ts';
import {
  isWithSecret,
  kubeConfigOf,
  parseConfirmed,
  referenceOfCluster,
  referenceOfInstance,
  referenceOfSpace,
  type TargetReference,
} from './target-reference.ts';

/** A place in a Secret. */
export interface SecretEntry {
  readonly namespace: string;
  readonly name: string;
  readonly key: string;
}

/** Where an administrator kubeconfig stands, and which server is dialled with it. */
export interface KubeConfigSource extends SecretEntry, ServerChoice {}

/** The fields that all targets of credentials share. Instants are epoch milliseconds. */
export interface TargetRecord extends StoredRecord {
  readonly kind: 'VirtualClusterInstance' | 'SpaceInstance' | 'Cluster';
  readonly name: string;
  readonly namespace?: string;
  readonly generation: number;
  /** `metadata.creationTimestamp`. */
  readonly created: number;
  /** Who asked for it, and who made the last change of its spec, by the annotations of the admission policies. */
  readonly requester?: Requester;
  readonly changedBy?: Requester;
  /** The reference of the spec. */
  readonly reference: TargetReference;
  /** `status.confirmed`: what the operator uses, whatever the spec names. */
  readonly confirmed?: TargetReference;
  /** `metadata.deletionTimestamp`. */
  readonly deleted?: number;
  readonly finalizers: readonly string[];
  readonly observedGeneration: number;
  readonly phase?: string;
  /** `status.state`. */
  readonly state?: string;
  /** `status.endpoint`. */
  readonly endpoint?: string;
  readonly conditions: readonly Condition[];
}

export interface VirtualClusterInstanceRecord extends TargetRecord {
  readonly kind: 'VirtualClusterInstance';
  readonly namespace: string;
  /** By the confirmed reference, or before there is one by the spec. */
  readonly kubeConfig: KubeConfigSource;
  /** The role of users inside the instance. */
  readonly clusterRole: string;
  /** `host[:port]` of an ingress that is switched on. */
  readonly ingressHost?: string;
  /** `status.virtualCluster.accessPoint.ingress.enabled`. */
  readonly ingressEnabled?: boolean;
}

export interface SpaceInstanceRecord extends TargetRecord {
  readonly kind: 'SpaceInstance';
  readonly namespace: string;
  /** Of the spec. */
  readonly clusterRef?: { readonly cluster: string; readonly namespace: string };
}

export interface ClusterRecord extends TargetRecord {
  readonly kind: 'Cluster';
  /** The same; absent for a cluster that is reached by its direct endpoint only. */
  readonly kubeConfig?: KubeConfigSource;
  /** `host[:port]` of the direct endpoint. */
  readonly directEndpoint?: string;
  /** PEM in base64: the authority of its certificate. */
  readonly directEndpointCA?: string;
  /** Whether its API server takes tokens with a scope, and asks about each request of theirs. */
  readonly enforcesScopes?: boolean;
}

/** Targets that the operator makes something in. */
export type ConnectedRecord = VirtualClusterInstanceRecord | ClusterRecord;

const defaultClusterRole = 'cluster-admin';

/** The slim record of a VirtualClusterInstance, with the defaults of absent fields filled in. Never throws. */
export function toInstanceRecord(object: KubeObject): VirtualClusterInstanceRecord {
  const { name, namespace = '' } = object.metadata;
  const { spec, status } = readParts(object);
  const reference = referenceOfInstance(name, namespace, spec);
  const shared = common(object, 'VirtualClusterInstance', reference);
  const confirmed = shared.confirmed ?? reference;
  const observed = asObject(asObject(asObject(status['virtualCluster'])['accessPoint'])['ingress'])[
    'enabled'
  ];
  return defined({
    ...shared,
    namespace,
    kubeConfig: kubeConfigOf(shared, isWithSecret(confirmed) ? confirmed : reference),
    clusterRole: asText(asObject(spec['access'])['clusterRole']) ?? defaultClusterRole,
    ingressHost: parseIngressHost(spec),
    ingressEnabled: typeof observed === 'boolean' ? observed : undefined,
  });
}

/** The slim record of a SpaceInstance. Never throws. */
export function toSpaceRecord(object: KubeObject): SpaceInstanceRecord {
  const reference = referenceOfSpace(readParts(object).spec);
  const { cluster, namespace } = reference.clusterRef ?? {};
  return defined({
    ...common(object, 'SpaceInstance', reference),
    namespace: object.metadata.namespace ?? '',
    clusterRef: cluster === undefined || namespace === undefined ? undefined : { cluster, namespace },
  });
}

/** The slim record of a Cluster. Never throws. */
export function toClusterRecord(object: KubeObject): ClusterRecord {
  const { spec } = readParts(object);
  const reference = referenceOfCluster(spec);
  const shared = common(object, 'Cluster', reference);
  const used = shared.confirmed ?? reference;
  const { host, caData, enforcement } = asObject(spec['directEndpoint']);
  return defined({
    ...shared,
    kubeConfig: isWithSecret(used) ? kubeConfigOf(shared, used) : undefined,
    directEndpoint: asText(host),
    directEndpointCA: asText(caData),
    enforcesScopes:
      enforcement === undefined ? undefined : enforcement === 'Webhook' && shared.deleted === undefined,
  });
}

function common<Kind extends TargetRecord['kind']>(
  object: KubeObject,
  kind: Kind,
  reference: TargetReference,
) {
  const { metadata } = object;
  const { status } = readParts(object);
  return defined({
    kind,
    key: keyOf(metadata),
    name: metadata.name,
    namespace: metadata.namespace,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    generation: metadata.generation ?? 0,
    created: Date.parse(metadata.creationTimestamp),
    requester: parseRequester(metadata.annotations ?? {}),
    changedBy: parseChangedBy(metadata.annotations ?? {}),
    reference,
    confirmed: parseConfirmed(status),
    deleted: parseEnd(metadata.deletionTimestamp),
    finalizers: asTexts(metadata.finalizers),
    observedGeneration: asCount(status['observedGeneration']) ?? -1,
    phase: asText(status['phase']),
    state: asText(status['state']),
    endpoint: asText(status['endpoint']),
    conditions: parseConditions(status['conditions']),
  });
}

function readParts(object: KubeObject): { readonly spec: JsonObject; readonly status: JsonObject } {
  const { spec, status } = object as KubeObject & { readonly spec?: unknown; readonly status?: unknown };
  return { spec: asObject(spec), status: asObject(status) };
}

function parseIngressHost(spec: JsonObject): string | undefined {
  const ingress = asObject(asObject(spec['accessPoint'])['ingress']);
  return ingress['enabled'] === true ? asText(ingress['host']) : undefined;
}
