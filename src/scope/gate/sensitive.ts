import { credentialKinds } from '../../api/credential-kinds.ts';
import { group, systemNamespace, targetsNamespace } from '../../api/names.ts';
import { credentialLocks } from '../../api/resources.ts';
import type { RequestMeaning } from '../requests/resolve-request.ts';

/**
 * Whether a request could lift the limits of a scope, by making or taking another credential or by giving rights away. Only a
 * rule that names its resource without a wildcard allows it.
 */
export function needsName(request: RequestMeaning): boolean {
  if (!request.isResourceRequest) return false;
  const { verb, namespace, apiGroup, resource, subresource } = request;
  // A star stands in reviews for everything, so for these as well.
  if (verb === '*' || apiGroup === '*' || resource === '*' || subresource === '*') return true;
  if (isProtectedNamespace(namespace) || delegates(verb)) return true;
  switch (apiGroup) {
    case '':
      return isSensitiveCore(request);
    case 'certificates.k8s.io':
      return resource === 'certificatesigningrequests';
    case 'rbac.authorization.k8s.io':
      return !reads.has(verb);
    case 'admissionregistration.k8s.io':
    case 'apiextensions.k8s.io':
    case 'apiregistration.k8s.io':
      // Without our policies and schemas, or with a webhook that reads along, every limit here could be lifted.
      return !reads.has(verb);
    case group:
      return credentialResources.has(resource) || resource === credentialLocks.plural;
    default:
      return false;
  }
}

/**
 * Whether the list above holds for a scope that names the target whole. In a virtual cluster or a cluster of its own, the rights that
 * the user has there decide alone: without Secrets and roles no one can install anything. The platform stays guarded, by whatever
 * name a request reaches it; a space on it is one namespace, and only those of Latchkey itself are guarded in it.
 */
export function isProtected({ target, namespace }: RequestMeaning, isPlatform: boolean): boolean {
  if (target.kind === 'management') return true;
  if (!isPlatform) return false;
  return target.kind !== 'space' || isProtectedNamespace(namespace);
}

/** The kinds whose objects are credentials, whatever target they are asked of: a cluster may be the platform itself. */
export const isCredentialRequest = ({ apiGroup, resource }: RequestMeaning): boolean =>
  apiGroup === group && credentialResources.has(resource);

const credentialResources: ReadonlySet<string> = new Set(
  Object.values(credentialKinds).map(({ plural }) => plural),
);
/** Where Latchkey keeps its own. */
export const protectedNamespaces = [systemNamespace, targetsNamespace] as const;

export const isProtectedNamespace = (namespace: string): boolean =>
  namespace === systemNamespace || namespace === targetsNamespace;

const reads: ReadonlySet<string> = new Set(['get', 'list', 'watch']);
const harmlessForSecrets: ReadonlySet<string> = new Set([...reads, 'delete', 'deletecollection']);
const delegatingVerbs: ReadonlySet<string> = new Set(['bind', 'escalate', 'approve', 'sign', 'proxy']);

const delegates = (verb: string): boolean => delegatingVerbs.has(verb) || verb.startsWith('impersonate');

function isSensitiveCore({ verb, resource, subresource, allNamespaces }: RequestMeaning): boolean {
  switch (resource) {
    case 'secrets':
      // Among those of all namespaces are the keys that sign tokens.
      return allNamespaces || !harmlessForSecrets.has(verb);
    case 'serviceaccounts':
      return subresource === 'token';
    case 'nodes':
      return subresource === 'proxy';
    case 'pods':
      return subresource === 'ephemeralcontainers';
    default:
      return false;
  }
}
