import { describe, expect, it } from 'vitest';
import { projectsByName } from '../../../test/builders/projects.ts';
import type { RawScope } from '../effective-scope.ts';
import { apiPrefix } from '../request-path.ts';
import { resolveRequest } from '../requests/resolve-request.ts';
import { authorise } from './authorise.ts';
import { compileScope } from './compile-scope.ts';
import { explainDenial } from './explain.ts';

function explain(scope: RawScope, line: string): string {
  const [method = '', path = ''] = line.split(' ');
  const request = resolveRequest({ method, target: apiPrefix + path, contentType: undefined });
  if ('problem' in request) throw new Error(request.problem);
  const answer = authorise({
    gates: [compileScope(scope, projectsByName)],
    request,
    place: { namespace: 'team-shop', isPlatform: true },
  });
  if (answer.allowed) throw new Error(`${line} is allowed`);
  return explainDenial(answer, request, 'OwnedAccessKey "ci"');
}

const nothing: RawScope = {};
const cluster: RawScope = { clusters: [{ cluster: 'eu' }] };
const reader: RawScope = { rules: [{ verbs: ['get'] }] };

describe('explainDenial', () => {
  it.each([
    [
      nothing,
      'GET /cluster/eu/api/v1/pods',
      'cannot list "pods" in the cluster "eu": the scope of OwnedAccessKey "ci" has no entry for the cluster "eu"; add it to scope.clusters',
    ],
    [
      nothing,
      'GET /project/demo/virtualcluster/shop/metrics',
      'cannot get "/metrics" in the virtual cluster "shop" of the project "demo": the scope of OwnedAccessKey "ci" has no entry for the virtual cluster "shop" of the project "demo"; add it to scope.virtualClusters or scope.projects',
    ],
    [
      nothing,
      'GET /management/api/v1/namespaces/a/pods/b',
      'cannot get "pods" "b" in the namespace "a" on the platform: the scope of OwnedAccessKey "ci" has no entry for the platform; add it to scope.projects, scope.roles or scope.rules',
    ],
    [
      nothing,
      'GET /project/demo/space/shop/api',
      'cannot get "/api" in the space "shop" of the project "demo": the scope of OwnedAccessKey "ci" has no entry for the space "shop" of the project "demo"; add it to scope.spaces or scope.projects',
    ],
    [
      cluster,
      'GET /project/demo/space/shop/api/v1/pods',
      'cannot list "pods" in the space "shop" of the project "demo": a space gives what is in its namespace, and that namespace itself; this is neither',
    ],
    [
      reader,
      'DELETE /cluster/eu/apis/apps/v1/namespaces/a/deployments',
      'cannot deletecollection "deployments" of the group "apps" in the namespace "a" in the cluster "eu": no entry for the cluster "eu" in the scope of OwnedAccessKey "ci" allows it',
    ],
    [
      reader,
      'GET /cluster/eu/api/v1/namespaces/a/pods/b/exec',
      'cannot create "pods/exec" "b" in the namespace "a" in the cluster "eu": no entry for the cluster "eu" in the scope of OwnedAccessKey "ci" allows it',
    ],
    [
      reader,
      'OPTIONS /cluster/eu/api/v1/pods',
      'cannot use "pods" in the cluster "eu": no entry for the cluster "eu" in the scope of OwnedAccessKey "ci" allows it',
    ],
    [
      cluster,
      'POST /cluster/eu/api/v1/namespaces/a/secrets',
      'cannot create "secrets" in the namespace "a" in the cluster "eu": with a scope this takes a rule that names "secrets" without a wildcard, and the scope of OwnedAccessKey "ci" has none',
    ],
  ])('of %j for %s', (scope, line, message) => {
    expect(explain(scope, line)).toBe(message);
  });

  it('writes only visible ASCII of what the holder sent', () => {
    expect(explain(nothing, 'GET /cluster/eu/%e2%80%ae%22a')).toContain('cannot get "/\\u202e\\"a"');
  });
});
