import { describe, expect, it } from 'vitest';
import { group } from '../../../api/names.ts';
import * as resources from '../../../api/resources.ts';
import { type ResolvedRequest, resolveRequest } from '../../../scope/requests/resolve-request.ts';
import { mayBecomeTunnel, protocolOf, type UpgradeProtocol } from './upgrade-request.ts';

const targets = ['management', 'cluster/c', 'project/p/space/s', 'project/p/virtualcluster/v'];
const protocols: readonly UpgradeProtocol[] = ['websocket', 'SPDY/3.1'];

function judge(method: string, path: string): readonly boolean[] {
  return targets.flatMap((target) => {
    const asked = resolveRequest({ method, target: `/kubernetes/${target}${path}`, contentType: undefined });
    expect(asked).not.toHaveProperty('problem');
    return protocols.flatMap((protocol) =>
      [true, false].map((hasOrigin) => mayBecomeTunnel(asked as ResolvedRequest, { protocol, hasOrigin })),
    );
  });
}

describe('never a tunnel is', () => {
  /** All stored kinds, and projects. */
  const ours = Object.values(resources).flatMap((one) =>
    'plural' in one && one.group === group ? [one.plural] : [],
  );
  const subresources = [
    '',
    '/status',
    '/kubeconfig',
    '/livecredentials',
    '/exec',
    '/attach',
    '/portforward',
    '/proxy',
    '/proxy/a',
    '/log',
  ];
  const ways = ['v1', 'v9', 'v1/watch'].flatMap((version) => [version, `${version}/namespaces/p-a`]);

  it('all kinds of ours are among them', () => expect(ours).toHaveLength(8));

  it.each([...ours, 'selves'])('what the gateway answers itself: %s', (resource) => {
    const bases = ways.map((way) => `/apis/${group}/${way}/${resource}`);
    const objects = bases.flatMap((base) => subresources.map((subresource) => `${base}/a${subresource}`));
    for (const path of [...objects, ...bases, ...bases.map((base) => `${base}?watch=true`)])
      for (const method of ['GET', 'POST']) expect(judge(method, path)).not.toContain(true);
  });

  it.each([
    '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
    '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews',
    '/apis/authentication.k8s.io/v1/tokenreviews',
    '/api',
    '/apis',
    `/apis/${group}`,
    `/apis/${group}/v1`,
    '/openapi/v2',
    '/openapi/v3',
    '/version',
    '/',
    '/api/v1/namespaces',
    '/api/v1/namespaces/default/pods/a',
    '/api/v1/namespaces/default/pods/exec',
    '/api/v1/namespaces/default/secrets/a/exec',
    '/api/v1/namespaces/default/pods/a/eviction',
    '/api/v1/namespaces/default/serviceaccounts/a/token',
    '/api/v1/proxy/namespaces/default/pods/a',
    '/apis/example.com/v1/namespaces/default/pods/a/exec',
    '/apis/example.com/v1/namespaces/default/services/a/proxy/b',
    '/apis/apps/v1/namespaces/default/deployments/a/scale',
  ])('%s', (path) => {
    for (const method of ['GET', 'POST']) expect(judge(method, path)).not.toContain(true);
  });

  it('a session that is asked for by another method', () => {
    for (const method of ['PUT', 'PATCH', 'DELETE', 'OPTIONS'])
      expect(judge(method, '/api/v1/namespaces/default/pods/a/exec')).not.toContain(true);
  });
});

it.each([
  'pods/a/exec',
  'pods/a/attach',
  'pods/a/portforward',
  'pods/a/proxy',
  'services/a/proxy/b',
  'services/https:a:b/proxy',
])('a tunnel may become of %s, in each target and over both protocols', (place) => {
  for (const method of ['GET', 'POST'])
    expect(judge(method, `/api/v1/namespaces/default/${place}`)).not.toContain(false);
});

it.each(['/api/v1/pods?watch=true', '/apis/apps/v1/watch/deployments', '/api/v1/namespaces/a/pods/b/log'])(
  'a tunnel may become of %s over a websocket with an origin alone',
  (path) => expect(judge('GET', path)).toEqual(targets.flatMap(() => [true, false, false, false])),
);

it.each<[string | undefined, string, UpgradeProtocol | undefined]>([
  ['GET', 'websocket', 'websocket'],
  ['GET', 'WebSocket', 'websocket'],
  ['POST', 'SPDY/3.1', 'SPDY/3.1'],
  ['POST', 'spdy/3.1', 'SPDY/3.1'],
  ['POST', 'websocket', undefined],
  ['GET', 'SPDY/3.1', undefined],
  ['POST', 'SPDY/3', undefined],
  ['GET', 'websocket, h2c', undefined],
  ['GET', 'h2c', undefined],
  ['GET', '', undefined],
  [undefined, 'websocket', undefined],
])('%s with "Upgrade: %s" asks for %s', (method, upgrade, expected) =>
  expect(protocolOf({ method, upgrade })).toBe(expected),
);
