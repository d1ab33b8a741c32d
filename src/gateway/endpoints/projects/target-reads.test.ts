import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { verdictFor } from '../../../../test/builders/gateway-stage.ts';
import { targetSite } from '../../../../test/builders/target-site.ts';
import { waitFor } from '../../../../test/fakes/wait-for.ts';
import { asObject, parseJSON } from '../../../api/json.ts';
import { HeldBytes } from '../shared/held-bytes.ts';
import { printedColumns } from './target-table.ts';
import { readRules } from './usable-targets.ts';

const all = '/virtualclusterinstances';

describe('a list of targets', () => {
  it.each<[string, readonly string[], readonly string[]]>([
    ['nothing', [], []],
    ['one by name', ['use virtualclusterinstances p-red/web'], ['p-red/web']],
    ['those of a project', ['use virtualclusterinstances p-red/'], ['p-red/shop', 'p-red/web']],
    ['all', ['use virtualclusterinstances /'], ['p-red/shop', 'p-red/web', 'p-blue/shop']],
  ])('shows a user who may use %s exactly that', async (_, rights, expected) => {
    const { names } = await targetSite({ rights });
    expect(await names(all)).toEqual(expected);
  });

  it('is narrowed to the targets that the scope names', async () => {
    const { names } = await targetSite({
      rights: ['use virtualclusterinstances /'],
      scope: { virtualClusters: [{ project: 'blue', virtualCluster: '*' }] },
    });
    expect(await names(all)).toEqual(['p-blue/shop']);
  });

  it('is empty where the scope names no target of that kind, and asks nothing', async () => {
    const { names, asked } = await targetSite({
      rights: ['use virtualclusterinstances /'],
      scope: { clusters: [{ cluster: 'eu' }] },
    });
    expect(await names(all)).toEqual([]);
    expect(asked).toEqual([]);
  });

  it('shows clusters, which have no namespace', async () => {
    const { names } = await targetSite({ rights: ['use clusters /us'] });
    expect(await names('/clusters')).toEqual(['us']);
  });

  it('shows spaces of one namespace', async () => {
    const { names } = await targetSite({ rights: ['use spaceinstances p-red/'] });
    expect(await names('/namespaces/p-red/spaceinstances')).toEqual(['p-red/room']);
    expect(await names('/namespaces/p-blue/spaceinstances')).toEqual([]);
  });

  it('gives a right in one namespace no effect in another', async () => {
    const { names } = await targetSite({ rights: ['use virtualclusterinstances p-blue/shop'] });
    expect(await names(all)).toEqual(['p-blue/shop']);
  });

  it('goes to the API server for a user who may list the kind', async () => {
    const { send } = await targetSite({ rights: ['list virtualclusterinstances /'] });
    expect((await send(all)).text).toContain('Upstream');
  });

  it('asks about each target where the API server does not know all rules', async () => {
    const { names } = await targetSite({
      rights: ['use virtualclusterinstances p-red/web'],
      isIncomplete: true,
    });
    expect(await names(all)).toEqual(['p-red/web']);
  });

  it('asks about each target where the rules of the user are too many to read', async () => {
    const rights = Array.from({ length: 10_000 }, (_, index) => `get virtualclusterinstances p-red/${index}`);
    const { names } = await targetSite({ rights: [...rights, 'use virtualclusterinstances p-red/web'] });
    expect(await names(all)).toEqual(['p-red/web']);
  });

  it('comes as a table, with a resourceVersion to watch from', async () => {
    const { send } = await targetSite({ rights: ['use virtualclusterinstances p-red/web'] });
    const { body } = await send(all, 'application/json;as=Table;v=v1;g=meta.k8s.io');
    expect(body).toMatchObject({ kind: 'Table', metadata: { resourceVersion: '9' } });
    expect(body.rows).toEqual([
      {
        cells: ['web', 'eu', '', 'Ready', expect.any(String)],
        object: expect.objectContaining({ kind: 'PartialObjectMetadata' }),
      },
    ]);
  });

  it('is selected from by labels and names', async () => {
    const { names } = await targetSite({ rights: ['use virtualclusterinstances /'] });
    expect(await names(`${all}?labelSelector=name%3Dweb`)).toEqual(['p-red/web']);
    expect(await names(`${all}?fieldSelector=metadata.namespace%3Dp-blue`)).toEqual(['p-blue/shop']);
  });

  it('of 2,000 targets takes less than a second and a question for each project, not for each target', async () => {
    const instances = Array.from(
      { length: 2_000 },
      (_, index) => [`p-${index % 40}`, `vc-${index}`] as const,
    );
    const rights = ['use virtualclusterinstances p-7/', 'use virtualclusterinstances p-8/vc-8'];
    const { names, asked } = await targetSite({ instances, rights });
    const before = process.threadCpuUsage();
    expect(await names(all)).toHaveLength(51);
    const { user, system } = process.threadCpuUsage(before);
    expect((user + system) / 1_000).toBeLessThan(1_000);
    expect(asked.length).toBeLessThan(50);
  });

  it('says that some are missing where there are too many to ask about', async () => {
    const instances = Array.from({ length: 600 }, (_, index) => ['p-red', `vc-${index}`] as const);
    const { send } = await targetSite({ instances, isIncomplete: true });
    expect((await send(all)).text).toMatch(/Warning: 299 - ".*some that you may use are missing/i);
  });
});

describe('large targets', () => {
  const instances = Array.from({ length: 100 }, (_, index) => ['p-red', `vc-${index}`] as const);
  const large = { instances, annotationBytes: 250_000, rights: ['use virtualclusterinstances p-red/vc-99'] };

  it('come in as many pages as it takes to read no more than a mebibyte at once', async () => {
    const { names, platform } = await targetSite(large);
    expect(await names(all)).toEqual(['p-red/vc-99']);
    expect(platform.listed.slice(0, 4)).toEqual([100, 20, 4, 4]);
    expect(platform.listed).toHaveLength(2 + 25);
  });

  it('take the memory for a page of their user before the platform is asked for it', async () => {
    const held = new HeldBytes({ ofUser: 6 * 2 ** 20, ofCredential: 6 * 2 ** 20, ofAll: 2 ** 24 });
    const { send, platform } = await targetSite({ ...large, stage: { services: { held } } });
    const { promise, resolve } = Promise.withResolvers<void>();
    platform.beforeList = promise;
    const first = send(all);
    await waitFor('the first page', () => platform.listed.length === 1);
    platform.beforeList = undefined;
    const second = await send(all);
    resolve();
    expect([second.status, second.body.details?.causes]).toEqual([
      429,
      [{ reason: 'ERR_TOO_MANY_REQUESTS' }],
    ]);
    expect(platform.listed).toHaveLength(1);
    expect((await first).status).toBe(200);
    expect((await send(all)).status).toBe(200);
  });
});

describe('one user with many lists', () => {
  it('takes no more than half of the connections: others have theirs at once', async () => {
    const rights = ['use virtualclusterinstances p-red/web'];
    const site = await targetSite({ rights, stage: { connections: 4, maxWaiting: 100 } });
    site.platform.silentFor.add('mallory');
    const answers: number[] = [];
    for (let index = 0; index < 20; index += 1) {
      site.know(`key-${index}-of-mallory`, verdictFor(undefined, 'mallory'));
      void site.send(all, undefined, `key-${index}-of-mallory`).then(({ status }) => answers.push(status));
    }
    await waitFor('the questions of mallory', () => site.platform.unanswered === 2);
    expect((await site.send(all)).status).toBe(200);
    expect(await site.names(all)).toEqual(['p-red/web']);
    expect([site.platform.unanswered, answers]).toEqual([2, []]);
  });
});

describe('a get of a target', () => {
  it('answers who may use it, whatever RBAC says of the kind', async () => {
    const { send } = await targetSite({ rights: ['use virtualclusterinstances p-red/web'] });
    const { status, body } = await send('/namespaces/p-red/virtualclusterinstances/web');
    expect([status, body.metadata.name]).toEqual([200, 'web']);
  });

  it('goes to the API server, which refuses it, for who may not use it', async () => {
    const { send } = await targetSite();
    expect((await send('/namespaces/p-red/virtualclusterinstances/web')).text).toContain('Upstream');
  });

  it('names the scope where that says no', async () => {
    const { send } = await targetSite({
      rights: ['use clusters /'],
      scope: { clusters: [{ cluster: 'eu' }] },
    });
    expect((await send('/clusters/us')).body).toMatchObject({
      code: 403,
      message: expect.stringContaining('scope'),
    });
  });
});

describe('a target that somebody may use, and perhaps no more', () => {
  const secret = 'of-the-administrators';
  const recorded = [
    ...['requester', 'requester-groups', 'created-with', 'changed-by', 'changed-by-groups'].map(
      (name) => `management.platform.sh/${name}`,
    ),
    'kubectl.kubernetes.io/last-applied-configuration',
    'kapp.k14s.io/original',
  ];
  const tables = 'application/json;as=Table;v=v1;g=meta.k8s.io';
  const metadata = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io';

  it.each([
    ['a list', all, 'application/json'],
    ['a get', '/namespaces/p-red/virtualclusterinstances/web', 'application/json'],
    ['a table', `${all}?includeObject=Object`, tables],
    ['a list of metadata', all, metadata],
  ])('does not say in %s who made it, nor where its administrator kubeconfig is', async (_, path, accept) => {
    const { send, platform } = await targetSite({ rights: ['use virtualclusterinstances p-red/web'] });
    for (const object of platform.objects['virtualclusterinstances'] ?? []) {
      const annotations = Object.fromEntries(recorded.map((name) => [name, secret]));
      Object.assign(object.metadata, {
        annotations: { ...annotations, 'example.com/contact': 'shop team' },
        managedFields: [{ manager: secret }],
      });
      Object.assign((object as unknown as { spec: object }).spec, { kubeConfigSecretRef: { name: secret } });
    }
    const { text } = await send(path, accept);
    expect(text).toContain('shop team');
    expect(text).not.toContain(secret);
  });
});

describe('a Self that asks for targets', () => {
  const selfOf = async (rights: readonly string[], spec: object) => {
    const { sendRaw, key } = await targetSite({ rights });
    const body = JSON.stringify({ spec });
    const text = await sendRaw(
      [
        'POST /kubernetes/management/apis/management.platform.sh/v1/selves HTTP/1.1',
        ...['Host: a', 'Connection: close', `Authorization: Bearer ${key}`, 'Content-Type: application/json'],
        ...[`Content-Length: ${body.length}`, '', body],
      ].join('\r\n'),
    );
    return {
      status: Number(text.split(' ')[1]),
      targets: asObject(asObject(parseJSON(text.slice(text.indexOf('\r\n\r\n') + 4)))['status'])['targets'],
    };
  };

  it('names exactly those that lists show', async () => {
    const rights = ['use virtualclusterinstances p-red/web', 'use clusters /us'];
    expect(await selfOf(rights, { targets: true })).toEqual({
      status: 201,
      targets: [
        { kind: 'VirtualClusterInstance', project: 'red', name: 'web' },
        { kind: 'Cluster', name: 'us' },
      ],
    });
  });

  it('is the only one that has them', async () => {
    expect(await selfOf(['use clusters /'], {})).toEqual({ status: 201, targets: undefined });
    expect((await selfOf([], { targets: 'yes' })).status).toBe(400);
  });
});

describe('a review of what one may read', () => {
  const ask = async (rights: readonly string[], attributes: object): Promise<unknown> => {
    const { sendRaw, key } = await targetSite({ rights });
    const body = JSON.stringify({
      spec: { resourceAttributes: { group: 'management.platform.sh', version: 'v1', ...attributes } },
    });
    const text = await sendRaw(
      [
        'POST /kubernetes/management/apis/authorization.k8s.io/v1/selfsubjectaccessreviews HTTP/1.1',
        ...['Host: a', 'Connection: close', `Authorization: Bearer ${key}`, 'Content-Type: application/json'],
        ...[`Content-Length: ${body.length}`, '', body],
      ].join('\r\n'),
    );
    if (text.includes('"allowed":true')) return 'yes';
    return text.includes('Upstream') ? 'the API server says' : text;
  };
  const one = { verb: 'get', resource: 'virtualclusterinstances', namespace: 'p-red', name: 'web' };

  it.each<[string, readonly string[], object, string]>([
    ['a list', [], { verb: 'list', resource: 'clusters' }, 'yes'],
    ['a watch', [], { verb: 'watch', resource: 'spaceinstances' }, 'yes'],
    ['a get of one that may be used', ['use virtualclusterinstances p-red/web'], one, 'yes'],
    ['a get of another one', ['use virtualclusterinstances p-red/shop'], one, 'the API server says'],
    ['a delete', ['use virtualclusterinstances /'], { ...one, verb: 'delete' }, 'the API server says'],
    [
      'a subresource',
      [],
      { verb: 'list', resource: 'clusters', subresource: 'status' },
      'the API server says',
    ],
  ])('of %s', async (...[, rights, attributes, expected]) => {
    expect(await ask(rights, attributes)).toBe(expected);
  });
});

it.each(Object.entries(printedColumns))(
  'a table of %s has the columns of its definition',
  (plural, columns) => {
    const [{ additionalPrinterColumns }] = parse(readFileSync(`crds/${plural}.yaml`, 'utf8')).spec.versions;
    const defined = additionalPrinterColumns.map((each: { name: string; jsonPath: string }) => [
      each.name,
      each.jsonPath.slice(1),
    ]);
    expect([...columns, ['Age', 'metadata.creationTimestamp']]).toEqual(defined);
  },
);

describe('rules of a user', () => {
  const rule = (more: object) => ({ verbs: ['use'], apiGroups: ['*'], resources: ['clusters'], ...more });

  it.each<[string, unknown, object]>([
    ['that are not known in full', { incomplete: true, resourceRules: [] }, { mayBeAll: true }],
    ['that are missing', undefined, { mayBeAll: true }],
    [
      'about another resource',
      { incomplete: false, resourceRules: [rule({ resources: ['spaceinstances'] })] },
      { mayBeAll: false, names: new Set() },
    ],
    [
      'about another verb',
      { incomplete: false, resourceRules: [rule({ verbs: ['get'] })] },
      { mayBeAll: false, names: new Set() },
    ],
    [
      'with names',
      { incomplete: false, resourceRules: [rule({ resourceNames: ['a'] }), rule({ resourceNames: ['b'] })] },
      { mayBeAll: false, names: new Set(['a', 'b']) },
    ],
    [
      'without names',
      { incomplete: false, resourceRules: [rule({ resourceNames: ['a'] }), rule({ verbs: ['*'] })] },
      { mayBeAll: true },
    ],
  ])('%s are read', (_, status, expected) => {
    expect(readRules(status, 'clusters')).toEqual(expected);
  });
});
