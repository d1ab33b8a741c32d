import { asObject, type JsonObject } from '../api/json.ts';
import { isObjectName } from './request-path.ts';

/** The part of a spec that limits what a credential may do. `undefined`: absent. */
export interface ScopeSource {
  readonly scope?: unknown;
  /** Deprecated: the same as `scope.rules`. */
  readonly rules?: readonly unknown[];
  /** Deprecated: the same as the role `platform-cli`. */
  readonly allowPlatformCli?: boolean;
}

export type RawScope = JsonObject;

/**
 * The scope that a spec means, with the deprecated fields in their place: `rules` in `scope.rules`; `allowPlatformCli` and
 * `scope.allowLoftCli` as a role. `undefined`: no narrowing. `{}`: nothing allowed, also for a scope that cannot be read.
 */
export function effectiveScope({
  scope,
  rules = [],
  allowPlatformCli = false,
}: ScopeSource): RawScope | undefined {
  if (scope === undefined && rules.length === 0) return undefined;
  const { allowLoftCli, ...entries } = asObject(scope);
  const role = allowPlatformCli || allowLoftCli === true ? [{ role: platformCli }] : [];
  return {
    ...entries,
    ...append('rules', entries['rules'], rules),
    ...append('roles', entries['roles'], role),
  };
}

/** Whether a credential is narrowed by itself. A kubeconfig with a token is good for its instance alone. */
export function isScoped(credential: ScopeSource & { readonly kind: string }): boolean {
  return credential.kind === 'VirtualClusterInstanceKubeConfig' || effectiveScope(credential) !== undefined;
}

export const platformCli = 'platform-cli';
export const platformCliNames: readonly unknown[] = [platformCli, 'loft-cli'];

/** The platform's own API server, and no target. */
export const platformUser = 'platform-user';

/** Whether a scope opens anything of the platform by a role. */
export const hasPlatformRole = (scope: RawScope): boolean =>
  hasPlatformCli(scope) || entriesOf(scope, 'roles').some(({ role }) => role === platformUser);

/** Whether a scope holds the role `platform-cli`, or `loft-cli`, its former name. */
export function hasPlatformCli(scope: RawScope): boolean {
  return entriesOf(scope, 'roles').some(({ role }) => platformCliNames.includes(role));
}

/** The role of a direct endpoint. With `clusters` beside it a scope opens the stream of these clusters, and nothing else. */
const agent = 'agent';

/** The clusters that a scope is the agent of; undefined for a scope that is none. */
export function agentClusters(scope: RawScope): ReadonlySet<string> | undefined {
  if (!entriesOf(scope, 'roles').some(({ role }) => role === agent)) return undefined;
  const named = entriesOf(scope, 'clusters');
  // One that is bounded to no cluster opens nothing by this role, as before there were agents.
  return named.length === 0 ? undefined : new Set(named.map(({ cluster }) => cluster).filter(isObjectName));
}

/** The entries of one list of a scope; whatever is no object is left out and so allows nothing. */
export function entriesOf(scope: RawScope, list: string): readonly RawScope[] {
  const entries = scope[list];
  return Array.isArray(entries) ? entries.filter((entry) => typeof entry === 'object' && entry !== null) : [];
}

function append(name: string, own: unknown, added: readonly unknown[]): RawScope {
  if (added.length === 0) return {};
  return { [name]: [...(Array.isArray(own) ? own : []), ...added] };
}
