import { get } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { verdictFor } from '../../../../test/builders/gateway-stage.ts';
import { targetObject, targetSite } from '../../../../test/builders/target-site.ts';
import { waitFor } from '../../../../test/fakes/wait-for.ts';

const path = '/kubernetes/management/apis/management.platform.sh/v1/virtualclusterinstances?watch=true';
const shop = targetObject('VirtualClusterInstance', 'shop', 'p-red');
const web = targetObject('VirtualClusterInstance', 'web', 'p-red');
const mine = ['use virtualclusterinstances p-red/web'];
const open: (() => void)[] = [];
afterEach(() => {
  for (const end of open.splice(0)) end();
});

interface Event {
  readonly type: string;
  // biome-ignore lint/suspicious/noExplicitAny: answers are checked by the tests
  readonly object: any;
}

type Site = Awaited<ReturnType<typeof targetSite>>;

/** A watch of the holder that stays open. */
function watch({ port, key }: Site, query = '', accept = 'application/json', credential = key) {
  const state = { status: 0, events: [] as Event[], isOver: false, isWhole: false };
  const headers = { authorization: `Bearer ${credential}`, accept };
  const request = get({ host: '127.0.0.1', port, path: path + query, headers }, (response) => {
    state.status = response.statusCode ?? 0;
    let text = '';
    response.on('data', (chunk) => {
      const lines = (text + chunk).split('\n');
      text = lines.pop() ?? '';
      state.events.push(...lines.map((line) => JSON.parse(line)));
    });
    response.on('close', () => {
      state.isOver = true;
      state.isWhole = response.complete;
    });
  });
  request.on('error', () => undefined);
  open.push(() => request.destroy());
  return { state, leave: () => request.destroy() };
}

const seen = (events: readonly Event[]) =>
  events.map(({ type, object }) => `${type} ${object.metadata?.name ?? ''}`.trim());
const watching = async (site: Site, count = 1) =>
  await waitFor(`${count} watches are open`, () => site.platform.watchers === count);

describe('a watch of targets', () => {
  it('shows the changes of those that may be used, and of no others', async () => {
    const site = await targetSite({ rights: mine });
    const { state } = watch(site);
    await watching(site);
    for (const object of [shop, web]) site.platform.emit('ADDED', object);
    for (const object of [shop, web]) site.platform.emit('MODIFIED', object);
    for (const object of [shop, web]) site.platform.emit('DELETED', object);
    await waitFor('the events come', () => state.events.length >= 3);
    expect([state.status, seen(state.events)]).toEqual([200, ['ADDED web', 'MODIFIED web', 'DELETED web']]);
  });

  it('is narrowed by the scope too', async () => {
    const site = await targetSite({
      rights: ['use virtualclusterinstances /'],
      scope: { virtualClusters: [{ project: 'red', virtualCluster: 'web' }] },
    });
    const { state } = watch(site);
    await watching(site);
    for (const object of [shop, web]) site.platform.emit('ADDED', object);
    await waitFor('the events come', () => state.events.length > 0);
    expect(seen(state.events)).toEqual(['ADDED web']);
  });

  it('follows another scope of the credential', async () => {
    const scopeOf = (virtualCluster: string) => ({ virtualClusters: [{ project: 'red', virtualCluster }] });
    const site = await targetSite({ rights: ['use virtualclusterinstances /'], scope: scopeOf('web') });
    const { state } = watch(site);
    await watching(site);
    site.know(site.key, verdictFor(scopeOf('shop')));
    for (const object of [web, shop]) site.platform.emit('ADDED', object);
    await waitFor('the events come', () => state.events.length > 0);
    expect(seen(state.events)).toEqual(['ADDED shop']);
  });

  it('goes on from a list: a change of what stood there is no news, and its end is told', async () => {
    const site = await targetSite({ rights: mine });
    const { state } = watch(site, '&resourceVersion=9');
    await watching(site);
    site.platform.emit('MODIFIED', web);
    site.platform.emit('DELETED', web);
    await waitFor('the events come', () => state.events.length >= 2);
    expect(seen(state.events)).toEqual(['MODIFIED web', 'DELETED web']);
    expect(site.platform.watched[0]?.get('resourceVersion')).toBe('9');
  });

  it('tells the end of one that may no longer be used, when it changes', async () => {
    const site = await targetSite({ rights: mine });
    const { state } = watch(site, '&resourceVersion=9');
    await watching(site);
    site.platform.rights.length = 0;
    let count = 0;
    // The gateway keeps an answer about rights for five seconds.
    await waitFor('the end comes', () => {
      const labels = { count: String(count++) };
      site.platform.emit('MODIFIED', { ...web, metadata: { ...web.metadata, labels } as never });
      return state.events.at(-1)?.type === 'DELETED';
    });
    // Nothing that has become of it since.
    expect(state.events.at(-1)?.object.metadata.labels).toEqual(state.events.at(-2)?.object.metadata.labels);
    expect(state.events.at(-1)?.object).toMatchObject({
      metadata: { name: 'web', namespace: 'p-red', uid: 'uid-web' },
    });
    expect(state.events.at(-1)?.object).not.toHaveProperty('spec');
  });

  it('sends bookmarks to who asks for them alone', async () => {
    const site = await targetSite({ rights: mine });
    const asking = watch(site, '&allowWatchBookmarks=true');
    const other = watch(site);
    await watching(site, 2);
    site.platform.emit('BOOKMARK', {
      kind: 'VirtualClusterInstance',
      metadata: { resourceVersion: '11' },
    } as never);
    site.platform.emit('ADDED', web);
    await waitFor(
      'the events come',
      () => asking.state.events.length === 2 && other.state.events.length === 1,
    );
    expect([seen(asking.state.events), seen(other.state.events)]).toEqual([
      ['BOOKMARK', 'ADDED web'],
      ['ADDED web'],
    ]);
  });

  it('comes as tables', async () => {
    const site = await targetSite({ rights: mine });
    const { state } = watch(site, '', 'application/json;as=Table;v=v1;g=meta.k8s.io');
    await watching(site);
    site.platform.emit('ADDED', web);
    await waitFor('the events come', () => state.events.length > 0);
    expect(state.events[0]?.object).toMatchObject({
      kind: 'Table',
      rows: [{ cells: ['web', 'eu', '', 'Ready', expect.any(String)] }],
    });
  });

  it('ends at the API server when the client leaves', async () => {
    const site = await targetSite({ rights: mine });
    const { leave } = watch(site);
    await watching(site);
    leave();
    await watching(site, 0);
  });

  it('is open to one user ten times', async () => {
    const site = await targetSite({ rights: mine });
    for (let count = 0; count < 10; count += 1) watch(site);
    await watching(site, 10);
    const { state } = watch(site);
    await waitFor('the answer comes', () => state.status !== 0);
    expect(state.status).toBe(429);
  });

  it('ends that of a user with many, as a time limit would, when all are taken and another user comes', async () => {
    const site = await targetSite({ rights: mine, stage: { clientConnections: 200 } });
    const watchAs = (user: string) => {
      site.know(`key-of-${user}`, verdictFor(undefined, user));
      return watch(site, '', undefined, `key-of-${user}`).state;
    };
    const others = Array.from({ length: 100 }, (_, index) => watchAs(`user-${index % 10}`));
    await watching(site, 100);
    const eleventh = watchAs('eve');
    await waitFor('a watch has ended', () => others.some(({ isOver }) => isOver) || eleventh.status !== 0);
    await waitFor('the answer comes', () => eleventh.status !== 0);
    expect(eleventh.status).toBe(200);
    await watching(site, 100);
    const ended = others.filter(({ isOver }) => isOver);
    expect(ended).toMatchObject([{ status: 200, isWhole: true }]);
    const again = watchAs(`user-${others.findIndex(({ isOver }) => isOver) % 10}`);
    await waitFor('the answer comes', () => again.status !== 0);
    expect([again.status, eleventh.isOver]).toEqual([429, false]);
  });
});
