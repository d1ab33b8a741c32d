import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { type GatewayStage, gatewayStage, verdictFor } from '../../../../test/builders/gateway-stage.ts';
import { asObject, parseJSON } from '../../../api/json.ts';
import { labels } from '../../../api/names.ts';
import type { Resource } from '../../../api/resources.ts';
import type { KubeObject } from '../../../kube/object.ts';
import { toProjectRecord } from '../../../platform/targets/project-record.ts';
import { toClusterRecord, toInstanceRecord, toSpaceRecord } from '../../../platform/targets/target-record.ts';
import { TargetRecords } from '../../index/target-records.ts';
import { printedColumns } from './target-table.ts';
import { readRules } from './usable-targets.ts';

const key = 'a-key-that-alice-chose-herself';
const running: GatewayStage[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((stage) => stage.close()));
});

const created = '2026-01-01T00:00:00Z';

function objectOf(kind: string, name: string, namespace?: string): KubeObject & { readonly status: object } {
  return {
    ...{ apiVersion: 'management.platform.sh/v1', kind },
    metadata: {
      ...{ name, uid: `uid-${name}`, resourceVersion: '7', creationTimestamp: created, labels: { name } },
      ...(namespace === undefined ? {} : { namespace }),
    } as KubeObject['metadata'],
    spec: { clusterRef: { cluster: 'eu', namespace: 'a' } },
    status: { phase: 'Ready', state: 'Ready' },
  } as never;
}

interface Question {
  readonly verb: string;
  readonly resource: string;
  readonly namespace?: string;
  readonly name: string;
}

interface Site {
  /** `verb resource namespace/name`; an empty name or namespace allows all. */
  readonly rights?: readonly string[];
  readonly scope?: Record<string, unknown>;
  readonly instances?: readonly (readonly [namespace: string, name: string])[];
  readonly isIncomplete?: boolean;
}

const defaults = [
  ['p-red', 'shop'],
  ['p-red', 'web'],
  ['p-blue', 'shop'],
] as const;

interface Listing {
  readonly namespace?: string;
  readonly fieldSelector?: string;
  readonly limit?: number;
  readonly continue?: string;
}

/** The API server behind the gateway: RBAC, and its lists. */
class Platform {
  readonly asked: string[] = [];
  readonly #rights: readonly string[];
  readonly #isIncomplete: boolean;
  readonly #objects: Readonly<Record<string, readonly KubeObject[]>>;

  constructor(rights: readonly string[], isIncomplete: boolean, objects: Platform['objects']) {
    this.#rights = rights;
    this.#isIncomplete = isIncomplete;
    this.#objects = objects;
  }

  get objects(): Readonly<Record<string, readonly KubeObject[]>> {
    return this.#objects;
  }

  readonly create = async (resource: Resource, review: { spec: Record<string, unknown> }) =>
    resource?.kind === 'SelfSubjectRulesReview'
      ? { status: this.#rulesIn(String(review.spec['namespace'])) }
      : { status: { allowed: this.#mayDo(review.spec['resourceAttributes'] as Question) } };

  readonly list = async (
    { plural }: Resource,
    { namespace, fieldSelector, limit = Number.POSITIVE_INFINITY, continue: from = '0' }: Listing,
  ) => {
    const name = fieldSelector?.replace('metadata.name=', '');
    const all = (this.#objects[plural] ?? []).filter(
      ({ metadata }) => (!namespace || metadata.namespace === namespace) && (!name || metadata.name === name),
    );
    const next = Number(from) + limit;
    const metadata = { resourceVersion: '9', ...(next < all.length ? { continue: String(next) } : {}) };
    return { items: all.slice(Number(from), next), metadata };
  };

  #mayDo({ verb, resource, namespace = '', name }: Question): boolean {
    this.asked.push(`${verb} ${resource} ${namespace}/${name}`);
    return [`${namespace}/${name}`, `${namespace}/`, '/'].some((place) =>
      this.#rights.includes(`${verb} ${resource} ${place}`),
    );
  }

  #rulesIn(namespace: string) {
    this.asked.push(`rules ${namespace}`);
    if (this.#isIncomplete) return { incomplete: true, resourceRules: [] };
    const rules = this.#rights.flatMap((right) => {
      const [verb = '', resource = '', place = ''] = right.split(' ');
      const [of = '', name = ''] = place.split('/');
      if (of !== '' && of !== namespace) return [];
      const rule = { verbs: [verb], apiGroups: ['management.platform.sh'], resources: [resource] };
      return [name === '' ? rule : { ...rule, resourceNames: [name] }];
    });
    return { incomplete: false, resourceRules: rules };
  }
}

async function start({ rights = [], scope, instances = defaults, isIncomplete = false }: Site = {}) {
  const targetRecords = new TargetRecords('p-');
  for (const namespace of new Set(instances.map(([each]) => each)))
    targetRecords.projects.upsert(
      toProjectRecord({
        metadata: { name: namespace, uid: namespace, labels: { [labels.project]: namespace.slice(2) } },
      } as unknown as KubeObject),
    );
  const objects = {
    virtualclusterinstances: instances.map(([namespace, name]) =>
      objectOf('VirtualClusterInstance', name, namespace),
    ),
    spaceinstances: [objectOf('SpaceInstance', 'room', 'p-red')],
    clusters: [objectOf('Cluster', 'eu'), objectOf('Cluster', 'us')],
  };
  for (const object of objects.virtualclusterinstances)
    targetRecords.instances.upsert(toInstanceRecord(object));
  for (const object of objects.spaceinstances) targetRecords.spaces.upsert(toSpaceRecord(object));
  for (const object of objects.clusters) targetRecords.clusters.upsert(toClusterRecord(object));
  const platform = new Platform(rights, isIncomplete, objects);
  const client = { as: () => platform } as never;
  const stage = await gatewayStage(
    (socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nUpstream'),
    { platform: client, services: { targetRecords, client, reader: platform as never } },
  );
  running.push(stage);
  stage.know(key, verdictFor(scope));
  const send = async (path: string, accept = 'application/json') => {
    const text = await stage.send(
      [
        `GET /kubernetes/management/apis/management.platform.sh/v1${path} HTTP/1.1`,
        ...['Host: a', 'Connection: close', `Authorization: Bearer ${key}`, `Accept: ${accept}`, '', ''],
      ].join('\r\n'),
    );
    const body = text.slice(text.indexOf('\r\n\r\n') + 4);
    // biome-ignore lint/suspicious/noExplicitAny: answers are checked by the tests
    const parsed = asObject(parseJSON(body)) as any;
    return { status: Number(text.split(' ')[1]), text, body: parsed };
  };
  const names = async (path: string): Promise<readonly string[]> =>
    (await send(path)).body.items.map(
      ({ metadata: { namespace, name } }: KubeObject) =>
        `${namespace === undefined ? '' : `${namespace}/`}${name}`,
    );
  return { ...stage, send, names, asked: platform.asked };
}

const all = '/virtualclusterinstances';

describe('a list of targets', () => {
  it.each<[string, readonly string[], readonly string[]]>([
    ['nothing', [], []],
    ['one by name', ['use virtualclusterinstances p-red/web'], ['p-red/web']],
    ['those of a project', ['use virtualclusterinstances p-red/'], ['p-red/shop', 'p-red/web']],
    ['all', ['use virtualclusterinstances /'], ['p-red/shop', 'p-red/web', 'p-blue/shop']],
  ])('shows a user who may use %s exactly that', async (_, rights, expected) => {
    const { names } = await start({ rights });
    expect(await names(all)).toEqual(expected);
  });

  it('is narrowed to the targets that the scope names', async () => {
    const { names } = await start({
      rights: ['use virtualclusterinstances /'],
      scope: { virtualClusters: [{ project: 'blue', virtualCluster: '*' }] },
    });
    expect(await names(all)).toEqual(['p-blue/shop']);
  });

  it('is empty where the scope names no target of that kind, and asks nothing', async () => {
    const { names, asked } = await start({
      rights: ['use virtualclusterinstances /'],
      scope: { clusters: [{ cluster: 'eu' }] },
    });
    expect(await names(all)).toEqual([]);
    expect(asked).toEqual([]);
  });

  it('shows clusters, which have no namespace', async () => {
    const { names } = await start({ rights: ['use clusters /us'] });
    expect(await names('/clusters')).toEqual(['us']);
  });

  it('shows spaces of one namespace', async () => {
    const { names } = await start({ rights: ['use spaceinstances p-red/'] });
    expect(await names('/namespaces/p-red/spaceinstances')).toEqual(['p-red/room']);
    expect(await names('/namespaces/p-blue/spaceinstances')).toEqual([]);
  });

  it('gives a right in one namespace no effect in another', async () => {
    const { names } = await start({ rights: ['use virtualclusterinstances p-blue/shop'] });
    expect(await names(all)).toEqual(['p-blue/shop']);
  });

  it('goes to the API server for a user who may list the kind', async () => {
    const { send } = await start({ rights: ['list virtualclusterinstances /'] });
    expect((await send(all)).text).toContain('Upstream');
  });

  it('asks about each target where the API server does not know all rules', async () => {
    const { names } = await start({ rights: ['use virtualclusterinstances p-red/web'], isIncomplete: true });
    expect(await names(all)).toEqual(['p-red/web']);
  });

  it('comes as a table, with a resourceVersion to watch from', async () => {
    const { send } = await start({ rights: ['use virtualclusterinstances p-red/web'] });
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
    const { names } = await start({ rights: ['use virtualclusterinstances /'] });
    expect(await names(`${all}?labelSelector=name%3Dweb`)).toEqual(['p-red/web']);
    expect(await names(`${all}?fieldSelector=metadata.namespace%3Dp-blue`)).toEqual(['p-blue/shop']);
  });

  it('of 2,000 targets takes less than a second and a question for each project, not for each target', async () => {
    const instances = Array.from(
      { length: 2_000 },
      (_, index) => [`p-${index % 40}`, `vc-${index}`] as const,
    );
    const rights = ['use virtualclusterinstances p-7/', 'use virtualclusterinstances p-8/vc-8'];
    const { names, asked } = await start({ instances, rights });
    const started = performance.now();
    expect(await names(all)).toHaveLength(51);
    expect(performance.now() - started).toBeLessThan(1_000);
    expect(asked.length).toBeLessThan(50);
  });

  it('says that some are missing where there are too many to ask about', async () => {
    const instances = Array.from({ length: 600 }, (_, index) => ['p-red', `vc-${index}`] as const);
    const { send } = await start({ instances, isIncomplete: true });
    expect((await send(all)).text).toMatch(/Warning: 299 - ".*some that you may use are missing/i);
  });
});

describe('a get of a target', () => {
  it('answers who may use it, whatever RBAC says of the kind', async () => {
    const { send } = await start({ rights: ['use virtualclusterinstances p-red/web'] });
    const { status, body } = await send('/namespaces/p-red/virtualclusterinstances/web');
    expect([status, body.metadata.name]).toEqual([200, 'web']);
  });

  it('goes to the API server, which refuses it, for who may not use it', async () => {
    const { send } = await start();
    expect((await send('/namespaces/p-red/virtualclusterinstances/web')).text).toContain('Upstream');
  });

  it('names the scope where that says no', async () => {
    const { send } = await start({ rights: ['use clusters /'], scope: { clusters: [{ cluster: 'eu' }] } });
    expect((await send('/clusters/us')).body).toMatchObject({
      code: 403,
      message: expect.stringContaining('scope'),
    });
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
