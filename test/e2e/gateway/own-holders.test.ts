import { expect, it } from 'vitest';
import { concurrently } from '../../../lab/operator/concurrently.ts';
import { until } from '../../../lab/operator/until.ts';
import { gatewayWorld } from './gateway-world.ts';
import { type OwnAnswer, type OwnClient, ownClient, ownKeys, ownTokens } from './own-client.ts';

const world = await gatewayWorld();
const prefix = world.name('crowd');
const mergePatch = 'application/merge-patch+json';
const credential = /lk_[0-9A-Za-z]{49}|eyJ[\w-]+\.[\w-]+\.[\w-]+/;

/** All that one holder does, and every answer but those that make something. */
async function useAll(client: OwnClient, holder: string): Promise<readonly OwnAnswer[]> {
  const answers: OwnAnswer[] = [];
  const send = async (...request: Parameters<OwnClient['send']>) => {
    const answer = await client.send(...request);
    expect([request[0], answer.status, answer.text]).toEqual([request[0], 200, answer.text]);
    answers.push(answer);
  };
  const watching = client.send('GET', `${ownKeys}?watch=true&timeoutSeconds=4`);
  for (const [kind, place] of [
    ['key', ownKeys],
    ['token', ownTokens],
  ] as const) {
    const metadata = { name: `${prefix}-${kind}-${holder}` };
    const made = await client.send('POST', place, { body: { metadata, spec: { ttl: 600 } } });
    expect([made.status, made.text.match(credential)?.length]).toEqual([201, 1]);
    const path = `${place}/${metadata.name}`;
    await send('GET', place);
    await send('PATCH', path, { type: mergePatch, body: { metadata: { labels: { holder } } } });
    await send('GET', path);
    await send('DELETE', path);
    await until('it is gone', async () => (await client.send('GET', path)).status === 404);
  }
  return [...answers, await watching];
}

it('50 holders work at once, and none sees a name of another one or a credential again', async () => {
  const holders = Array.from({ length: 50 }, (_, index) => `h${index}h`);
  const clients = new Map<string, OwnClient>();
  await concurrently(holders, async (holder) => {
    clients.set(holder, await ownClient(world, { user: `${prefix}-${holder}` }));
  });
  await concurrently(
    holders,
    async (holder) => {
      const client = clients.get(holder) as OwnClient;
      for (const { text } of await useAll(client, holder)) {
        expect(text).not.toMatch(credential);
        const names = text.match(new RegExp(`${prefix}-(?:key-|token-)?h\\d+h`, 'g')) ?? [];
        expect(names.filter((name) => !name.endsWith(`-${holder}`))).toEqual([]);
      }
      for (const place of [ownKeys, ownTokens]) {
        const { body } = await client.send('GET', place);
        expect(body.items).toHaveLength(place === ownKeys ? 1 : 0);
      }
    },
    holders.length,
  );
}, 180_000);
