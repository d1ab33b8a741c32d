import { reasons } from '../../api/reasons.ts';
import type { CredentialRecord } from '../../credentials/record.ts';
import { effectiveScope } from '../../scope/effective-scope.ts';
import { type NamedTargets, namedTargets, namesNothing, type TargetName } from '../../scope/named-targets.ts';
import type { DesiredStatus } from './desired-status.ts';

/** Of a scope that names targets of which none is there. */
export interface UnmatchedScope {
  /** As people read them; the first few. */
  readonly names: readonly TargetName[];
  /** From when it is said, epoch milliseconds. */
  readonly from: number;
}

/** A project is often applied together with the keys for it, and watches bring the two in any order; milliseconds. */
const grace = 3_000;
const maxNames = 3;

/** Every name in the scope of a credential: whether there is one of them decides about the condition. */
export function scopeNames(record: CredentialRecord): readonly TargetName[] {
  const targets = targetsOf(record);
  return targets === undefined || targets.isOpen ? [] : [...new Set(targets.named.flat(2))];
}

export function findUnmatchedScope(
  record: CredentialRecord,
  hasTarget: (name: TargetName) => boolean,
): UnmatchedScope | undefined {
  const targets = targetsOf(record);
  if (targets === undefined || !namesNothing(targets, hasTarget)) return undefined;
  const missing = targets.named.map((target) => target.find((names) => !names.some(hasTarget))?.[0]);
  const names = [...new Set(missing.filter((name) => name !== undefined))].slice(0, maxNames);
  return { names, from: record.created + grace };
}

/** The part of a status that says so; nothing while what is named may be on its way. */
export function scopeCondition(
  unmatched: UnmatchedScope | undefined,
  now: number,
): Pick<DesiredStatus, 'scopeMatchesNothing'> {
  if (unmatched === undefined || now < unmatched.from) return {};
  return { scopeMatchesNothing: { reason: reasons.scopeMatchesNothing, message: messageAbout(unmatched) } };
}

/** When to look again, so that it is said in time. */
export const scopeRecheck = (unmatched: UnmatchedScope | undefined): readonly number[] =>
  unmatched === undefined ? [] : [unmatched.from];

function messageAbout({ names }: UnmatchedScope): string {
  const missing = names.map((name) => `no ${describe(name)}`).join(', ');
  const which = missing === '' ? '' : ` (there is ${missing})`;
  return `Nothing that spec.scope names exists${which}, so the scope allows next to nothing: correct the name, or create what it names.`;
}

const words: Readonly<Record<string, string>> = {
  virtualCluster: 'virtual cluster',
  instance: 'virtual cluster',
  namespace: 'project in the namespace',
};

function describe(name: TargetName): string {
  const [kind = '', ...rest] = name.split('/');
  return `${words[kind] ?? kind} ${rest.join('/')}`;
}

function targetsOf(record: CredentialRecord): NamedTargets | undefined {
  const scope = effectiveScope(record);
  const targets = scope && namedTargets(scope);
  return targets && record.kind === 'DirectClusterEndpointToken' ? withoutClusters(targets) : targets;
}

/** A cluster takes such a token itself, by the audience in it, and need not be connected: no Cluster has to have that name. */
const withoutClusters = ({ isOpen, named }: NamedTargets): NamedTargets => ({
  isOpen: isOpen || named.some((target) => target.flat().some((name) => name.startsWith('cluster/'))),
  named,
});
