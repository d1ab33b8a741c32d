import { describe, expect, it } from 'vitest';
import { until } from '../../../lab/operator/until.ts';
import { gatewayWorld } from './gateway-world.ts';
import { OwnClient, type OwnWatch, ownClient, ownKeys, ownTokens } from './own-client.ts';

const world = await gatewayWorld();
const { admin, name } = world;
const mergePatch = 'application/merge-patch+json';
const scope = { roles: [{ role: 'platform-cli' }] };

type Client = Awaited<ReturnType<typeof ownClient>>;

/** Lists a watch's events about one object, in order; changes that come fast may come as one. */
const typesOf = (events: OwnWatch['events'], of: string) =>
  events
    .filter(({ object }) => object.metadata.name === of)
    .map(({ type }) => type)
    .filter((type, index, all) => type !== all[index - 1]);
const namesIn = (events: OwnWatch['events']) =>
  new Set(events.filter(({ type }) => type !== 'BOOKMARK').map(({ object }) => object.metadata.name));

/** From now on. */
async function watchOf(client: OwnClient, place = ownKeys, query = ''): Promise<OwnWatch> {
  const { body } = await client.send('GET', `${place}?limit=500`);
  return await client.watch(`${place}?watch=true&resourceVersion=${body.metadata.resourceVersion}${query}`);
}

/** Waits until it has said this of the object, whatever else came. */
const untilSaid = async (watch: OwnWatch, of: string, types: readonly string[]) =>
  void (await watch.until(`${of}: ${types}`, (events) => typesOf(events, of).join() === types.join()));

async function make(client: OwnClient, spec: object = {}, metadata: object = {}, place = ownKeys) {
  const { status, body } = await client.send('POST', place, { body: { metadata, spec } });
  expect(status).toBe(201);
  return { name: body.metadata.name as string, path: `${place}/${body.metadata.name}`, body };
}

describe('a watch of one’s own', () => {
  it.each([
    ['a key', ownKeys],
    ['a token', ownTokens],
  ])('says when %s begins, changes and ends', async (_, place) => {
    const alice = await ownClient(world, { user: name('alice') });
    const watch = await watchOf(alice, place);
    const made = await make(alice, { ttl: 600 }, {}, place);
    await watch.until('it is there', (events) => typesOf(events, made.name)[0] === 'ADDED');
    const body = { metadata: { labels: { step: 'changed' } } };
    expect((await alice.send('PATCH', made.path, { type: mergePatch, body })).status).toBe(200);
    await untilSaid(watch, made.name, ['ADDED', 'MODIFIED']);
    expect((await alice.send('DELETE', made.path)).status).toBe(200);
    await untilSaid(watch, made.name, ['ADDED', 'MODIFIED', 'DELETED']);
    watch.end();
  });

  it('says so of keys that somebody else makes for its user, and not of those that others make below keys of its user', async () => {
    const user = name('alice');
    const alice = await ownClient(world, { user });
    const watch = await watchOf(alice);
    const below = await admin.createKey({ accessKey: alice.object.metadata.name });
    const made = await admin.untilReady(await admin.createKey({ user }));
    await watch.until('it is there', (events) => namesIn(events).has(made.metadata.name));
    await admin.delete(made);
    await watch.until('it is gone', (events) => typesOf(events, made.metadata.name).at(-1) === 'DELETED');
    expect(namesIn(watch.events)).not.toContain(below.metadata.name);
    watch.end();
  });

  it('says that an object ends whose name a stranger has at once, and nothing of the stranger', async () => {
    const [alice, bob] = [
      await ownClient(world, { user: name('alice') }),
      await ownClient(world, { user: name('bob') }),
    ];
    const watches = [await watchOf(alice), await watchOf(bob)] as const;
    const made = await make(alice);
    await watches[0].until('it is there', (events) => namesIn(events).has(made.name));
    await admin.delete(made.body);
    const mark = name('of-bob');
    const taken = await until('the name is free', async () => {
      const metadata = { name: made.name, annotations: { mark } };
      const answer = await bob.send('POST', ownKeys, { body: { metadata } });
      return answer.status === 201 && answer;
    });
    await watches[0].until('it is gone', (events) => typesOf(events, made.name).at(-1) === 'DELETED');
    await watches[1].until('it is there', (events) => typesOf(events, made.name)[0] === 'ADDED');
    for (const told of [mark, taken.body.metadata.uid]) expect(watches[0].text).not.toContain(told);
    expect(watches[1].text).not.toContain(made.body.metadata.uid);
    for (const watch of watches) watch.end();
  });

  it('says when a label begins and ceases to be selected', async () => {
    const alice = await ownClient(world, { user: name('alice') });
    const made = await make(alice);
    const watch = await watchOf(alice, ownKeys, '&labelSelector=app%3Dshop');
    const label = async (app: string | null) =>
      await alice.send('PATCH', made.path, { type: mergePatch, body: { metadata: { labels: { app } } } });
    await label('shop');
    await watch.until('it is selected', (events) => typesOf(events, made.name)[0] === 'ADDED');
    await label('other');
    await watch.until('it is not', (events) => typesOf(events, made.name).at(-1) === 'DELETED');
    await label('shop');
    await watch.until('it is again', (events) => typesOf(events, made.name).at(-1) === 'ADDED');
    watch.end();
  });
});

/** Of a label that is not selected, a watch says DELETED. */
const isLabelled = (app: string, of: string) => (events: OwnWatch['events']) => {
  const last = events.findLast(({ object }) => object.metadata.name === of);
  return last?.type === 'DELETED' || last?.object.metadata.labels?.['app'] === app;
};

describe('a watch with selectors that goes on from a list', () => {
  it('says nothing of what was not selected and is not', async () => {
    const alice = await ownClient(world, { user: name('alice') });
    const [watched, other] = [await make(alice), await make(alice)];
    const watches = [
      await watchOf(alice, ownKeys, `&fieldSelector=metadata.name%3D${watched.name}`),
      await watchOf(alice, ownKeys, '&labelSelector=app%3Dshop'),
    ];
    const label = async (path: string, app: string) =>
      await alice.send('PATCH', path, { type: mergePatch, body: { metadata: { labels: { app } } } });
    await label(watched.path, 'shop');
    // Until it has begun, what changes meanwhile may have been in the list, and is said to be gone: a status that the operator writes, too.
    const begun: number[] = [];
    for (const watch of watches) {
      await watch.until('what is selected is there', (events) => namesIn(events).has(watched.name));
      begun.push(watch.events.length);
    }
    await label(other.path, 'other');
    await alice.send('DELETE', other.path);
    await label(watched.path, 'none');
    for (const [index, watch] of watches.entries()) {
      await watch.until('the last change is there', isLabelled('none', watched.name));
      expect(namesIn(watch.events.slice(begun[index]))).toEqual(new Set([watched.name]));
      watch.end();
    }
  });
});

describe('a watch with a scoped key', () => {
  async function family(): Promise<{ above: Client; scoped: OwnClient; name: string }> {
    const above = await ownClient(world, { user: name('alice') });
    const { body, name: own } = await make(above, { scope });
    return { above, scoped: new OwnClient(world, body.spec.key), name: own };
  }

  it('says when a child begins, changes and ends, made with it or not, and nothing of its siblings', async () => {
    const { above, scoped, name: own } = await family();
    const watch = await watchOf(scoped);
    const sibling = await make(above);
    const child = await make(above, { accessKey: own });
    await watch.until('it is there', (events) => namesIn(events).has(child.name));
    const body = { metadata: { labels: { step: 'changed' } } };
    await above.send('PATCH', child.path, { type: mergePatch, body });
    await watch.until('it is changed', (events) => typesOf(events, child.name).includes('MODIFIED'));
    await above.send('DELETE', child.path);
    await watch.until('it is gone', (events) => typesOf(events, child.name).at(-1) === 'DELETED');
    for (const other of [sibling.name, above.object.metadata.name])
      expect(namesIn(watch.events)).not.toContain(other);
    watch.end();
  });

  it('ends when its key gets a scope, and the next one shows no more than that holds', async () => {
    const above = await ownClient(world, { user: name('alice') });
    const { body, name: own, path } = await make(above);
    const key = new OwnClient(world, body.spec.key);
    const watch = await watchOf(key);
    await above.send('PATCH', path, { type: mergePatch, body: { spec: { scope } } });
    expect(await watch.ended).toBe('cut');
    const listed = async () => {
      const { status, body: list } = await key.send('GET', ownKeys);
      return status === 200 ? list.items.map((item: typeof body) => item.metadata.name) : status;
    };
    await until('the scope counts', async () => JSON.stringify(await listed()) === JSON.stringify([own]), {
      seen: listed,
    });
  });
});
