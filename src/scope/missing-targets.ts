import type { CredentialKind } from '../api/credential-kinds.ts';
import { effectiveScope, type ScopeSource } from './effective-scope.ts';
import { type NamedTargets, namedTargets, namesNothing, type TargetName } from './named-targets.ts';

export type ScopedCredential = ScopeSource & { readonly kind: CredentialKind };
export type IsThere = (name: TargetName) => boolean;

const maxNames = 3;

/** The names in the scope of a credential; undefined without a scope. */
export function targetsOf(credential: ScopedCredential): NamedTargets | undefined {
  const scope = effectiveScope(credential);
  const targets = scope && namedTargets(scope);
  return targets && credential.kind === 'DirectClusterEndpointToken' ? withoutClusters(targets) : targets;
}

/** Where a scope names targets and none of them is there: the first few, as people read them. */
export function missingTargets(
  credential: ScopedCredential,
  isThere: IsThere,
): readonly string[] | undefined {
  const targets = targetsOf(credential);
  if (targets === undefined || !namesNothing(targets, isThere)) return undefined;
  const missing = targets.named.map((target) => target.find((names) => !names.some(isThere))?.[0]);
  const names = [...new Set(missing.filter((name) => name !== undefined))].slice(0, maxNames);
  return names.map((name) => describe(name, isThere));
}

/** One sentence without its full stop. */
export function missingTargetsText(missing: readonly string[]): string {
  const which = missing.length === 0 ? '' : ` (there is ${missing.map((each) => `no ${each}`).join(', ')})`;
  return `Nothing that spec.scope names exists${which}, so the scope allows next to nothing: correct the name, or create what it names`;
}

const words: Readonly<Record<string, string>> = {
  virtualCluster: 'virtual cluster',
  instance: 'virtual cluster',
  namespace: 'project in the namespace',
};

function describe(name: TargetName, isThere: IsThere): string {
  const [kind = '', ...rest] = name.split('/');
  const text = `${words[kind] ?? kind} ${rest.join('/')}`;
  // People see namespaces all day, and projects nowhere.
  const isNamespace = kind === 'project' && isThere(`namespace/${rest.join('/')}`);
  return isNamespace
    ? `${text}, which is the namespace of one: leave out the prefix that it begins with`
    : text;
}

/** A cluster takes such a token itself, by the audience in it, and need not be connected: no Cluster has to have that name. */
const withoutClusters = ({ isOpen, named }: NamedTargets): NamedTargets => ({
  isOpen: isOpen || named.some((target) => target.flat().some((name) => name.startsWith('cluster/'))),
  named,
});
