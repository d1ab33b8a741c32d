import type { JsonObject } from '../../api/json.ts';
import type { RequestTarget } from '../../scope/request-path.ts';
import type { RequestMeaning } from '../../scope/requests/resolve-request.ts';
import type { Target } from '../targets/targets.ts';

/** A request that is not sent. */
export interface Asked {
  readonly verb: string;
  readonly apiGroup: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  readonly target: Target;
}

/** The question as the API server takes it. */
export const reviewFor = ({ verb, apiGroup, resource, subresource, namespace, name }: Asked): JsonObject => ({
  apiVersion: 'authorization.k8s.io/v1',
  kind: 'SelfSubjectAccessReview',
  spec: { resourceAttributes: { verb, group: apiGroup, resource, subresource, namespace, name } },
});

/** The request as scopes see it. */
export function meaningOf({ target, ...asked }: Asked): RequestMeaning {
  const isOverAll = asked.namespace === '' && ['list', 'watch', 'deletecollection'].includes(asked.verb);
  return {
    ...asked,
    target: requestTarget(target),
    path: '/',
    isResourceRequest: true,
    apiVersion: 'v1',
    allNamespaces: isOverAll,
    mayCreate: false,
  };
}

function requestTarget({ name }: Target): RequestTarget {
  const [kind, first = '', second = ''] = name.split('/');
  switch (kind) {
    case 'cluster':
      return { kind, cluster: first };
    case 'space':
      return { kind, project: first, space: second };
    case 'virtualcluster':
      return { kind: 'virtualCluster', project: first, virtualCluster: second };
    default:
      return { kind: 'management' };
  }
}
