import type { JsonObject } from '../../api/json.ts';
import { extras } from '../../api/names.ts';
import { reasons } from '../../api/reasons.ts';
import { ignoreNotFound } from '../../kube/kube-error.ts';
import { servedVersion } from '../../kube/served-version.ts';
import { TargetFailure } from './target-failure.ts';
import type { TargetSession } from './target-session.ts';

/** The rules of a role. */
export type PolicyRules = readonly JsonObject[];

const ourExtras = Object.values(extras).map((extra) => `userextras/${extra}`);
const resourceVerbs = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection'];
const pathVerbs = ['get', 'post', 'put', 'patch', 'delete', 'head', 'options'];
const onBehalf = (verbs: readonly string[]) => verbs.map((verb) => `impersonate-on:user-info:${verb}`);

/**
 * Users, groups and our extras, and every request for them; no nodes, ServiceAccounts and UIDs, and not the group
 * system:masters, which the API server refuses in this form. A stolen token must not become the target's administrator.
 */
const constrainedRules: PolicyRules = [
  {
    apiGroups: ['authentication.k8s.io'],
    resources: ['users', 'groups', ...ourExtras],
    verbs: ['impersonate:user-info'],
  },
  { apiGroups: ['*'], resources: ['*'], verbs: onBehalf(resourceVerbs) },
  { nonResourceURLs: ['*'], verbs: onBehalf(pathVerbs) },
];

/** The same for an API server that knows no other form. It refuses no name. */
const unconstrainedRules: PolicyRules = [
  { apiGroups: [''], resources: ['users', 'groups'], verbs: ['impersonate'] },
  { apiGroups: ['authentication.k8s.io'], resources: ourExtras, verbs: ['impersonate'] },
];

/** Kubernetes 1.36 has constrained impersonation. Never both forms: the older verb would allow what the newer does not. */
const constrainedFrom = 36;

/**
 * Everything that the impersonator may do, by what the target says of its version.
 * @throws TargetFailure when it says none; what the request throws.
 */
export async function impersonatorRules({ client, limits }: TargetSession): Promise<PolicyRules> {
  const answer = await client.request<unknown>('GET', '/version', limits()).catch(ignoreNotFound);
  const { major, minor } = servedVersion(answer);
  if (major !== 1 || Number.isNaN(minor)) throw new TargetFailure(noVersion);
  return minor >= constrainedFrom ? constrainedRules : unconstrainedRules;
}

const noVersion = {
  reason: reasons.targetAnswer,
  message:
    'The target does not say which version of Kubernetes it is at /version: look for a proxy before its API server.',
};
