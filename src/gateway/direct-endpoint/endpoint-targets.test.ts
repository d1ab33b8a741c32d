import { describe, expect, it } from 'vitest';
import type { Upstream } from '../proxy/upstream.ts';
import { EndpointTargets, withOwnCluster } from './endpoint-targets.ts';
import { LiveSet } from './live-set.ts';

const set = new LiveSet();
set.uid = 'c1';
const space = { project: 'red', name: 'app', namespace: 'red-app', uid: 's1' };
const findSpace = (project: string, name: string) =>
  project === 'red' && name === 'app' ? space : undefined;
const targets = new EndpointTargets({
  cluster: 'edge',
  followed: { set, findSpace },
  upstream: {} as Upstream,
  projectNamespacePrefix: 'p-',
});

describe('the targets of a direct endpoint', () => {
  it('are its cluster, where users are as free as in every connected one', () => {
    expect(targets.find({ kind: 'cluster', cluster: 'edge' })).toMatchObject({
      uids: 'c1',
      isPlatform: false,
    });
  });

  it('are the spaces in it', () => {
    expect(targets.find({ kind: 'space', project: 'red', space: 'app' })).toMatchObject({
      ...{ uids: 's1 c1', namespace: 'red-app' },
      entry: { verb: 'use', resource: 'spaceinstances', namespace: 'p-red', name: 'app' },
    });
    expect(
      targets.spaceUID({ verb: 'use', resource: 'spaceinstances', namespace: 'p-red', name: 'app' }),
    ).toBe('s1');
    expect(
      targets.spaceUID({ verb: 'use', resource: 'spaceinstances', namespace: 'red', name: 'app' }),
    ).toBeUndefined();
  });

  it.each([
    { kind: 'management' },
    { kind: 'cluster', cluster: 'other' },
    { kind: 'space', project: 'red', space: 'other' },
    { kind: 'virtualCluster', project: 'red', virtualCluster: 'app' },
  ] as const)('are no others: %o', (target) => {
    expect(targets.find(target)).toBeUndefined();
  });
});

it.each([
  ['/kubernetes/cluster', '/kubernetes/cluster/edge'],
  ['/kubernetes/cluster/', '/kubernetes/cluster/edge/'],
  ['/kubernetes/cluster?a=b', '/kubernetes/cluster/edge?a=b'],
  ['/kubernetes/cluster/api/v1/pods?watch=true', '/kubernetes/cluster/edge/api/v1/pods?watch=true'],
  ['/kubernetes/cluster/apis', '/kubernetes/cluster/edge/apis'],
  ['/kubernetes/cluster/edge/api/v1/pods', '/kubernetes/cluster/edge/api/v1/pods'],
  ['/kubernetes/cluster/other/api/v1/pods', '/kubernetes/cluster/other/api/v1/pods'],
  ['/kubernetes/clusters/api', '/kubernetes/clusters/api'],
  ['/kubernetes/management/api', '/kubernetes/management/api'],
])('reads %s as %s', (path, meant) => {
  expect(withOwnCluster(path, 'edge')).toBe(meant);
});

it('takes a cluster with the name of an API path for that cluster', () => {
  expect(withOwnCluster('/kubernetes/cluster/api/api/v1', 'api')).toBe('/kubernetes/cluster/api/api/v1');
});
