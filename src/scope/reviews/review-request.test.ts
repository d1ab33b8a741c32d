import { describe, expect, it } from 'vitest';
import { projectsByName } from '../../../test/builders/projects.ts';
import type { RawScope } from '../effective-scope.ts';
import { authorise } from '../gate/authorise.ts';
import { compileScope } from '../gate/compile-scope.ts';
import { apiPrefix, type RequestTarget } from '../request-path.ts';
import { resolveRequest } from '../requests/resolve-request.ts';
import { reviewToRequest } from './review-request.ts';

const eu: RequestTarget = { kind: 'cluster', cluster: 'eu' };

function can(scope: RawScope, spec: unknown): boolean {
  const request = reviewToRequest(spec, eu);
  if (request === undefined) throw new Error('the review cannot be read');
  const gates = [compileScope(scope, projectsByName)];
  return authorise({ gates, request, place: { isPlatform: true } }).allowed;
}

describe('reviewToRequest', () => {
  it.each([
    [
      'GET',
      '/api/v1/namespaces/default/pods/web',
      { namespace: 'default', verb: 'get', version: 'v1', resource: 'pods', name: 'web' },
    ],
    ['GET', '/api/v1/pods', { verb: 'list', version: 'v1', resource: 'pods' }],
    [
      'GET',
      '/api/v1/namespaces/default',
      { verb: 'get', version: 'v1', resource: 'namespaces', name: 'default', namespace: 'other' },
    ],
    [
      'GET',
      '/api/v1/nodes?watch=1',
      { verb: 'watch', version: 'v1', resource: 'nodes', namespace: 'default' },
    ],
    [
      'PUT',
      '/apis/apps/v1/namespaces/a/deployments/web/scale',
      {
        namespace: 'a',
        verb: 'update',
        group: 'apps',
        version: 'v1',
        resource: 'deployments',
        subresource: 'scale',
        name: 'web',
      },
    ],
  ])('asks about %s %s', (method, path, resourceAttributes) => {
    const request = resolveRequest({
      method,
      target: `${apiPrefix}/cluster/eu${path}`,
      contentType: undefined,
    });
    expect({ ...reviewToRequest({ resourceAttributes }, eu), path, forward: path }).toEqual({
      ...request,
      path,
      forward: path,
    });
  });

  it('asks about a path that is no resource', () => {
    const request = resolveRequest({
      method: 'GET',
      target: `${apiPrefix}/cluster/eu/metrics`,
      contentType: undefined,
    });
    const review = reviewToRequest({ nonResourceAttributes: { path: '/metrics', verb: 'get' } }, eu);
    expect({ ...review, forward: '/metrics' }).toEqual(request);
  });

  it.each([
    ['nothing', undefined],
    ['no attributes', {}],
    ['both attributes', { resourceAttributes: {}, nonResourceAttributes: {} }],
    ['a list', { resourceAttributes: [] }],
    ['a number for a text', { resourceAttributes: { verb: 5 } }],
    ['an object for a text', { nonResourceAttributes: { path: {} } }],
    ['unreadable attributes beside others', { resourceAttributes: {}, nonResourceAttributes: 'a' }],
  ])('leaves %s to the API server', (_, spec) => {
    expect(reviewToRequest(spec, eu)).toBeUndefined();
  });

  it.each([
    ['unknown fields', { resourceAttributes: { verb: 'get', path: 5, more: {} } }],
    ['selectors', { resourceAttributes: { verb: 'get', fieldSelector: { rawSelector: 'a=b' }, name: null } }],
    ['unknown fields beside a path', { nonResourceAttributes: { verb: 'get', resource: 5 } }],
  ])('reads past %s, as the API server does', (_, spec) => {
    expect(reviewToRequest(spec, eu)).toMatchObject({ verb: 'get' });
  });

  const cluster = { clusters: [{ cluster: 'eu' }] };
  const reader = {
    rules: [
      {
        verbs: ['get'],
        resources: [{ group: '', resources: ['pods', 'pods/exec'] }],
        namespaces: ['default'],
      },
    ],
  };
  it.each<[string, RawScope, boolean, object]>([
    ['get of a pod', cluster, true, { verb: 'get', resource: 'pods' }],
    [
      'everything, with an entry that still withholds some',
      cluster,
      false,
      { verb: '*', group: '*', resource: '*' },
    ],
    ['every verb', cluster, false, { verb: '*', resource: 'pods' }],
    ['create of secrets', cluster, false, { verb: 'create', resource: 'secrets', namespace: 'default' }],
    ['a look at all secrets', cluster, false, { verb: 'get', resource: 'secrets' }],
    ['impersonation', cluster, false, { verb: 'impersonate', resource: 'users', name: 'a' }],
    [
      'constrained impersonation',
      cluster,
      false,
      { verb: 'impersonate:user-info', group: 'authentication.k8s.io', resource: 'users' },
    ],
    [
      'binding of a role',
      cluster,
      false,
      { verb: 'bind', group: 'rbac.authorization.k8s.io', resource: 'clusterroles' },
    ],
    ['what a rule allows', reader, true, { verb: 'get', resource: 'pods', namespace: 'default' }],
    [
      'another namespace than the rule has',
      reader,
      false,
      { verb: 'get', resource: 'pods', namespace: 'other' },
    ],
    ['all namespaces, where the rule has one', reader, false, { verb: 'get', resource: 'pods' }],
    [
      'every resource, where the rule has one',
      reader,
      false,
      { verb: 'get', resource: '*', namespace: 'default' },
    ],
    [
      'a shell, where the rule only reads',
      reader,
      false,
      { verb: 'get', resource: 'pods', subresource: 'exec', namespace: 'default' },
    ],
    [
      'a shell by its own verb',
      reader,
      false,
      { verb: 'create', resource: 'pods', subresource: 'exec', namespace: 'default' },
    ],
    ['every URL', { rules: [{ nonResourceURLs: ['/metrics'] }] }, false, { path: '*' }],
  ])('answers for %s', (_, scope, allowed, attributes) => {
    const spec =
      'path' in attributes
        ? { nonResourceAttributes: { verb: 'get', ...attributes } }
        : { resourceAttributes: attributes };
    expect(can(scope, spec)).toBe(allowed);
  });
});
