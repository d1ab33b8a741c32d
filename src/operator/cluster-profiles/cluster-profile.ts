import { hash } from 'node:crypto';
import { canonicalJson } from '../../api/canonical-json.ts';
import { type Condition, conditionTypes, findCondition } from '../../api/conditions.ts';
import { endpointAuthority, endpointOrigin } from '../../api/direct-endpoint.ts';
import { formatInstant } from '../../api/instant.ts';
import { asObject, asText, defined, type JsonObject } from '../../api/json.ts';
import { annotations, labels, purposes, systemObjects } from '../../api/names.ts';
import type { StoredRecord } from '../../kube/cache/store.ts';
import { type KubeObject, keyOf } from '../../kube/object.ts';
import type { ClusterRecord, VirtualClusterInstanceRecord } from '../../platform/targets/target-record.ts';
import { apiPrefix, formatTarget, projectOfNamespace, type RequestTarget } from '../../scope/request-path.ts';
import type { GatewayAddress } from '../credentials/gateway-address.ts';

/** A target that fleet tools find. */
export type ProfiledRecord = ClusterRecord | VirtualClusterInstanceRecord;

/** The name under which a consumer configures the program that gives it a credential. */
export const accessProviders = { gateway: 'latchkey', direct: 'latchkey-direct' } as const;

/** `spec.clusterManager.name`, and the value of its label. */
const manager = 'latchkey';
const managerLabel = 'x-k8s.io/cluster-manager';
/** client-go hands what stands below it to the program that gives the credential. */
const execExtension = 'client.authentication.k8s.io/exec';
const healthy = 'ControlPlaneHealthy';
/** Consumers write the name into values of labels. */
const maxNameLength = 63;

/** A ClusterProfile as it is to be, without its namespace. */
export interface DesiredProfile {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly spec: { readonly displayName: string; readonly clusterManager: { readonly name: string } };
  readonly status: {
    readonly accessProviders: readonly object[];
    readonly conditions: readonly [HealthCondition];
  };
  /** Of all that is compared. */
  readonly fingerprint: string;
}

interface HealthCondition extends Pick<Condition, 'reason' | 'message' | 'lastTransitionTime'> {
  readonly type: typeof healthy;
  readonly status: 'True' | 'Unknown';
}

/** A stored ClusterProfile, as far as it is compared. */
export interface ProfileRecord extends StoredRecord {
  readonly name: string;
  /**
   * By its own words; anyone who writes here may say them. `latchkey`: it names Latchkey as its manager, which never changes, and a target
   * that gives it the name which it has. `unnamed`: a copy under another name, or it names no target any more.
   */
  readonly owner: 'latchkey' | 'unnamed' | 'other';
  /** It goes with the Role that lets the operator write it. */
  readonly hasRole: boolean;
  /** The owners besides. Absent: none. */
  readonly otherOwners?: readonly object[];
  readonly sourceUID: string;
  readonly fingerprint: string;
  readonly health?: { readonly status: string; readonly since: string };
}

/** The target as people write it; undefined where the gateway has no path to it. */
export function targetNameOf(record: ProfiledRecord, prefix: string): string | undefined {
  const target = requestTargetOf(record, prefix);
  if (target === undefined || formatTarget(target) === undefined) return undefined;
  return target.kind === 'cluster'
    ? `cluster/${target.cluster}`
    : `virtualcluster/${target.project}/${target.virtualCluster}`;
}

type ProfiledTarget = Extract<RequestTarget, { readonly kind: 'cluster' | 'virtualCluster' }>;

function requestTargetOf(record: ProfiledRecord, prefix: string): ProfiledTarget | undefined {
  const { name } = record;
  if (record.kind === 'Cluster') return { kind: 'cluster', cluster: name };
  const project = projectOfNamespace(record.namespace, prefix);
  return project === undefined ? undefined : { kind: 'virtualCluster', project, virtualCluster: name };
}

/**
 * The name of the profile of a target. No project has a dot in its name, so two targets never share one; a long name gives way to a hash
 * behind a word of its own.
 */
export function profileNameOf(target: string): string {
  const plain = target.replaceAll('/', '.');
  if (plain.length <= maxNameLength) return plain;
  const kind = target.slice(0, target.indexOf('/'));
  return `${kind}-sha256.${hash('sha256', target, 'hex').slice(0, 40)}`;
}

interface ProfileInput {
  readonly record: ProfiledRecord;
  readonly gateway: GatewayAddress;
  readonly present: ProfileRecord | undefined;
  readonly now: number;
}

/** The profile of a target. Undefined: it has none, because the gateway has no path to it, or it is being deleted. */
export function planProfile({ record, gateway, present, now }: ProfileInput): DesiredProfile | undefined {
  const target = targetNameOf(record, gateway.projectNamespacePrefix);
  if (target === undefined || record.deleted !== undefined) return undefined;
  const marks = {
    labels: {
      [managerLabel]: manager,
      [labels.purpose]: purposes.clusterProfile,
      [labels.ownerUID]: record.uid,
    },
    annotations: { [annotations.target]: target },
  };
  const spec = { displayName: target, clusterManager: { name: manager } };
  const providers = providersOf(record, target, gateway);
  const health = healthOf(record, present?.health, now);
  return {
    ...{ name: profileNameOf(target), ...marks, spec },
    status: { accessProviders: providers, conditions: [health] },
    fingerprint: fingerprintOf({ ...marks, spec, providers, conditions: [health] }),
  };
}

function providersOf(record: ProfiledRecord, target: string, gateway: GatewayAddress): readonly object[] {
  const path = `${apiPrefix}${formatTarget(requestTargetOf(record, gateway.projectNamespacePrefix) as RequestTarget)}`;
  const atGateway = { server: `${gateway.issuer}${path}`, caData: gateway.ca && encode(gateway.ca) };
  const isAtGateway = record.kubeConfig !== undefined;
  const direct = record.kind === 'Cluster' ? directPlace(record, path) : undefined;
  const found: object[] = [];
  if (isAtGateway) found.push(provider(accessProviders.gateway, atGateway, { target }));
  if (direct !== undefined) found.push(provider(accessProviders.direct, direct, { target, direct: true }));
  return found;
}

/** Undefined where there is none, or the command line would refuse it. */
function directPlace({ directEndpoint, directEndpointCA }: ClusterRecord, path: string): Place | undefined {
  const origin = directEndpoint === undefined ? undefined : endpointOrigin(directEndpoint);
  if (origin === undefined || endpointAuthority(directEndpointCA) === undefined) return undefined;
  // Only base64 without anything else passes the API server.
  const caData = directEndpointCA && encode(Buffer.from(directEndpointCA, 'base64'));
  return { server: `${origin}${path}`, caData };
}

interface Place {
  readonly server: string;
  /** PEM in base64. */
  readonly caData: string | undefined;
}

/** `config`: which target it is, for the one program that serves all of them. */
const provider = (name: string, { server, caData }: Place, config: JsonObject): object => ({
  name,
  cluster: defined({
    server,
    'certificate-authority-data': caData,
    extensions: [{ name: execExtension, extension: config }],
  }),
});

const encode = (pem: string | Buffer): string => Buffer.from(pem).toString('base64');

/**
 * The operator reaches the API server of a Ready target. Of all others it knows that it cannot use them, and not that they are ill. Its
 * message for owners may name what readers of profiles need not know.
 */
function healthOf(record: ProfiledRecord, before: ProfileRecord['health'], now: number): HealthCondition {
  const ready = findCondition(record.conditions, conditionTypes.ready);
  const isReached = ready?.status === 'True' && record.kubeConfig !== undefined;
  const status = isReached ? 'True' : 'Unknown';
  return {
    ...{ type: healthy, status },
    reason: isReached ? 'Reachable' : (ready?.reason ?? 'NotChecked'),
    message: isReached
      ? 'Latchkey reaches the API server.'
      : 'Latchkey does not know. The condition Ready of the target says more.',
    lastTransitionTime: before?.status === status ? before.since : formatInstant(now),
  };
}

/** The slim record of a ClusterProfile. Never throws. */
export function toProfileRecord(object: KubeObject): ProfileRecord {
  const { metadata } = object;
  const { spec, status } = object as { readonly spec?: unknown; readonly status?: unknown };
  const { accessProviders: providers, conditions } = asObject(status);
  const marks = {
    labels: pick(metadata.labels, [managerLabel, labels.purpose, labels.ownerUID]),
    annotations: pick(metadata.annotations, [annotations.target]),
  };
  const health = (Array.isArray(conditions) ? conditions : [])
    .map(asObject)
    .find(({ type }) => type === healthy);
  const since = asText(health?.['lastTransitionTime']);
  const owners = metadata.ownerReferences ?? [];
  const others = owners.filter((owner) => !isOwnRole(owner));
  return defined({
    ...{ key: keyOf(metadata), name: metadata.name, uid: metadata.uid },
    resourceVersion: metadata.resourceVersion,
    owner: ownerOf(metadata, spec),
    hasRole: owners.some(isOwnRole),
    otherOwners: others.length === 0 ? undefined : others,
    sourceUID: metadata.labels?.[labels.ownerUID] ?? '',
    fingerprint: fingerprintOf({ ...marks, spec, providers, conditions }),
    health: since === undefined ? undefined : { status: String(health?.['status']), since },
  });
}

const isOwnRole = ({ kind, name }: { readonly kind: string; readonly name: string }): boolean =>
  kind === 'Role' && name === systemObjects.clusterProfilesRole;

/** Labels and annotations are what people remove first, so the name in the spec says as much. */
function ownerOf(
  { name, annotations: notes }: KubeObject['metadata'],
  spec: unknown,
): ProfileRecord['owner'] {
  const { clusterManager, displayName } = asObject(spec);
  if (asObject(clusterManager)['name'] !== manager) return 'other';
  const targets = [notes?.[annotations.target], asText(displayName)];
  return targets.some((target) => target !== undefined && profileNameOf(target) === name)
    ? 'latchkey'
    : 'unnamed';
}

const pick = (entries: Readonly<Record<string, string>> = {}, names: readonly string[]) =>
  defined(Object.fromEntries(names.map((name) => [name, entries[name]])));

interface Compared {
  readonly labels: unknown;
  readonly annotations: unknown;
  readonly spec: unknown;
  readonly providers: unknown;
  readonly conditions: unknown;
}

/** The time of a change says nothing new. */
function fingerprintOf({ conditions, ...compared }: Compared): string {
  const listed = (Array.isArray(conditions) ? conditions : []).map((condition) => {
    const { lastTransitionTime: _, ...rest } = asObject(condition);
    return rest;
  });
  try {
    return hash('sha256', canonicalJson({ ...compared, conditions: listed }), 'hex');
  } catch {
    // Somebody else's content, nested beyond all measure: it is written over.
    return '';
  }
}
