import { describe, expect, it } from 'vitest';
import { projectsByName } from '../../../test/builders/projects.ts';
import { apiPrefix } from '../request-path.ts';
import { resolveRequest } from '../requests/resolve-request.ts';
import { compileScope } from './compile-scope.ts';
import { narrowingOf, narrowQuery } from './narrowing.ts';

const namespaced = ['metadata.namespace!=latchkey-system', 'metadata.namespace!=latchkey-targets'];
const ofNamespaces = ['metadata.name!=latchkey-system', 'metadata.name!=latchkey-targets'];
const all = { rules: [{}] };
const naming = { rules: [{ resources: [{ group: '', resources: ['configmaps', 'namespaces'] }] }] };
const cli = { roles: [{ role: 'platform-cli' }] };
const ofProject = { projects: [{ project: 'demo' }] };

function narrow(scopes: readonly object[], path: string, method = 'GET') {
  const target = `${apiPrefix}/management${path}`;
  const request = resolveRequest({ method, target, contentType: undefined });
  if ('problem' in request) throw new Error(request.problem);
  const gates = scopes.map((scope) => compileScope(scope as never, projectsByName));
  return narrowingOf(gates, request);
}

describe('what a list is narrowed to', () => {
  it.each<
    [
      string,
      readonly object[],
      string,
      { fields?: readonly string[]; labels?: readonly string[] } | undefined,
    ]
  >([
    ['no scope', [], '/api/v1/configmaps', undefined],
    ['all that a scope allows', [all], '/api/v1/configmaps', { fields: namespaced }],
    ['a watch', [all], '/api/v1/configmaps?watch=1', { fields: namespaced }],
    ['a watch by its path', [all], '/api/v1/watch/configmaps', { fields: namespaced }],
    ['one name', [all], '/api/v1/configmaps?fieldSelector=metadata.name=a', { fields: namespaced }],
    ['a kind that is not known', [all], '/apis/a.example.com/v1/things', { fields: namespaced }],
    ['leases', [all], '/apis/coordination.k8s.io/v1/leases', { fields: namespaced }],
    ['a watch of leases', [all], '/apis/coordination.k8s.io/v1/leases?watch=1', { fields: namespaced }],
    ['leasecandidates', [all], '/apis/coordination.k8s.io/v1beta1/leasecandidates', { fields: namespaced }],
    [
      'a watch of leasecandidates',
      [all],
      '/apis/coordination.k8s.io/v1beta1/leasecandidates?watch=1',
      { fields: namespaced },
    ],
    ['one namespace', [all], '/api/v1/namespaces/default/configmaps', undefined],
    ['one object', [all], '/api/v1/namespaces/default/configmaps/a', undefined],
    ['a kind without a namespace', [all], '/api/v1/nodes', undefined],
    ['what a rule names', [naming], '/api/v1/configmaps', undefined],
    ['what only the child names', [naming, all], '/api/v1/configmaps', { fields: namespaced }],
    ['namespaces', [all], '/api/v1/namespaces', { fields: ofNamespaces }],
    ['a watch of namespaces', [all], '/api/v1/watch/namespaces', { fields: ofNamespaces }],
    [
      'a namespace by a selector',
      [all],
      '/api/v1/namespaces?fieldSelector=metadata.name=a',
      { fields: ofNamespaces },
    ],
    ['one namespace by its name', [all], '/api/v1/namespaces/default', undefined],
    ['namespaces that a rule names', [naming], '/api/v1/namespaces', undefined],
    [
      'projects',
      [cli],
      '/api/v1/namespaces',
      { fields: ofNamespaces, labels: ['management.platform.sh/project'] },
    ],
    ['instances', [cli], '/apis/management.platform.sh/v1/virtualclusterinstances', { fields: namespaced }],
    [
      'instances of a project',
      [ofProject],
      '/apis/management.platform.sh/v1/namespaces/p-demo/spaceinstances',
      undefined,
    ],
    ['discovery', [all], '/apis', undefined],
  ])('%s', (_what, scopes, path, expected) => {
    const narrowing = narrow(scopes, path);
    expect(narrowing).toEqual(expected && { fields: [], labels: [], ...expected });
  });

  it('is nothing for what changes objects', () => {
    for (const method of ['DELETE', 'POST'])
      expect(narrow([all], '/api/v1/configmaps', method)).toBeUndefined();
  });
});

describe('the terms of a selector', () => {
  const fields = 'a!=b';
  const added = 'fieldSelector=a!%3Db';
  it.each<[string, string, string]>([
    ['no query', '/p', `/p?${added}`],
    ['an empty query', '/p?', `/p?${added}`],
    ['other options', '/p?limit=1&watch=true', `/p?${added}&limit=1&watch=true`],
    ['a selector', '/p?fieldSelector=x%3Dy&limit=1', `/p?${added}%2Cx%3Dy&limit=1`],
    ['a selector that ends with a backslash', '/p?fieldSelector=x=%5C', `/p?${added}%2Cx%3D%5C`],
    ['an empty selector', '/p?fieldSelector=+', `/p?${added}`],
    ['two selectors, of which the first counts', '/p?fieldSelector=x&fieldSelector=y', `/p?${added}%2Cx`],
    ['an encoded name', '/p?field%53elector=x', `/p?${added}%2Cx`],
    [
      'what the API server does not read',
      '/p?a;fieldSelector=x&fieldSelector=%zz&%zz=1&fieldSelector=y',
      `/p?${added}%2Cy`,
    ],
  ])('stand in front of %s', (_what, path, expected) => {
    expect(narrowQuery(path, { fields: [fields], labels: [] })).toBe(expected);
  });

  it('are of labels as well', () => {
    expect(narrowQuery('/p?labelSelector=!x', { fields: [fields], labels: ['y'] })).toBe(
      `/p?${added}&labelSelector=y%2C!x`,
    );
  });
});
