import { expect, it } from 'vitest';
import { until } from '../../../lab/operator/until.ts';
import { gatewayWorld } from '../../e2e/gateway/gateway-world.ts';
import { type OwnClient, type OwnWatch, ownClient, ownKeys } from '../../e2e/gateway/own-client.ts';

const world = await gatewayWorld();

const namesIn = (events: OwnWatch['events'], type: string) =>
  events.filter((event) => event.type === type).map(({ object }) => object.metadata.name);

async function makeKey(client: OwnClient): Promise<string> {
  const { status, body } = await client.send('POST', ownKeys, { body: { spec: {} } });
  expect(status).toBe(201);
  return body.metadata.name;
}

it('a bookmark is where a watch goes on from', async () => {
  const alice = await ownClient(world, { user: world.name('alice') });
  const { body } = await alice.send('GET', `${ownKeys}?limit=500`);
  const query = `watch=true&resourceVersion=${body.metadata.resourceVersion}&allowWatchBookmarks=true`;
  const watch = await alice.watch(`${ownKeys}?${query}`);
  const before = await makeKey(alice);
  const isBookmark = ({ type }: OwnWatch['events'][number]) => type === 'BOOKMARK';
  // One comes each minute.
  await until('a bookmark', async () => watch.events.some(isBookmark), { timeoutMs: 120_000 });
  const position = watch.events.findLast(isBookmark)?.object.metadata.resourceVersion;
  watch.end();
  const after = await makeKey(alice);
  const resumed = await alice.watch(`${ownKeys}?watch=true&resourceVersion=${position}`);
  await resumed.until('what came later', (events) => namesIn(events, 'ADDED').includes(after));
  expect(namesIn(resumed.events, 'ADDED')).not.toContain(before);
  resumed.end();
});
