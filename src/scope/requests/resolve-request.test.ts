import { describe, expect, it } from 'vitest';
import { cpuMs } from '../../../test/fakes/cpu-time.ts';
import { apiPrefix } from '../request-path.ts';
import { resolveRequest } from './resolve-request.ts';

function resolve(method: string, path: string, contentType?: string) {
  return resolveRequest({ method, target: `${apiPrefix}/cluster/eu${path}`, contentType });
}

const pods = {
  target: { kind: 'cluster', cluster: 'eu' },
  isResourceRequest: true,
  apiGroup: '',
  apiVersion: 'v1',
  namespace: 'default',
  resource: 'pods',
  subresource: '',
  name: '',
  allNamespaces: false,
  mayCreate: false,
};

describe('resolveRequest', () => {
  it('names every part of a request', () => {
    expect(resolve('GET', '/api/v1/namespaces/default/pods/web%20a/log?follow=true')).toEqual({
      ...pods,
      forward: '/api/v1/namespaces/default/pods/web%20a/log?follow=true',
      path: '/api/v1/namespaces/default/pods/web a/log',
      verb: 'get',
      subresource: 'log',
      name: 'web a',
    });
  });

  it.each<[string, string, object]>([
    ['GET', '/api/v1/pods', { verb: 'list', namespace: '', allNamespaces: true }],
    ['GET', '/api/v1/namespaces/default/pods/', { verb: 'list' }],
    ['GET', '/api/v1/namespaces/default/pods?watch', { verb: 'watch' }],
    ['GET', '/api/v1/namespaces/default/pods?watch=False', { verb: 'list' }],
    ['GET', '/api/v1/namespaces/default/pods/web?watch=1', { verb: 'get', name: 'web' }],
    ['HEAD', '/api/v1/namespaces/default/pods', { verb: 'list' }],
    ['DELETE', '/api/v1/namespaces/default/pods', { verb: 'deletecollection' }],
    ['OPTIONS', '/api/v1/namespaces/default/pods', { verb: '' }],
    ['DELETE', '/api/v1/watch/namespaces/default/pods/web', { verb: 'watch', name: 'web' }],
    ['GET', '/api/v1/proxy/namespaces/default/pods/web/log', { verb: 'proxy', name: 'web', subresource: '' }],
    ['GET', '/api/v1/namespaces/default', { verb: 'get', resource: 'namespaces', name: 'default' }],
    [
      'GET',
      '/api/v1/namespaces/default/status',
      { verb: 'get', resource: 'namespaces', name: 'default', subresource: 'status' },
    ],
    [
      'GET',
      '/api/v1/namespaces/status',
      { verb: 'get', resource: 'namespaces', name: 'status', namespace: 'status' },
    ],
    [
      'GET',
      '/api/v1/namespaces/default/finalize/x',
      { verb: 'get', resource: 'namespaces', name: 'default', subresource: 'finalize' },
    ],
    ['GET', '/api/v1/nodes', { verb: 'list', namespace: '', resource: 'nodes' }],
    [
      'GET',
      '/api/v1/namespaces/default/pods?fieldSelector=metadata.name=web&watch=1',
      { verb: 'watch', name: 'web' },
    ],
  ])('%s %s', (method, path, meaning) => {
    expect(resolve(method, path)).toMatchObject({ ...pods, ...meaning });
  });

  it.each([
    ['GET', '/', 'get'],
    ['GET', '/api/v1', 'get'],
    ['POST', '/apis/apps/v1', 'post'],
    ['HEAD', '/healthz', 'head'],
    ['GET', '/apix/v1/pods', 'get'],
    ['GET', '/API/v1/pods', 'get'],
  ])('%s %s is no request for a resource', (method, path, verb) => {
    expect(resolve(method, path)).toMatchObject({ isResourceRequest: false, verb, path, resource: '' });
  });

  it.each([
    ['application/json-patch+json', false],
    ['application/merge-patch+json', false],
    ['application/strategic-merge-patch+json; charset=utf-8', false],
    ['application/apply-patch+yaml', true],
    ['application/apply-patch+cbor', true],
    ['application/apply-patch+yaml;a', true],
    ['application/json', true],
    ['', true],
    [undefined, true],
  ])('takes a patch of the type %j for one that may create: %s', (contentType, mayCreate) => {
    const patch = resolve('PATCH', '/api/v1/namespaces/default/pods/web', contentType);
    expect(patch).toMatchObject({ verb: 'patch', mayCreate });
  });

  it('forwards the root where the path ends with the target', () => {
    expect(resolve('GET', '?pretty')).toMatchObject({ forward: '/?pretty', path: '/' });
  });

  it.each([
    ['a very long name', `/api/v1/namespaces/default/pods/${'a'.repeat(100_000)}`],
    ['very many segments', `/api/v1/namespaces/default/pods/web/proxy${'/a'.repeat(50_000)}`],
    ['very many encoded bytes', `/api/v1/pods/${'%20'.repeat(30_000)}`],
    ['very many parameters', `/api/v1/pods?${'a=b&'.repeat(900)}fieldSelector=metadata.name=a`],
    [
      'a label selector of spaces',
      `/api/v1/pods?fieldSelector=metadata.name=a&labelSelector=a${'+'.repeat(50_000)}b`,
    ],
    [
      'a label selector of dots',
      `/api/v1/pods?fieldSelector=metadata.name=a&labelSelector=${'a.'.repeat(50_000)}/a`,
    ],
    [
      'a label selector of dashes',
      `/api/v1/pods?fieldSelector=metadata.name=a&labelSelector=a${'-'.repeat(50_000)}/a`,
    ],
    [
      'a label selector of commas',
      `/api/v1/pods?fieldSelector=metadata.name=a&labelSelector=a+in+(${','.repeat(50_000)}`,
    ],
    [
      'a label selector of values that are empty',
      `/api/v1/pods?fieldSelector=metadata.name=a&labelSelector=a+in+(${',+'.repeat(24)}!)`,
    ],
    [
      'a label selector of parentheses',
      `/api/v1/pods?fieldSelector=metadata.name=a&labelSelector=${'('.repeat(50_000)}`,
    ],
    ['a field selector of backslashes', `/api/v1/pods?fieldSelector=metadata.name=${'%5C'.repeat(30_000)}`],
    ['a field selector of commas', `/api/v1/pods?fieldSelector=metadata.name=a${','.repeat(50_000)}`],
    ['a field selector without an operator', `/api/v1/pods?fieldSelector=${'metadata.name'.repeat(5_000)}`],
  ])('reads %s in no time', (_, path) => {
    expect(cpuMs(() => resolve('GET', path))).toBeLessThan(250);
  });

  it('refuses more parameters than the API server reads', () => {
    expect(resolve('GET', `/api/v1/pods?${'&'.repeat(20_000)}watch=1`)).toMatchObject({
      code: 'ListOptions',
    });
  });
});
