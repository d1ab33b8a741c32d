import { afterEach, describe, expect, it } from 'vitest';
import {
  type Behaviour,
  type GatewayStage,
  gatewayStage,
  verdictFor,
} from '../../../../test/builders/gateway-stage.ts';
import { labels } from '../../../api/names.ts';
import type { KubeObject } from '../../../kube/object.ts';
import { toProjectRecord } from '../../../platform/targets/project-record.ts';
import { toInstanceRecord, toSpaceRecord } from '../../../platform/targets/target-record.ts';
import { TargetRecords } from '../../index/target-records.ts';

const key = 'a-key-that-alice-chose-herself';
const api = '/apis/management.platform.sh/v1';
const running: GatewayStage[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((stage) => stage.close()));
});

const created = '2026-01-01T00:00:00Z';
const metadataOf = (name: string, more: object = {}) => ({
  ...{ name, uid: `uid-${name}`, resourceVersion: '1', creationTimestamp: created, ...more },
});
const namespaceOf = (name: string, project = name.replace(/^p-/, ''), more: object = {}): KubeObject => ({
  metadata: metadataOf(name, { labels: { [labels.project]: project }, ...more }) as KubeObject['metadata'],
});
const instanceOf = (namespace: string, name: string, cluster: string, more: object = {}) =>
  ({
    metadata: metadataOf(name, { namespace, ...more }),
    spec: { clusterRef: { cluster, namespace: 'a', virtualCluster: 'b' } },
    status: { phase: 'Ready' },
  }) as unknown as KubeObject & { readonly status: object };

interface Question {
  readonly verb: string;
  readonly resource: string;
  readonly namespace?: string;
  readonly name: string;
}

interface Site {
  readonly namespaces?: readonly KubeObject[];
  /** Rights of the user, as RBAC has them: `verb resource namespace/name`; an empty name or namespace allows all. */
  readonly rights?: readonly string[];
  readonly scope?: Record<string, unknown>;
  readonly prefix?: string;
  readonly behaviour?: Behaviour;
}

const answering =
  (status: number, body: object): Behaviour =>
  (socket) => {
    const text = JSON.stringify(body);
    socket.write(`HTTP/1.1 ${status} X\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
  };

const defaults = ['p-red', 'p-green', 'p-blue'].map((name) => namespaceOf(name));

async function start({ namespaces = defaults, rights = [], scope, prefix = 'p-', behaviour }: Site = {}) {
  const asked: string[] = [];
  const mayDo = ({ verb, resource, namespace = '', name }: Question): boolean => {
    asked.push(`${verb} ${resource} ${namespace}/${name}`);
    return [`${namespace}/${name}`, `${namespace}/`, '/'].some((place) =>
      rights.includes(`${verb} ${resource} ${place}`),
    );
  };
  const create = async (_: unknown, review: { spec: { resourceAttributes: Question } }) => ({
    status: { allowed: mayDo(review.spec.resourceAttributes) },
  });
  const targetRecords = new TargetRecords(prefix);
  for (const one of namespaces) targetRecords.projects.upsert(toProjectRecord(one));
  targetRecords.instances.upsert(toInstanceRecord(instanceOf('p-red', 'shop', 'eu')));
  targetRecords.spaces.upsert(toSpaceRecord(instanceOf('p-red', 'web', 'us')));
  const stage = await gatewayStage(behaviour ?? answering(404, {}), {
    platform: { as: () => ({ create }) as never },
    services: { targetRecords },
    projectNamespacePrefix: prefix,
  });
  running.push(stage);
  stage.know(key, verdictFor(scope));
  const send = async (line: string, accept = 'application/json, */*') => {
    const [method = '', path = ''] = line.split(' ');
    const text = await stage.send(
      [
        `${method} /kubernetes/management${api}${path} HTTP/1.1`,
        ...['Host: a', 'Connection: close', `Authorization: Bearer ${key}`, `Accept: ${accept}`, '', ''],
      ].join('\r\n'),
    );
    const body = text.slice(text.indexOf('\r\n\r\n') + 4);
    // biome-ignore lint/suspicious/noExplicitAny: answers are checked by the tests
    return { status: Number(text.split(' ')[1]), text, body: (body === '' ? {} : JSON.parse(body)) as any };
  };
  const names = async (path = '/projects'): Promise<readonly string[]> =>
    (await send(`GET ${path}`)).body.items.map((item: KubeObject) => item.metadata.name);
  return { ...stage, send, names, asked };
}

const seesAll = ['get projects /'];

describe('a list of projects', () => {
  it('shows those that the user may get, each by its namespace, in the order of names', async () => {
    const { send } = await start({ rights: ['get projects p-red/', 'get projects p-blue/blue'] });
    const { status, body } = await send('GET /projects');
    const metadata = { name: 'blue', uid: 'uid-p-blue', creationTimestamp: created };
    expect(status).toBe(200);
    expect(body).toMatchObject({ kind: 'ProjectList', apiVersion: 'management.platform.sh/v1' });
    expect(body.items).toEqual([
      { kind: 'Project', apiVersion: body.apiVersion, metadata, spec: {}, status: { namespace: 'p-blue' } },
      expect.objectContaining({ metadata: expect.objectContaining({ name: 'red' }) }),
    ]);
  });

  it('asks one question for who may get all of them', async () => {
    const { names, asked } = await start({ rights: seesAll });
    expect(await names()).toEqual(['blue', 'green', 'red']);
    expect(asked).toEqual(['get projects /']);
  });

  it('is empty for a user without rights, and asks about each project once in five seconds', async () => {
    const { names, asked } = await start();
    expect([await names(), await names()]).toEqual([[], []]);
    expect(asked.toSorted()).toEqual(
      ['/', 'p-blue/blue', 'p-green/green', 'p-red/red'].map((place) => `get projects ${place}`),
    );
  });

  it.each<[string, Record<string, unknown>, readonly string[]]>([
    ['a project', { projects: [{ project: 'red' }] }, ['red']],
    ['all projects', { projects: [{ project: '*' }] }, ['blue', 'green', 'red']],
    ['a space', { spaces: [{ project: 'green', space: 'a' }] }, ['green']],
    ['a virtual cluster', { virtualClusters: [{ project: 'blue', virtualCluster: '*' }] }, ['blue']],
    ['the role of a command line', { roles: [{ role: 'platform-cli' }] }, ['blue', 'green', 'red']],
    ['this role in a project', { roles: [{ role: 'platform-cli', projects: ['green'] }] }, ['green']],
  ])('shows no more than a scope with %s allows by name', async (_, scope, expected) => {
    const { names, send } = await start({ rights: seesAll, scope });
    expect(await names()).toEqual(expected);
    for (const name of ['red', 'green', 'blue'])
      expect((await send(`GET /projects/${name}`)).status).toBe(expected.includes(name) ? 200 : 403);
  });

  it.each<[string, Record<string, unknown>]>([
    ['nothing', {}],
    ['a cluster', { clusters: [{ cluster: '*' }] }],
    ['a rule about something else', { rules: [{ resources: [{ group: '', resources: ['pods'] }] }] }],
    ['another role', { roles: [{ role: 'vcluster' }] }],
  ])('is refused with a scope of %s', async (_, scope) => {
    const { send, asked } = await start({ rights: seesAll, scope });
    expect((await send('GET /projects')).body).toMatchObject({ code: 403 });
    expect((await send('GET /projects/red')).body).toMatchObject({ code: 403 });
    expect(asked).toEqual([]);
  });

  it('holds one for a rule that names it', async () => {
    const resources = [{ group: 'management.platform.sh', resources: ['projects'] }];
    const scope = { rules: [{ verbs: ['list'], resources, resourceNames: ['red'] }] };
    const { names, send } = await start({ rights: seesAll, scope });
    expect(await names('/projects?fieldSelector=metadata.name=red')).toEqual(['red']);
    expect((await send('GET /projects')).status).toBe(403);
  });

  it('shows no namespace with another name, without the label, that is going, or that is ours', async () => {
    const namespaces = [
      ...['kube-system', 'latchkey-system', 'latchkey-targets'].map((name) => namespaceOf(name)),
      namespaceOf('p-other', 'red'),
      namespaceOf('p-gone', 'gone', { deletionTimestamp: created }),
      namespaceOf('p-red'),
    ];
    const { names, send } = await start({ rights: seesAll, namespaces });
    expect(await names()).toEqual(['red']);
    for (const name of ['other', 'gone', 'kube-system'])
      expect((await send(`GET /projects/${name}`)).status).toBe(404);
  });

  it('shows none of ours even with their prefix', async () => {
    const namespaces = [namespaceOf('latchkey-system', 'system'), namespaceOf('latchkey-red', 'red')];
    const { names, send } = await start({ rights: seesAll, namespaces, prefix: 'latchkey-' });
    expect(await names()).toEqual(['red']);
    expect((await send('GET /projects/system')).status).toBe(404);
  });

  it('is refused with the way out where each of too many would have to be asked about', async () => {
    const namespaces = Array.from({ length: 501 }, (_, number) => namespaceOf(`p-n${number}`));
    const { send, asked } = await start({ namespaces, rights: ['get projects p-n1/'] });
    const { status, body } = await send('GET /projects');
    expect([status, body.message]).toEqual([403, expect.stringContaining('more than 500 projects')]);
    expect(asked).toEqual(['get projects /']);
    expect((await send('GET /projects/n1')).status).toBe(200);
  });

  it('comes as a table, as metadata, and narrowed by a selector', async () => {
    const { send, names } = await start({ rights: seesAll });
    const table = await send('GET /projects', 'application/json;as=Table;v=v1;g=meta.k8s.io');
    expect(table.body.rows[0]).toMatchObject({
      cells: ['blue', 'p-blue', expect.stringMatching(/^\d+[dy]$/)],
      object: { kind: 'PartialObjectMetadata', metadata: { name: 'blue' } },
    });
    const metadata = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io';
    expect((await send('GET /projects', metadata)).body.kind).toBe('PartialObjectMetadataList');
    expect(await names('/projects?fieldSelector=metadata.name!=red')).toEqual(['blue', 'green']);
    expect(await names('/projects?labelSelector=a')).toEqual([]);
    expect((await send('GET /projects?fieldSelector=spec.a=b')).status).toBe(400);
    expect((await send('GET /projects', 'application/vnd.kubernetes.protobuf')).status).toBe(406);
  });
});

describe('one project', () => {
  it('that is there and one that is not are the same for who may see neither', async () => {
    const { send, asked } = await start();
    const [there, missing] = [await send('GET /projects/red'), await send('GET /projects/xyz')];
    expect(there.status).toBe(403);
    expect(there.body.message).toContain('User "alice" needs the verb "get" on projects/red in p-red');
    const text = missing.text.replaceAll('xyz', 'red').replace(/^date: .*/im, '');
    expect(text).toBe(there.text.replace(/^date: .*/im, ''));
    expect(asked).toEqual(['get projects p-red/red', 'get projects p-xyz/xyz']);
  });

  it('that is not there is a 404 for who might see it', async () => {
    const { send } = await start({ rights: seesAll });
    const { status, body } = await send('GET /projects/no');
    expect([status, body.reason, body.details.kind]).toEqual([404, 'NotFound', 'projects']);
  });

  it('with a name that no namespace can have is asked about nowhere', async () => {
    const { send, asked } = await start({ rights: seesAll });
    for (const name of ['a.b', 'a'.repeat(62), 'A'])
      expect((await send(`GET /projects/${name}`)).status).toBe(404);
    expect(asked).toEqual([]);
  });

  it.each(['POST /projects', 'PUT /projects/red', 'PATCH /projects/red', 'DELETE /projects/red'])(
    '%s is refused, and says what to do',
    async (line) => {
      const { send, seen } = await start({ rights: seesAll });
      const { status, body, text } = await send(line);
      expect([status, body.message]).toEqual([405, expect.stringContaining('kubectl label namespace')]);
      expect(text).toMatch(/^allow: GET\r$/m);
      expect(seen).toEqual([]);
    },
  );

  it.each(['DELETE /projects', 'GET /projects?watch=true', 'GET /watch/projects'])(
    '%s is refused, too',
    async (line) => {
      const { send, seen } = await start({ rights: seesAll });
      expect((await send(line)).status).toBe(405);
      expect(seen).toEqual([]);
    },
  );
});

describe('the clusters of a project', () => {
  const clusters = async (rights: readonly string[], scope?: Record<string, unknown>) => {
    const { send } = await start({ rights, ...(scope && { scope }) });
    const { status, body } = await send('GET /projects/red/clusters');
    const names = body.clusters?.map((cluster: KubeObject) => cluster.metadata.name);
    return [status, names];
  };
  const reads = [...seesAll, 'get virtualclusterinstances p-red/', 'get spaceinstances p-red/web'];

  it('are those of the instances that the user may read, by their names alone', async () => {
    expect(await clusters(reads)).toEqual([200, ['eu', 'us']]);
    expect(await clusters(reads.slice(0, 2))).toEqual([200, ['eu']]);
    expect(await clusters(seesAll)).toEqual([200, []]);
    expect(await clusters([])).toEqual([403, undefined]);
  });

  it('are those of the instances that the scope allows', async () => {
    const scope = { virtualClusters: [{ project: 'red', virtualCluster: 'shop' }] };
    expect(await clusters(reads, scope)).toEqual([200, ['eu']]);
    expect(await clusters(reads, { spaces: [{ project: 'red', space: 'other' }] })).toEqual([200, []]);
    expect(await clusters(reads, { projects: [{ project: 'green' }] })).toEqual([403, undefined]);
  });
});

describe('instances with extended=true', () => {
  const path = '/namespaces/p-red/virtualclusterinstances';
  const list = {
    kind: 'VirtualClusterInstanceList',
    metadata: { resourceVersion: '7' },
    items: [
      instanceOf('p-red', 'shop', 'eu'),
      instanceOf('p-red', 'other', 'eu'),
      instanceOf('p-red', 'gone', 'eu', { deletionTimestamp: created }),
      instanceOf('default', 'shop', 'eu'),
    ],
  };
  const listed = answering(200, list);
  const usable = async (site: Site, line = `GET ${path}?extended=true`) => {
    const { send, asked } = await start({ behaviour: listed, ...site });
    const { body } = await send(line);
    const items: readonly (typeof list.items)[number][] = body.items;
    const names = items
      .filter(({ status }) => (status as { canUse?: boolean }).canUse === true)
      .map(({ metadata: { namespace, name } }) => `${namespace}/${name}`);
    return { names, asked, body };
  };

  it('say which of them the user may enter, and hold everything else as it was', async () => {
    const { names, body } = await usable({ rights: ['use virtualclusterinstances p-red/shop'] });
    expect(names).toEqual(['p-red/shop']);
    const items = list.items.map((item, place) => ({
      ...item,
      status: { ...item.status, canUse: place === 0 },
    }));
    expect(body).toEqual({ ...list, items });
  });

  it('hold no spec.access, which such clients read as a list', async () => {
    const instance = instanceOf('p-red', 'shop', 'eu');
    const spec = { displayName: 'a', access: { clusterRole: 'view' } };
    const { send } = await start({ behaviour: answering(200, { ...instance, spec }) });
    const { body } = await send(`GET ${path}/shop?extended=true`);
    const shown = { displayName: 'a', clusterRef: { virtualCluster: 'shop' } };
    expect([body.spec, body.status]).toEqual([shown, { phase: 'Ready', canUse: false }]);
  });

  it('ask once about who may use all of a namespace, and not about what is going or in no project', async () => {
    const { names, asked } = await usable({ rights: ['use virtualclusterinstances p-red/'] });
    expect(names).toEqual(['p-red/shop', 'p-red/other']);
    expect(asked.map((question) => question.split(' ')[2])).toEqual(['/', 'p-red/']);
  });

  it('are not usable beyond the scope, whatever the user may do', async () => {
    const rights = ['use virtualclusterinstances /'];
    const resources = [{ group: 'management.platform.sh', resources: ['*'] }];
    expect((await usable({ rights, scope: { rules: [{ resources }] } })).names).toEqual([
      'p-red/shop',
      'p-red/other',
    ]);
    const rules = [{ resources, requestTargets: ['Management'] }];
    const virtualClusters = [{ project: 'red', virtualCluster: 'other' }];
    expect((await usable({ rights, scope: { rules } })).names).toEqual([]);
    expect((await usable({ rights, scope: { rules, virtualClusters } })).names).toEqual(['p-red/other']);
  });

  it('of all namespaces leave out ours for who has a scope', async () => {
    const resources = [{ group: 'management.platform.sh', resources: ['*'] }];
    const { send, seen } = await start({ behaviour: listed, scope: { rules: [{ resources }] } });
    await send('GET /virtualclusterinstances?extended=true');
    expect(seen[0]).toMatch(/^GET \S+fieldSelector=metadata\.namespace!%3Dlatchkey-system/m);
  });

  it('are refused as without it', async () => {
    const status = { kind: 'Status', code: 403, message: 'no' };
    const { send } = await start({ behaviour: answering(403, status) });
    expect((await send(`GET ${path}?extended=true`)).body).toEqual(status);
  });

  it.each([
    ['without it', `GET ${path}`, 'application/json'],
    ['with another value', `GET ${path}?extended=1`, 'application/json'],
    ['of another kind', 'GET /clusters?extended=true', 'application/json'],
    ['in a table', `GET ${path}?extended=true`, 'application/json;as=Table;v=v1;g=meta.k8s.io'],
  ])('%s pass unchanged for a user who may list them', async (_, line, accept) => {
    const rights = ['virtualclusterinstances', 'clusters'].map((plural) => `list ${plural} /`);
    const { send, asked } = await start({ behaviour: listed, rights });
    expect((await send(line, accept)).body).toEqual(list);
    expect(asked.filter((question) => question.startsWith('use '))).toEqual([]);
  });
});

describe('a list of instances of all namespaces with extended=true', () => {
  const line = 'GET /virtualclusterinstances?extended=true';
  const status = { kind: 'Status', code: 403, message: 'the API server says no' };
  /** The API server: no one may list all of them, and in the namespaces of projects there is one each. */
  const platform =
    (forbidden: readonly string[] = []): Behaviour =>
    (socket, request) => {
      const [, namespace] = /^GET \/apis\/[^/]+\/v1\/namespaces\/([^/]+)\//.exec(request) ?? [];
      const isRefused = namespace === undefined || forbidden.includes(namespace);
      const items = [instanceOf(namespace ?? '', 'shop', 'eu')];
      const [code, body] = isRefused ? [403, status] : [200, { items }];
      void answering(code, body)(socket, request);
    };
  const sees = ['get projects p-red/', 'get projects p-blue/'];
  const namespacesIn = async (site: Site, forbidden?: readonly string[], path = line) => {
    const { send, seen } = await start({ behaviour: platform(forbidden), ...site });
    const { status: code, body } = await send(path);
    const found = body.items?.map((item: KubeObject) => item.metadata.namespace);
    return { code, found, body, seen: seen.map((request) => request.split(' ')[1] ?? '') };
  };

  it('holds those of each project, for a user who may not list them all', async () => {
    const { code, found, body, seen } = await namespacesIn({ rights: sees });
    expect([code, body.kind, found]).toEqual([200, 'VirtualClusterInstanceList', ['p-blue', 'p-red']]);
    expect(seen).toHaveLength(3);
  });

  it('leaves out the projects that the user may see, and not list instances in', async () => {
    expect((await namespacesIn({ rights: sees }, ['p-blue'])).found).toEqual(['p-red']);
  });

  it('is what the API server says for a user who sees no project', async () => {
    const { code, body } = await namespacesIn({});
    expect([code, body]).toEqual([403, status]);
  });

  it('asks the API server about the projects of the scope alone, and never about all', async () => {
    const scope = { projects: [{ project: 'red' }] };
    const { found, seen } = await namespacesIn({ rights: seesAll, scope });
    expect(found).toEqual(['p-red']);
    expect(seen).toEqual(['/apis/management.platform.sh/v1/namespaces/p-red/virtualclusterinstances']);
  });

  it('keeps the selectors of the client', async () => {
    const scope = { projects: [{ project: 'red' }] };
    const { seen } = await namespacesIn(
      { rights: seesAll, scope },
      [],
      `${line}&labelSelector=a%3Db&limit=1`,
    );
    expect(seen[0]).toMatch(/virtualclusterinstances\?labelSelector=a%3Db$/);
    const next = await namespacesIn({ rights: seesAll, scope }, [], `${line}&continue=abc`);
    expect([next.code, next.seen]).toEqual([400, []]);
  });

  it.each<[string, Record<string, unknown>, string, string]>([
    ['a table', { projects: [{ project: 'red' }] }, line, 'application/json;as=Table;v=v1;g=meta.k8s.io'],
    ['protobuf', { projects: [{ project: 'red' }] }, line, 'application/vnd.kubernetes.protobuf'],
    ['a virtual cluster', { virtualClusters: [{ project: 'red', virtualCluster: 'shop' }] }, line, '*/*'],
    ['a scope without projects', { clusters: [{ cluster: '*' }] }, line, 'application/json'],
    ['an empty scope', {}, line, 'application/json'],
    ['a delete', { projects: [{ project: '*' }] }, line.replace('GET', 'DELETE'), 'application/json'],
  ])('gives %s nothing that the scope refuses', async (_, scope, sent, accept) => {
    const { send, seen } = await start({ rights: seesAll, scope, behaviour: answering(200, { items: [] }) });
    const { status: code, body } = await send(sent, accept);
    expect([code, body.message]).toEqual([403, expect.stringContaining('the scope of OwnedAccessKey "ci"')]);
    expect(seen).toEqual([]);
  });

  it.each<[string, Record<string, unknown>, string]>([
    ['a watch', { projects: [{ project: 'red' }] }, `${line}&watch=true`],
    ['another kind', { projects: [{ project: '*' }] }, 'GET /clusters?extended=true'],
    ['the second value', { projects: [{ project: '*' }] }, line.replace('=', '=false&extended=')],
  ])('sends %s that the scope refuses not on: the user sees the usable ones', async (_, scope, sent) => {
    const { send, seen } = await start({ rights: seesAll, scope, behaviour: answering(200, { items: [] }) });
    await send(sent);
    expect(seen.filter((request) => request.includes('extended='))).toEqual([]);
  });

  it('is refused where there are too many projects', async () => {
    const namespaces = Array.from({ length: 101 }, (_, number) => namespaceOf(`p-n${number}`));
    const { code, body } = await namespacesIn({ rights: seesAll, namespaces });
    expect([code, body.message]).toEqual([400, expect.stringContaining('more than 100 projects')]);
  });
});
