import { extras } from '../../api/names.ts';
import { type Reason, reasons } from '../../api/reasons.ts';
import type { Identity } from '../../credentials/identity.ts';
import { acceptsPrevious, isLive, type LiveOptions } from '../../credentials/liveness.ts';
import type { LiveRecord } from '../../credentials/record.ts';
import { impersonationHeaders } from '../../kube/client/impersonation.ts';
import { isLimited } from '../../platform/limited-credential.ts';
import type { Locks } from '../../platform/locks.ts';
import { effectiveScope, hasPlatformCli, platformCli, type RawScope } from '../../scope/effective-scope.ts';
import { compileScope } from '../../scope/gate/compile-scope.ts';
import type { Gate } from '../../scope/gate/gate.ts';
import { type FindProject, projectOfNamespace } from '../../scope/request-path.ts';
import type { CredentialRecords } from './credential-records.ts';
import type { TargetRecords } from './target-records.ts';

/** A credential that is good now, with all that a request with it needs. Made once, not for each request. */
export interface Verdict {
  readonly record: LiveRecord;
  /** Nearest first. */
  readonly ancestors: readonly LiveRecord[];
  readonly identity: Identity;
  /** Epoch milliseconds. */
  readonly end: number;
  /** Whether it has an end, a scope or a parent: what it makes belongs below it. */
  readonly isLimited: boolean;
  /** Every request must pass each of them. */
  readonly gates: readonly Gate[];
  /** The same in two verdicts of one object when their gates are made from the same. */
  readonly scopes: string;
  /** Whose scope each gate is, for people: `OwnedAccessKey "ci"`. */
  readonly gateOwners: readonly string[];
  /** Who the target is to carry the request out as: name and value in turn. */
  readonly impersonation: readonly string[];
}

/** Why a credential grants nothing. */
export interface Refused {
  readonly reason: Reason | typeof notForGateway;
}

/** Of a token for direct endpoints that is not for the command line client as well. */
const notForGateway = 'NotForGateway';

export interface JudgeOptions extends LiveOptions {
  readonly records: Pick<CredentialRecords, 'accessKey'>;
  readonly targets: Pick<TargetRecords, 'instances' | 'findProject'>;
  readonly locks: Pick<Locks, 'find'>;
  readonly projectNamespacePrefix: string;
}

/** Whether the credential with this hash, which the record claims, is good at `now`, and who it speaks for. */
export function judge(
  record: LiveRecord,
  hash: string,
  now: number,
  options: JudgeOptions,
): Verdict | Refused {
  const life = judgeLife(record, hash, now, options);
  if ('reason' in life) return life;
  const { findProject } = options.targets;
  const scopes = ownedScopes(record, life.ancestors, options.projectNamespacePrefix);
  if (scopes === undefined) return { reason: notForGateway };
  return {
    ...life,
    gates: scopes.map(([owner, scope]) =>
      owner === record ? compileScope(scope, findProject) : gateOfAncestor(owner, scope, findProject),
    ),
    gateOwners: scopes.map(([{ kind, name }]) => `${kind} "${name}"`),
  };
}

const gatesOfAncestors = new WeakMap<FindProject, WeakMap<LiveRecord, Gate>>();

/** A gate is several times as large as its scope, and one user may have many keys below eight with long ones. */
function gateOfAncestor(ancestor: LiveRecord, scope: RawScope, findProject: FindProject): Gate {
  const gates = gatesOfAncestors.get(findProject) ?? new WeakMap<LiveRecord, Gate>();
  gatesOfAncestors.set(findProject, gates);
  const gate = gates.get(ancestor) ?? compileScope(scope, findProject);
  gates.set(ancestor, gate);
  return gate;
}

/** The same for a token at a direct endpoint, which makes gates of its scopes itself. There are many, and few are used here. */
export function judgeForEndpoint(
  record: LiveRecord,
  hash: string,
  now: number,
  options: JudgeOptions,
): Verdict | Refused {
  if (record.kind !== 'DirectClusterEndpointToken') return { reason: notForGateway };
  const life = judgeLife(record, hash, now, options);
  return 'reason' in life ? life : { ...life, gates: [], gateOwners: [] };
}

function judgeLife(
  record: LiveRecord,
  hash: string,
  now: number,
  options: JudgeOptions,
): Omit<Verdict, 'gates' | 'gateOwners'> | Refused {
  const life = isLive<LiveRecord>(record, options.records.accessKey, now, options);
  if (!life.live) return { reason: life.reason };
  const end = endOfHash(record, hash, now, life.end);
  if (end === undefined) return { reason: reasons.unconfirmed };
  const instance = instanceProblem(record, options.targets.instances);
  if (instance !== undefined) return { reason: instance };
  const { identity, ancestors } = life;
  if (options.locks.find(record, ancestors, { now, hash }) !== undefined) return { reason: reasons.locked };
  return {
    record,
    ancestors,
    identity,
    end,
    isLimited: isLimited(record),
    // A fingerprint covers all that narrows, and is confirmed.
    scopes: [record, ...ancestors].map(({ status }) => status.fingerprint).join(' '),
    impersonation: impersonationOf(record, identity),
  };
}

export type OwnedScope = readonly [LiveRecord, RawScope];

/**
 * The scopes that narrow the credential: its kind, its own scope, and that of each ancestor. Undefined for one that is not meant for us.
 */
export function ownedScopes(
  record: LiveRecord,
  ancestors: readonly LiveRecord[],
  prefix: string,
): readonly OwnedScope[] | undefined {
  const byKind = scopeOfKind(record, prefix);
  if (byKind === 'none') return undefined;
  const written = [record, ...ancestors].map((each): OwnedScope | undefined => {
    const scope = effectiveScope(each);
    return scope && [each, scope];
  });
  return [byKind && ([record, byKind] as const), ...written].filter((scope) => scope !== undefined);
}

/**
 * A kubeconfig is good for its virtual cluster alone. A token is for direct endpoints: here it serves the command line client, and
 * only where its scope says so.
 */
function scopeOfKind(record: LiveRecord, prefix: string): RawScope | undefined | 'none' {
  switch (record.kind) {
    case 'OwnedAccessKey':
      return undefined;
    case 'DirectClusterEndpointToken':
      return hasPlatformCli(effectiveScope(record) ?? {}) || record.allowPlatformCli
        ? { roles: [{ role: platformCli }] }
        : 'none';
    case 'VirtualClusterInstanceKubeConfig': {
      const project = projectOfNamespace(record.namespace ?? '', prefix);
      const virtualCluster = record.kubeConfig?.instance;
      return project === undefined ? {} : { virtualClusters: [{ project, virtualCluster }] };
    }
  }
}

/** Undefined for a hash that is only claimed in spec. */
function endOfHash(record: LiveRecord, hash: string, now: number, end: number): number | undefined {
  const { credentialHash, previous } = record.status;
  if (credentialHash === hash) return end;
  if (previous?.credentialHash !== hash || !acceptsPrevious(record, now)) return undefined;
  return Math.min(end, previous.expirationTimestamp);
}

/** A kubeconfig ends with the instance that it was issued for; another one of the same name is not meant. */
function instanceProblem(
  { kubeConfig, namespace = '', status }: LiveRecord,
  instances: TargetRecords['instances'],
): Reason | undefined {
  if (kubeConfig === undefined) return undefined;
  const instance = instances.get(`${namespace}/${kubeConfig.instance}`);
  const isThere = instance !== undefined && instance.uid === status.instanceUID;
  return isThere && instance.deleted === undefined ? undefined : reasons.instanceGone;
}

/** Names that the API server reserves throw here, so that no verdict exists for them. */
function impersonationOf(record: LiveRecord, { user, groups }: Identity): readonly string[] {
  const extra = {
    [extras.accessKey]: [`${record.name}/${record.uid}`],
    ...(isLimited(record) ? { [extras.accessKeyLimited]: ['true'] } : {}),
  };
  return impersonationHeaders({ user, groups, extra });
}
