import { describe, expect, it } from 'vitest';
import {
  directClusterEndpointTokens,
  ownedAccessKeys,
  type Resource,
  virtualClusterInstanceKubeConfigs,
} from '../../../src/api/resources.ts';
import { crdWorld, verdict } from './world.ts';

const world = await crdWorld();

const kinds: readonly [string, Resource, string][] = [
  ['an access key', ownedAccessKeys, 'key'],
  ['a token', directClusterEndpointTokens, 'token'],
  ['a kubeconfig', virtualClusterInstanceKubeConfigs, 'config'],
];

/** Of two bytes in UTF-8, and one character. */
const wide = 'é';

const many = (count: number, value = 'x') =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`name-${index}`, value]));

describe.each(kinds)('the template of the Secret of %s', (_, resource, entry) => {
  const judge = (template: object, key?: string): Promise<string> =>
    verdict(world.admin, resource, {
      ...(resource === ownedAccessKeys ? { user: 'a' } : {}),
      secretRef: {
        ...(resource === virtualClusterInstanceKubeConfigs ? {} : { namespace: 'apps' }),
        name: 'credential',
        ...(key === undefined ? {} : { key }),
        template,
      },
    });

  it.each<[string, object]>([
    ['nothing', {}],
    ['empty parts', { labels: {}, annotations: {}, entries: {} }],
    [
      'labels, annotations and entries',
      {
        labels: {
          app: 'shop',
          'example.com/team': 'a.b_c-D',
          'argocd.argoproj.io/secret-type': 'cluster',
          no: '',
        },
        annotations: { 'example.com/note': 'any text, ü', 'Example.com/Upper': '' },
        entries: { '.netrc': 'password $(credential)', __proto__x: '', config2: wide.repeat(4_000) },
      },
    ],
    ['as much as may be', { labels: many(16), annotations: many(16), entries: many(8) }],
    ['the longest entries', { entries: many(2, 'x'.repeat(8_192)) }],
    ['the longest annotations', { annotations: many(4, 'x'.repeat(4_096)) }],
    ['an entry with the credential four times', { entries: { a: '$(credential)'.repeat(4) } }],
  ])('may hold %s', async (_what, template) => {
    expect(await judge(template)).toBe('accepted');
  });

  const marks = ['labels', 'annotations'] as const;
  it.each(
    marks.flatMap((part) =>
      [
        'management.platform.sh/owner-uid',
        'management.platform.sh/purpose',
        'a.management.platform.sh/b',
        'kubectl.kubernetes.io/last-applied-configuration',
        'applyset.kubernetes.io/part-of',
        'config.kubernetes.io/owning-inventory',
        'kapp.k14s.io/app',
        'meta.helm.sh/release-name',
        'kustomize.toolkit.fluxcd.io/name',
        'helm.toolkit.fluxcd.io/name',
        'argocd.argoproj.io/instance',
        'argocd.argoproj.io/tracking-id',
      ].map((name) => [part, name] as const),
    ),
  )('takes in %s no name by which others know what is theirs: %s', async (part, name) => {
    expect(await judge({ [part]: { [name]: 'x' } })).toContain(
      `spec.secretRef.template.${part} must not hold names by which Latchkey, kubectl, Helm, Argo CD, Flux or kapp know what is theirs; choose others`,
    );
  });

  it.each<[string, object, string]>([
    ['a label without a name', { labels: { '': 'x' } }, 'labels must hold names and values'],
    ['a label of two slashes', { labels: { 'a/b/c': 'x' } }, 'labels must hold names and values'],
    ['a value that is no label', { labels: { app: 'a b' } }, 'labels must hold names and values'],
    ['a credential as a label', { labels: { app: '$(credential)' } }, 'labels must hold names and values'],
    ['an annotation without a name', { annotations: { 'a/': 'x' } }, 'annotations must have names'],
    [
      'the credential in an annotation',
      { annotations: { a: 'x$(credential)' } },
      'annotations must not hold $(credential)',
    ],
    [
      'an entry that is a path',
      { entries: { '../x': 'x' } },
      'entries must have names that are keys of a Secret',
    ],
    [
      'the entry of the credential',
      { entries: { [entry]: 'x' } },
      'entries must not hold the entry of the credential',
    ],
    [
      'the credential five times',
      { entries: { a: '$(credential)'.repeat(5) } },
      'entries must hold $(credential) at most 4 times each',
    ],
    [
      'too many bytes of few characters in entries',
      { entries: many(2, wide.repeat(4_097)) },
      'entries must hold at most 16384 bytes in all',
    ],
    [
      'too many bytes of few characters in annotations',
      { annotations: many(3, wide.repeat(2_800)) },
      'annotations must hold at most 16384 bytes in all',
    ],
    [
      'too many labels',
      { labels: many(17) },
      'spec.secretRef.template.labels: Too many: 17: must have at most 16',
    ],
    ['too many annotations', { annotations: many(17) }, 'must have at most 16'],
    ['too many entries', { entries: many(9) }, 'must have at most 8'],
  ])('does not hold %s', async (_what, template, message) => {
    expect(await judge(template)).toContain(message);
  });

  it('does not hold the entry that key names', async () => {
    expect(await judge({ entries: { mine: 'x' } }, 'mine')).toContain(
      'must not hold the entry of the credential',
    );
    expect(await judge({ entries: { [entry]: 'x' } }, 'mine')).toBe('accepted');
  });
});

describe('the format of the Secret of an access key', () => {
  const judge = (secretRef: object): Promise<string> =>
    verdict(world.admin, ownedAccessKeys, {
      user: 'a',
      secretRef: { namespace: 'argocd', name: 'staging', ...secretRef },
    });
  const format = 'argocd-cluster';
  const target = 'cluster/staging';

  it.each<[string, object]>([
    ['a cluster', { format, target }],
    ['a space', { format, target: 'space/demo/dev' }],
    ['a virtual cluster', { format, target: 'virtualcluster/demo/shop', template: {} }],
    [
      'a name and a project of Argo CD',
      { format, target, template: { entries: { name: 'x', project: 'y' } } },
    ],
    ['the label without a format', { template: { labels: { 'argocd.argoproj.io/secret-type': 'cluster' } } }],
  ])('may have %s', async (_, secretRef) => {
    expect(await judge(secretRef)).toBe('accepted');
  });

  it.each([
    '',
    'staging',
    'platform',
    'cluster/',
    'cluster/..',
    'cluster/a/b',
    'cluster/A',
    'space/demo',
    'x/y',
    'cluster/a%2f',
  ])('leads to no target %j', async (other) => {
    expect(await judge({ format, target: other })).toContain(
      'spec.secretRef.target must be cluster/<name>, space/<project>/<name> or virtualcluster/<project>/<name>',
    );
  });

  it.each<[string, object, string]>([
    ['another name', { format: 'other', target }, 'spec.secretRef.format: Unsupported value: "other"'],
    ['no target', { format }, 'spec.secretRef.format and spec.secretRef.target need each other'],
    ['a target alone', { target }, 'spec.secretRef.format and spec.secretRef.target need each other'],
    [
      'another server',
      { format, target, template: { entries: { server: 'https://x' } } },
      'must not hold the label',
    ],
    [
      'another config',
      { format, target, template: { entries: { config: '{}' } } },
      'must not hold the label',
    ],
    [
      'another type',
      { format, target, template: { labels: { 'argocd.argoproj.io/secret-type': 'repository' } } },
      'must not hold the label',
    ],
    [
      'its credential in an entry of Argo CD',
      { format, target, key: 'config' },
      'spec.secretRef.key must not be',
    ],
  ])('is not %s', async (_, secretRef, message) => {
    expect(await judge(secretRef)).toContain(message);
  });
});

describe('the format of the Secret of a kubeconfig', () => {
  const judge = (secretRef: object): Promise<string> =>
    verdict(world.admin, virtualClusterInstanceKubeConfigs, { secretRef: { name: 'shop', ...secretRef } });
  const format = 'argocd-cluster';

  it('needs no target', async () => {
    expect(await judge({ format })).toBe('accepted');
  });

  it.each<[string, object]>([
    ['an entry of Argo CD as its own', { format, key: 'server' }],
    ['the entry of the kubeconfig', { format, template: { entries: { kubeconfig: 'x' } } }],
    ['another config', { format, template: { entries: { config: 'x' } } }],
  ])('does not go with %s', async (_, secretRef) => {
    expect(await judge(secretRef)).toContain('spec.secretRef');
    expect(await judge(secretRef)).toContain('must not');
  });
});

describe('the format of the Secret of a token', () => {
  const judge = (secretRef: object): Promise<string> =>
    verdict(world.admin, directClusterEndpointTokens, {
      scope: { clusters: [{ cluster: 'staging' }] },
      secretRef: { namespace: 'argocd', name: 'staging', ...secretRef },
    });
  const format = 'argocd-cluster';

  it('needs no target, for the scope names the cluster', async () => {
    expect(await judge({ format })).toBe('accepted');
    expect(await judge({ format, template: { entries: { project: 'y' } } })).toBe('accepted');
  });

  it.each<[string, object]>([
    ['an entry of Argo CD as its own', { format, key: 'server' }],
    ['the entry of the token', { format, template: { entries: { token: 'x' } } }],
    ['another config', { format, template: { entries: { config: 'x' } } }],
    ['another type', { format, template: { labels: { 'argocd.argoproj.io/secret-type': 'repository' } } }],
  ])('does not go with %s', async (_, secretRef) => {
    expect(await judge(secretRef)).toContain('must not');
  });

  it('is no other name', async () => {
    expect(await judge({ format: 'other' })).toContain('Unsupported value: "other"');
  });
});
