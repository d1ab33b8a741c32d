import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  apiPrefix,
  formatTarget,
  parseRequestPath,
  projectOfNamespace,
  type RequestTarget,
} from './request-path.ts';

const virtualCluster = { kind: 'virtualCluster', project: 'demo', virtualCluster: 'shop' } as const;

describe('parseRequestPath', () => {
  it.each<[string, RequestTarget, string, string]>([
    ['/kubernetes/management/api/v1/pods', { kind: 'management' }, '/api/v1/pods', ''],
    ['/kubernetes/management', { kind: 'management' }, '/', ''],
    ['/kubernetes/management/', { kind: 'management' }, '/', ''],
    [
      '/kubernetes/cluster/eu-1.example/version',
      { kind: 'cluster', cluster: 'eu-1.example' },
      '/version',
      '',
    ],
    ['/kubernetes/cluster/management', { kind: 'cluster', cluster: 'management' }, '/', ''],
    [
      '/kubernetes/project/demo/space/shop/api',
      { kind: 'space', project: 'demo', space: 'shop' },
      '/api',
      '',
    ],
    ['/kubernetes/project/demo/virtualcluster/shop?watch=1', virtualCluster, '/', '?watch=1'],
    ['/kubernetes/project/demo/virtualcluster/shop/apis/', virtualCluster, '/apis/', ''],
    ['/kubernetes/management/x?a=%2f..//', { kind: 'management' }, '/x', '?a=%2f..//'],
    ['/kubernetes/management/api/v1/%41?', { kind: 'management' }, '/api/v1/%41', '?'],
    ['/kubernetes/management/a...b/.hidden', { kind: 'management' }, '/a...b/.hidden', ''],
  ])('reads %s', (sent, target, path, query) => {
    expect(parseRequestPath(sent)).toEqual({ target, path, query });
  });

  it.each([
    ['nothing', ''],
    ['an absolute address', 'https://platform.example.com/kubernetes/management/api'],
    ['a star', '*'],
    ['an authority', 'platform.example.com:443'],
    ['a path without a slash', 'kubernetes/management'],
    ['another prefix', '/kubernetesx/management'],
    ['a prefix in capitals', '/Kubernetes/management'],
    ['no target', '/kubernetes'],
    ['a target that is none', '/kubernetes/namespace/a'],
    ['a target in capitals', '/kubernetes/Management/api'],
    ['a cluster without a name', '/kubernetes/cluster'],
    ['a name in capitals', '/kubernetes/cluster/A'],
    ['a star for a name', '/kubernetes/cluster/*'],
    ['a project alone', '/kubernetes/project/demo'],
    ['another sort in a project', '/kubernetes/project/demo/secret/shop'],
    ['a virtual cluster in the spelling of the field', '/kubernetes/project/demo/virtualCluster/shop'],
    ['an encoded letter in the prefix', '/%6bubernetes/management/api'],
    ['an encoded letter in the target', '/kubernetes/m%61nagement/api'],
    ['an encoded letter in a name', '/kubernetes/cluster/%61'],
    ['an encoded slash', '/kubernetes/management/api%2Fv1'],
    ['an encoded slash in small letters', '/kubernetes/cluster/a%2fb'],
    ['an encoded backslash', '/kubernetes/management/api%5cv1'],
    ['a backslash', '/kubernetes/management\\api'],
    ['an empty segment', '/kubernetes//management/api'],
    ['an empty segment at the end', '/kubernetes/management/api//'],
    ['two slashes in front', '//kubernetes/management/api'],
    ['a dot', '/kubernetes/./management'],
    ['two dots', '/kubernetes/cluster/a/../b'],
    ['two dots at the end', '/kubernetes/cluster/a/..'],
    ['encoded dots', '/kubernetes/cluster/a/%2e%2E/b'],
    ['a half encoded pair of dots', '/kubernetes/cluster/a/.%2e'],
    ['a percent sign alone', '/kubernetes/management/a%'],
    ['a percent sign before no digits', '/kubernetes/management/a%zz'],
    ['an encoded zero', '/kubernetes/management/a%00'],
    ['a space', '/kubernetes/management/a b'],
    ['a line break', '/kubernetes/management/a\r\nHost: b'],
    ['a letter outside of ASCII', '/kubernetes/management/\u00e4'],
    ['a fragment', '/kubernetes/management/a#b'],
    ['a fragment in the query', '/kubernetes/management/a?b#c'],
    ['a line break in the query', '/kubernetes/management/a?b\nc'],
  ])('refuses %s', (_, sent) => {
    expect(parseRequestPath(sent)).toEqual({
      code: expect.stringMatching(/^[A-Z]\w+$/),
      problem: expect.stringMatching(/^the \w+ /),
    });
  });

  it('never takes a path that a URL parser understands in another way', () => {
    const part = fc.constantFrom(
      'management',
      'cluster',
      'a',
      '..',
      '.',
      '%2e',
      '%2f',
      '%5c',
      '\\',
      '',
      '%41',
      '?',
      '#',
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 6 }), fc.constantFrom('/', '//', ''), (parts, slash) => {
        const sent = `${apiPrefix}/cluster/a${slash}${parts.join('/')}`;
        const read = parseRequestPath(sent);
        if ('problem' in read) return true;
        const url = new URL(sent, 'https://platform.example.com');
        // An empty query is dropped by the parser; everything else must stand as it was sent.
        const seen = url.pathname + (url.search || read.query);
        return seen === sent && url.hash === '';
      }),
    );
  });
});

const name = fc.stringMatching(/^[a-z0-9]([a-z0-9.-]{0,20}[a-z0-9])?$/);
const anyText = fc.oneof(name, fc.string(), fc.constantFrom('..', 'a/b', 'a/space/b', 'a?b', 'A', ''));
const targets = (text: fc.Arbitrary<string>): fc.Arbitrary<RequestTarget> =>
  fc.oneof(
    fc.constant({ kind: 'management' } as const),
    fc.record({ kind: fc.constant('cluster' as const), cluster: text }),
    fc.record({ kind: fc.constant('space' as const), project: text, space: text }),
    fc.record({ kind: fc.constant('virtualCluster' as const), project: text, virtualCluster: text }),
  );

describe('formatTarget', () => {
  it('writes what parseRequestPath reads back', () => {
    const rest = fc.constantFrom('', '/', '/api/v1/pods', '/apis?watch=1');
    fc.assert(
      fc.property(targets(name), rest, (target, more) => {
        expect(parseRequestPath(`${apiPrefix}${formatTarget(target)}${more}`)).toMatchObject({ target });
      }),
    );
  });

  it('writes nothing that would lead to another target, whatever the names are', () => {
    fc.assert(
      fc.property(targets(anyText), (target) => {
        const text = formatTarget(target);
        return (
          text === undefined ||
          JSON.stringify(parseRequestPath(apiPrefix + text)).includes(JSON.stringify(target))
        );
      }),
    );
    expect(formatTarget({ kind: 'cluster', cluster: 'a/' })).toBeUndefined();
    expect(formatTarget({ kind: 'cluster', cluster: 'a?' })).toBeUndefined();
    expect(formatTarget({ kind: 'space', project: 'p/space/s', space: 't' })).toBeUndefined();
  });
});

describe('projectOfNamespace', () => {
  it.each([
    ['p-demo', 'p-', 'demo'],
    ['p-', 'p-', undefined],
    ['', 'p-', undefined],
    ['default', 'p-', undefined],
    ['xp-demo', 'p-', undefined],
    ['p-p-demo', 'p-', 'p-demo'],
  ])('of %s with the prefix %s', (namespace, prefix, project) => {
    expect(projectOfNamespace(namespace, prefix)).toBe(project);
  });
});
