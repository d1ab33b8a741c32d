import { describe, expect, it } from 'vitest';
import { Kubectl } from '../../../lab/operator/kubectl.ts';
import { gatewayWorld } from './gateway-world.ts';
import { management, OwnClient, ownClient, ownKeys } from './own-client.ts';

const world = await gatewayWorld();
const { name } = world;

interface Listed {
  readonly items: readonly { readonly metadata: { readonly name: string } }[];
}

const namesIn = ({ items }: Listed) => items.map(({ metadata }) => metadata.name);
const own = async (client: OwnClient, query = '') =>
  namesIn((await client.send('GET', ownKeys + query)).body);

/** A user with some keys, and kubectl with the one whose name comes first. */
async function holderOfFirst(scope?: object) {
  const user = name('leaver');
  const above = await ownClient(world, { user });
  const make = async (from: OwnClient, letter: string, spec: object = {}) => {
    const metadata = { name: `${letter}-${user}` };
    const { status, body } = await from.send('POST', ownKeys, { body: { metadata, spec } });
    expect(status).toBe(201);
    return Object.assign(new OwnClient(world, body.spec.key), { name: metadata.name });
  };
  const first = await make(above, '0a', scope === undefined ? {} : { scope });
  const others = [await make(first, '0b'), await make(first, '0c'), await make(first, 'z')];
  const kubectl = new Kubectl(world, await world.gateway.kubeconfig(first.key));
  return { above, first, others: others.map((other) => other.name), kubectl };
}

const isRefused = async (client: OwnClient) =>
  (await client.send('GET', `${management}/version`)).status === 401;

describe('the credential of a request', () => {
  it('is the last one in a list, on pages as well, also of another credential of its user', async () => {
    const { above, first, others } = await holderOfFirst();
    const rest = [...others, above.object.metadata.name].sort();
    const expected = [...rest, first.name];
    expect(await own(first)).toEqual(expected);
    const paged: string[] = [];
    let query = '?limit=2';
    for (const client of [first, above, first]) {
      const { body } = await client.send('GET', ownKeys + query);
      paged.push(...namesIn(body));
      query = `?limit=2&continue=${encodeURIComponent(body.metadata.continue ?? '')}`;
    }
    expect(paged).toEqual(expected);
  });

  it('is the last one that kubectl deletes', async () => {
    const { above, first, others, kubectl } = await holderOfFirst();
    const all = await kubectl.ok(['delete', 'oak', '--all', '--wait=false', '-o', 'name']);
    const deleted = all.trim().split('\n');
    expect(deleted).toHaveLength(others.length + 2);
    expect(deleted.at(-1)).toContain(first.name);
    for (const client of [above, first]) expect(await isRefused(client)).toBe(true);
  });

  it('is deleted although kubectl is refused when it waits for the end', async () => {
    const { above, first, kubectl } = await holderOfFirst();
    const { exitCode, stderr } = await kubectl.run(['delete', 'oak', '--all']);
    expect([exitCode, stderr]).toEqual([1, expect.stringMatching(/Unauthorized|logged in/)]);
    for (const client of [above, first]) expect(await isRefused(client)).toBe(true);
  });

  it('is the last one of a delete of all', async () => {
    const { above, first, others } = await holderOfFirst();
    const { status, body } = await first.send('DELETE', ownKeys);
    expect([status, body.message]).toEqual([200, `deleted ${others.length + 2}`]);
    for (const client of [above, first]) expect(await isRefused(client)).toBe(true);
  });

  it('takes what is below it along, and no other, where it has a scope', async () => {
    const { above, first, others, kubectl } = await holderOfFirst({ roles: [{ role: 'platform-cli' }] });
    expect(await own(first)).toEqual([...others, first.name]);
    const all = await kubectl.ok(['delete', 'oak', '--all', '--wait=false', '-o', 'name']);
    expect(all.trim().split('\n')).toHaveLength(others.length + 1);
    expect(await isRefused(first)).toBe(true);
    expect(await own(above)).toContain(above.object.metadata.name);
  });

  it('comes behind the keys above it, of which the highest ends all', async () => {
    const user = name('leaver');
    const above = await ownClient(world, { user });
    const make = async (letter: string, accessKey: string) => {
      const metadata = { name: `${letter}-${user}` };
      const { body } = await above.send('POST', ownKeys, { body: { metadata, spec: { accessKey } } });
      return Object.assign(new OwnClient(world, body.spec.key), metadata);
    };
    const middle = await make('b', above.object.metadata.name);
    const lowest = await make('a', middle.name);
    const other = await make('z', above.object.metadata.name);
    const chain = [above.object.metadata.name, middle.name, lowest.name];
    expect(await own(lowest)).toEqual([other.name, ...chain]);
    expect(await own(lowest, '?limit=3')).toEqual([other.name, ...chain.slice(0, 2)]);
    const kubectl = new Kubectl(world, await world.gateway.kubeconfig(lowest.key));
    const { exitCode } = await kubectl.run(['delete', 'oak', '--all', '--wait=false']);
    expect(exitCode).toBe(1);
    for (const client of [above, middle, lowest, other]) expect(await isRefused(client)).toBe(true);
  });
});
