import { describe, expect, it } from 'vitest';
import { until } from '../../../lab/operator/until.ts';
import { configMaps } from '../../../src/api/resources.ts';
import type { KubeObject } from '../../../src/kube/object.ts';
import { clientWith } from './api-client.ts';
import { gatewayWorld } from './gateway-world.ts';
import { ownClient, ownKeys, ownTokens } from './own-client.ts';

/** The same request about one's own at the gateway, and about a kind of Kubernetes at the API server itself. */
const world = await gatewayWorld();
const { admin, name, plane } = world;
const holder = await ownClient(world, { user: name('alice') });
const direct = await clientWith(plane.adminKubeconfig);
const namespace = name('space');
await plane.kubectl(['create', 'namespace', namespace]);
const spec = { spec: { ttl: 600 } };
const collection = `/api/v1/namespaces/${namespace}/configmaps`;
const [one, other] = [name('one'), name('other')];
for (const each of [one, other]) {
  await admin.createObject(configMaps, {
    ...{ apiVersion: 'v1', kind: 'ConfigMap' },
    metadata: { name: each, namespace },
  });
  const body = { metadata: { name: each }, ...spec };
  expect((await holder.send('POST', ownTokens, { body })).status).toBe(201);
}

interface Sent {
  readonly method?: string;
  /** Behind the path of the collection. */
  readonly path?: string;
  readonly isWatch?: boolean;
  readonly body?: object;
  readonly type?: string;
}

const toWatch = (path: string): string => path.replace('/v1/', '/v1/watch/');

/** Returns the answer of each. */
async function askBoth({
  method = 'GET',
  path = '',
  isWatch = false,
  body,
  type = 'application/json',
}: Sent) {
  const at = (base: string) => (isWatch ? toWatch(base) : base) + path;
  const sent = body === undefined ? {} : { body: JSON.stringify(body) };
  const headers: Record<string, string> = body === undefined ? {} : { 'content-type': type };
  const [expected, got] = await Promise.all([
    direct.send({ method, path: at(collection), headers, ...sent }),
    holder.send(method, at(ownTokens), body === undefined ? {} : { body, type }),
  ]);
  return [expected, got].map(({ status, text }) => ({ status, text }));
}

const reasonIn = (text: string): string => (text === '' ? '' : (JSON.parse(text).reason ?? ''));
const isAsExpected = async (sent: Sent) => {
  const [expected, got] = (await askBoth(sent)).map(({ status, text }) => [status, reasonIn(text)]);
  expect(got).toEqual(expected);
  return Number(got?.[0]);
};

const apply = 'application/apply-patch+yaml';
const merge = 'application/merge-patch+json';
const json = 'application/json-patch+json';

describe('a path and a method that do not fit are refused as by the API server', () => {
  it.each<[string, string, string, object]>([
    ['PATCH', '?fieldManager=a', apply, { metadata: { name: 'a' } }],
    ['PATCH', '', merge, {}],
    ['PATCH', '', json, []],
    ['PUT', '', 'application/json', {}],
    ['POST', `/${one}`, 'application/json', { metadata: { name: name('made') } }],
    ['POST', '/none', 'application/json', {}],
  ])('%s …%s as %s', async (method, path, type, body) => {
    expect(await isAsExpected({ method, path, type, body })).toBe(405);
  });

  it.each<[string, string]>([
    ['PATCH', apply],
    ['PATCH', merge],
    ['PUT', 'application/json'],
    ['GET', ''],
    ['DELETE', ''],
  ])('%s of a name that none can have, as %s', async (method, type) => {
    for (const bad of ['a%2525b', 'a%25b']) {
      const query = type === apply ? '?fieldManager=a' : '';
      const sent = type === '' ? {} : { type, body: {} };
      expect(await isAsExpected({ method, path: `/${bad}${query}`, ...sent })).toBe(400);
    }
  });

  it.each(['HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'])('%s of a path that says watch', async (method) => {
    for (const path of ['', `/${one}`]) expect(await isAsExpected({ method, path, isWatch: true })).toBe(405);
    for (const path of [one, other])
      expect((await holder.send('GET', `${ownTokens}/${path}`)).status).toBe(200);
  });

  it('a POST with a name in the path makes nothing', async () => {
    const body = { metadata: { name: name('made') } };
    expect((await holder.send('POST', `${ownKeys}/${name('made')}`, { body })).status).toBe(405);
    expect((await holder.send('GET', `${ownKeys}/${body.metadata.name}`)).status).toBe(404);
  });
});

/** The names in the events of a watch that ends by itself. */
const namesIn = (text: string): readonly string[] => {
  const events = text.trim() === '' ? [] : text.trim().split('\n');
  return [...new Set(events.map((line) => JSON.parse(line).object.metadata.name))];
};

describe.concurrent('a watch of one name', () => {
  it.each([
    ['that is there', () => `/${one}?timeoutSeconds=1`, () => [one]],
    ['that is not there', () => '/none?timeoutSeconds=1', () => []],
    [
      'that a selector names as well',
      () => `/${one}?timeoutSeconds=1&fieldSelector=metadata.name%3D${one}`,
      () => [one],
    ],
    ['in a selector alone', () => `?timeoutSeconds=1&fieldSelector=metadata.name%3D${other}`, () => [other]],
  ])('%s shows nothing else', async (_, path, names) => {
    const answers = await askBoth({ path: path(), isWatch: true });
    expect(answers.map(({ status, text }) => [status, namesIn(text)])).toEqual(
      answers.map(() => [200, names()]),
    );
  });

  it('that a selector contradicts is refused', async () => {
    const path = `/${one}?timeoutSeconds=1&fieldSelector=metadata.name%3D${other}`;
    expect(await isAsExpected({ path, isWatch: true })).toBe(400);
  });

  it('goes on with that name alone', async () => {
    const path = `${toWatch(ownTokens)}/${one}`;
    const watch = await holder.watch(path);
    for (const each of [other, one]) {
      const body = { metadata: { labels: { step: 'two' } } };
      expect((await holder.send('PATCH', `${ownTokens}/${each}`, { type: merge, body })).status).toBe(200);
    }
    const events = await watch.until('the change', (all) =>
      all.some(({ type, object }) => type === 'MODIFIED' && object.metadata.labels?.step === 'two'),
    );
    expect(new Set(events.map(({ object }) => object.metadata.name))).toEqual(new Set([one]));
    watch.end();
  });
});

describe.concurrent('the version of a list is judged as by the API server', () => {
  it.each([
    ['resourceVersion=abc', 400],
    ['resourceVersion=-1', 400],
    ['resourceVersion=18446744073709551616', 400],
    ['resourceVersion=abc&resourceVersionMatch=NotOlderThan', 400],
    ['resourceVersion=0', 200],
    ['resourceVersion=1', 200],
    ['resourceVersion=1&resourceVersionMatch=NotOlderThan', 200],
    ['resourceVersion=1&resourceVersionMatch=NotOlderThan&limit=1', 200],
    ['resourceVersionMatch=Exact', 422],
    ['resourceVersionMatch=NotOlderThan', 422],
    ['resourceVersion=1&resourceVersionMatch=Bogus', 422],
    ['resourceVersion=0&resourceVersionMatch=Exact', 422],
    ['resourceVersion=9000000000000&resourceVersionMatch=NotOlderThan', 504],
    ['resourceVersion=1&resourceVersionMatch=Exact&limit=1&continue=a', 422],
    ['sendInitialEvents=true', 422],
    ['watch=true&timeoutSeconds=1&sendInitialEvents=true', 422],
    ['watch=true&timeoutSeconds=1&resourceVersion=1&resourceVersionMatch=NotOlderThan', 422],
  ])('%s: %i', async (query, status) => {
    expect(await isAsExpected({ path: `?${query}` })).toBe(status);
  });

  it('beside a continue token is refused', async () => {
    for (const [ask, base] of [
      [async (path: string) => (await direct.send({ path })).text, collection],
      [async (path: string) => (await holder.send('GET', path)).text, ownTokens],
    ] as const) {
      const { metadata } = JSON.parse(await ask(`${base}?limit=1`));
      const page = `${base}?limit=1&continue=${encodeURIComponent(metadata.continue)}`;
      expect(JSON.parse(await ask(`${page}&resourceVersion=0`))).toHaveProperty('items');
      const refused = JSON.parse(await ask(`${page}&resourceVersion=${metadata.resourceVersion}`));
      expect([refused.code, refused.reason]).toEqual([400, 'BadRequest']);
    }
  });

  it('exactly is the present one or gone: the gateway keeps no others', async () => {
    const list = async (query: string) => await holder.send('GET', `${ownTokens}?${query}`);
    const isServed = async () => {
      const { resourceVersion } = (await list('')).body.metadata;
      return (await list(`resourceVersion=${resourceVersion}&resourceVersionMatch=Exact`)).status === 200;
    };
    await until('no one writes between the two', isServed);
    for (const query of ['resourceVersion=1&resourceVersionMatch=Exact', 'resourceVersion=1&limit=1']) {
      const { status, body } = await list(query);
      expect([status, body.details.causes[0].reason]).toEqual([410, 'ERR_VERSION_NOT_KEPT']);
    }
  });
});

describe.concurrent('the version of one object is judged as by the API server', () => {
  it.each([
    ['resourceVersion=', 200],
    ['resourceVersion=0', 200],
    ['resourceVersion=1', 200],
    ['resourceVersion=1&resourceVersionMatch=Bogus', 200],
    ['resourceVersion=9000000000000', 504],
  ])('%s: %i', async (query, status) => {
    expect(await isAsExpected({ path: `/${one}?${query}` })).toBe(status);
  });

  it.each(['abc', '-1', '18446744073709551616'])('%s is none', async (version) => {
    const path = `/${one}?resourceVersion=${version}`;
    const [expected, got] = await askBoth({ path });
    expect([expected?.status, got?.status]).toEqual([500, 400]);
  });
});

describe.concurrent('the limit of a list is read as by the API server', () => {
  it.each([
    ['-1', 200],
    ['-9223372036854775808', 200],
    ['9223372036854775807', 200],
    ['%2B1', 200],
    ['', 400],
    ['abc', 400],
    ['1.5', 400],
    ['9223372036854775808', 400],
  ])('limit=%s: %i', async (limit, status) => {
    expect(await isAsExpected({ path: `?limit=${limit}` })).toBe(status);
  });

  it('below 0 is no limit', async () => {
    const { body } = await holder.send('GET', `${ownTokens}?limit=-1`);
    expect(body.items.length).toBeGreaterThan(1);
    expect(body.metadata.continue).toBeUndefined();
  });
});

describe.concurrent('the options of a delete of all are judged as by the API server', () => {
  it.each([
    ['resourceVersion=abc', 400],
    ['resourceVersion=1', 200],
    ['resourceVersion=9000000000000', 504],
    ['resourceVersionMatch=Exact', 422],
    ['resourceVersion=1&resourceVersionMatch=Bogus', 422],
    ['sendInitialEvents=true', 422],
    ['limit=abc', 400],
    ['limit=-1', 200],
  ])('%s: %i', async (query, status) => {
    const selected = 'labelSelector=none%3Dnone';
    const path = `?dryRun=All&${selected}&${query}`;
    expect(await isAsExpected({ method: 'DELETE', path })).toBe(status);
  });
});

describe('a delete of all with a limit', () => {
  it('deletes as many as the API server does', async () => {
    const labels = { page: name('page') };
    for (const each of ['a', 'b', 'c']) {
      const metadata = { name: `${labels.page}-${each}`, labels };
      const sent = { method: 'POST', body: { metadata, ...spec } };
      expect((await askBoth(sent)).map(({ status }) => status)).toEqual([201, 201]);
    }
    const path = `?labelSelector=page%3D${labels.page}`;
    const left = async () =>
      (await askBoth({ path })).map(({ text }): readonly KubeObject[] => JSON.parse(text).items);
    const isWhole = ({ metadata }: KubeObject) => metadata.deletionTimestamp === undefined;
    for (const expected of [2, 1, 0]) {
      const answers = await askBoth({ method: 'DELETE', path: `${path}&limit=1` });
      expect(answers.map(({ status }) => status)).toEqual([200, 200]);
      const whole = (await left()).map((items) => items.filter(isWhole).length);
      expect(whole).toEqual([expected, expected]);
      const isGone = async () => (await left()).every(({ length }) => length === expected);
      await until('nothing is left of what was deleted', isGone);
    }
  });
});

describe('a dry-run delete judges its options as the API server does', () => {
  const dryRun = ['All'];
  it.each<[string, object | undefined, number]>([
    ['?dryRun=All&propagationPolicy=Bogus', undefined, 422],
    ['?dryRun=All&propagationPolicy=', undefined, 422],
    ['?dryRun=All&propagationPolicy=Foreground', undefined, 200],
    ['?dryRun=All&gracePeriodSeconds=abc', undefined, 400],
    ['?dryRun=All&gracePeriodSeconds=-1', undefined, 200],
    ['', { dryRun, propagationPolicy: 'Bogus' }, 422],
    ['', { dryRun, propagationPolicy: 'Orphan', orphanDependents: true }, 422],
    ['', { dryRun, propagationPolicy: 7 }, 400],
    ['', { dryRun, orphanDependents: 'yes' }, 400],
    ['', { dryRun, gracePeriodSeconds: '1' }, 400],
    ['', { dryRun, gracePeriodSeconds: 1.5 }, 400],
    ['', { dryRun, propagationPolicy: null, orphanDependents: null, gracePeriodSeconds: null }, 200],
  ])('%s %j: %i', async (query, body, status) => {
    for (const path of [`/${one}`, '']) {
      const sent = body === undefined ? {} : { body };
      expect(await isAsExpected({ method: 'DELETE', path: path + query, ...sent })).toBe(status);
    }
  });
});

describe('a dry run that is none deletes nothing and says so', () => {
  it.each([
    ['?dryRun=bogus', undefined],
    ['?dryRun=', undefined],
    ['?dryRun=All&dryRun=bogus', undefined],
    ['?dryRun=all', undefined],
    ['', { dryRun: ['bogus'] }],
  ])('%s %j', async (query, body) => {
    for (const path of [`/${one}`, '']) {
      const sent = body === undefined ? {} : { body };
      expect(await isAsExpected({ method: 'DELETE', path: path + query, ...sent })).toBe(422);
    }
    expect((await holder.send('GET', `${ownTokens}/${one}`)).status).toBe(200);
  });
});
