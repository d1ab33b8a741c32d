import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { audiencesOf, clusterAudiences, scopedAudiences } from './audiences.ts';
import type { RawScope } from './effective-scope.ts';

const issuer = 'https://platform.example.com';
const audiences = (
  own: RawScope | undefined,
  ancestors: readonly (RawScope | undefined)[] = [],
  allowPlatformCli = false,
) =>
  audiencesOf({ issuer, own, ancestors, allowPlatformCli }).map((audience) => audience.slice(issuer.length));
const clusters = (...names: string[]): RawScope => ({ clusters: names.map((cluster) => ({ cluster })) });
const cli = { roles: [{ role: 'platform-cli' }] };
const agentOf = (name: string): RawScope => ({ roles: [{ role: 'agent' }], ...clusters(name) });

describe('audiencesOf', () => {
  it.each<[string, RawScope | undefined, string[]]>([
    ['no scope', undefined, ['/clusters']],
    ['an empty scope', {}, []],
    ['one cluster', clusters('a'), ['/cluster/a']],
    ['clusters in a fixed order, each once', clusters('b', 'a', 'b'), ['/cluster/a', '/cluster/b']],
    ['every cluster', clusters('a', '*'), ['/clusters']],
    ['a cluster of a rule', { rules: [{ cluster: 'r' }], ...clusters('a') }, ['/cluster/a', '/cluster/r']],
    ['a rule for every cluster', { rules: [{ cluster: '*' }] }, ['/clusters']],
    ['a rule that names no cluster', { rules: [{ verbs: ['get'] }] }, ['/clusters']],
    ['a rule with an empty cluster', { rules: [{ cluster: '' }] }, ['/clusters']],
    ['a project', { projects: [{ project: 'p' }], ...clusters('a') }, ['/clusters']],
    ['a space', { spaces: [{ project: 'p', space: '*' }] }, ['/clusters']],
    ['a virtual cluster', { virtualClusters: [{ project: 'p', virtualCluster: 'v' }] }, ['/clusters']],
    ['a project without a name, which matches nothing', { projects: [{ project: '' }, {}] }, []],
    ['a space without a name', { spaces: [{ project: 'p', space: '' }, { space: 's' }] }, []],
    ['a virtual cluster without a name', { virtualClusters: [{ project: 'p' }] }, []],
    ['a cluster without a name', clusters(''), []],
    ['a name that would make the audience of another cluster', clusters('a/../b', 'A', 'a b', '.'), []],
    ['entries that are no objects', { clusters: ['a', null, 7], projects: 'p' }, []],
    ['a role alone', cli, ['']],
    ['a role beside a cluster', { ...cli, ...clusters('a') }, ['/cluster/a', '']],
    ['a role by its former name', { roles: [{ role: 'loft-cli' }] }, ['']],
    ['a role that grants nothing', { roles: [{ role: 'agent' }] }, []],
    ['the agent of a cluster, who may do nothing in it', agentOf('a'), []],
    ['the agent of a cluster, beside a project', { ...agentOf('a'), projects: [{ project: 'p' }] }, []],
    ['the role of the platform, which is no place for tokens', { roles: [{ role: 'platform-user' }] }, []],
  ])('of %s', (_, own, expected) => {
    expect(audiences(own)).toEqual(expected);
  });

  it('adds the platform for allowPlatformCli, also without a scope', () => {
    expect(audiences(undefined, [], true)).toEqual(['/clusters', '']);
  });

  it.each<[string, RawScope | undefined, (RawScope | undefined)[], string[]]>([
    ['no scope below a cluster', undefined, [clusters('a')], ['/cluster/a']],
    ['a cluster below no scope', clusters('a'), [undefined], ['/cluster/a']],
    ['every cluster below some', clusters('*'), [clusters('a', 'b')], ['/cluster/a', '/cluster/b']],
    ['clusters below others', clusters('a', 'b'), [clusters('b', 'c')], ['/cluster/b']],
    ['a cluster below another', clusters('a'), [clusters('b')], []],
    ['a project below a cluster', { projects: [{ project: 'p' }] }, [clusters('a')], ['/cluster/a']],
    ['all of three levels', undefined, [clusters('a', 'b'), undefined, clusters('b')], ['/cluster/b']],
    ['anything below nothing', undefined, [{}], []],
    ['a role below no scope', { ...cli, ...clusters('a') }, [undefined], ['/cluster/a', '']],
    ['a role below a project', cli, [{ projects: [{ project: 'p' }] }], ['']],
    ['a role below that of the platform', cli, [{ roles: [{ role: 'platform-user' }] }], ['']],
    ['everything below the agent of a cluster', undefined, [agentOf('a')], []],
    ['a role below a cluster, which cannot reach the platform', cli, [clusters('a')], []],
    ['a role below an empty scope', cli, [{}], []],
    ['no role below a role', undefined, [{ ...cli, ...clusters('a') }], ['/cluster/a']],
  ])('of %s', (_, own, ancestors, expected) => {
    expect(audiences(own, ancestors)).toEqual(expected);
  });

  it('never gets wider by another ancestor', () => {
    const name = fc.constantFrom('a', 'b', 'c', '*', '');
    const list = (fields: Record<string, fc.Arbitrary<string>>) =>
      fc.array(fc.record(fields, { requiredKeys: [] }), { maxLength: 3 });
    const scope: fc.Arbitrary<RawScope | undefined> = fc.option(
      fc.record(
        {
          clusters: list({ cluster: name }),
          rules: list({ cluster: name }),
          projects: list({ project: name }),
          roles: list({ role: fc.constantFrom('platform-cli', 'agent') }),
        },
        { requiredKeys: [] },
      ),
      { nil: undefined },
    );
    const covers = (wide: readonly string[], audience: string): boolean =>
      wide.includes(audience) || (audience.startsWith('/cluster/') && wide.includes('/clusters'));
    fc.assert(
      fc.property(
        scope,
        fc.array(scope, { maxLength: 3 }),
        scope,
        fc.boolean(),
        (own, ancestors, added, flag) => {
          const before = audiences(own, ancestors, flag);
          return audiences(own, [...ancestors, added], flag).every((audience) => covers(before, audience));
        },
      ),
    );
  });
});

describe('scopedAudiences', () => {
  const of = (list: readonly string[], enforcing: readonly string[]) =>
    scopedAudiences(
      list.map((audience) => issuer + audience),
      { issuer, enforces: (cluster) => enforcing.includes(cluster) },
    ).map((audience) => audience.slice(issuer.length));

  it.each<[string, string[], string[], string[]]>([
    ['a cluster that enforces', ['/cluster/a'], ['a'], ['/cluster/a/scoped']],
    ['two that do', ['/cluster/a', '/cluster/b'], ['a', 'b'], ['/cluster/a/scoped', '/cluster/b/scoped']],
    ['one that does not', ['/cluster/a'], ['b'], ['/cluster/a']],
    ['two, and only one does', ['/cluster/a', '/cluster/b'], ['a'], ['/cluster/a', '/cluster/b']],
    ['every cluster', ['/clusters'], ['a', 's', ''], ['/clusters']],
    ['the platform beside one, which other verifiers take', ['/cluster/a', ''], ['a'], ['/cluster/a', '']],
    ['the platform alone', [''], ['a', ''], ['']],
  ])('of %s', (_, list, enforcing, expected) => {
    expect(of(list, enforcing)).toEqual(expected);
  });

  it('are those that the configuration of the cluster lists', () => {
    const { whole, scoped } = clusterAudiences(issuer, 'a');
    const made = audiencesOf({ issuer, own: clusters('a'), ancestors: [], allowPlatformCli: false });
    expect(whole).toEqual([...made, `${issuer}/clusters`]);
    expect(scopedAudiences([`${issuer}/cluster/a`], { issuer, enforces: () => true })).toEqual([scoped]);
  });
});
