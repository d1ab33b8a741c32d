import { describe, expect, it } from 'vitest';
import { makePod, startKubelet } from '../../../lab/kubelet/kubelet.ts';
import { giveRight } from '../../../lab/operator/rights.ts';
import { readDocument, rowsOf, sectionOf } from '../../../tools/reference/document.ts';
import { gatewayWorld } from './gateway-world.ts';
import { knownHolder } from './known-holder.ts';
import { sessionRights } from './session-world.ts';
import { type ProxyName, startProxies } from './wrong-proxies.ts';

const world = await gatewayWorld();
const { admin, guard, plane } = world;
const user = world.name('alice');
await giveRight(admin, user, sessionRights);
await giveRight(admin, user, { apiGroups: [''], resources: ['configmaps'], verbs: ['*'] });
const pod = await makePod(admin, await startKubelet(guard, plane));
const { key } = await knownHolder(world, { user });
const kubectl = await startProxies(world, key);

const rows = rowsOf(sectionOf(readDocument('docs/guide/load-balancer.md'), 'If a proxy ends TLS'));
/** How the guide says that it looks. */
const looksOf = (proxy: ProxyName): string => rows.find(([name]) => name === proxy)?.[1] ?? 'no row';

const watchOf = (name: string) => ['get', 'configmaps', '--watch', '-l', `app=${name}`];
const labelled = (name: string, app: string) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'default', labels: { app } },
});
/** A watch that has shown what is there. */
async function watching(proxy: ProxyName, app: string) {
  const name = world.name('there');
  await kubectl.right.send('create', labelled(name, app));
  const watch = await kubectl[proxy].begin(watchOf(app));
  await watch.until('the first object', (lines) => lines.join().includes(name));
  return watch;
}

/** Its quotes take two bytes each on the wire. */
const large = () => ({ ...labelled(world.name('large'), 'large'), data: { quotes: '"'.repeat(600_000) } });
const echo = ['exec', pod, '--', 'echo', 'hello'];

describe('a proxy that ends TLS in front of the gateway, of which docs/guide/load-balancer.md says how it looks,', () => {
  it('shows changes, runs commands and takes large objects where it is set up as the guide says', async () => {
    const [app, name] = [world.name('app'), world.name('new')];
    const watch = await watching('right', app);
    await kubectl.right.send('create', labelled(name, app));
    await watch.until('the new object', (lines) => lines.join().includes(name));
    await watch.end();
    expect(await kubectl.right.ok(echo)).toBe('hello\n');
    await kubectl.right.send('create', large());
  });

  it('shows nothing new in a watch where it keeps answers back', async () => {
    const app = world.name('app');
    const [held, seen] = [await watching('keeps answers back', app), await watching('right', app)];
    const before = await held.lines();
    const names = Array.from({ length: 5 }, () => world.name('new'));
    for (const name of names) {
      await kubectl.right.send('create', labelled(name, app));
      await seen.until('the new object', (lines) => lines.join().includes(name));
    }
    expect(await held.lines()).toEqual(before);
    expect(looksOf('keeps answers back')).toMatch(/`kubectl get --watch` .*show nothing new/);
    await Promise.all([held.end(), seen.end()]);
  });

  it('ends a watch by itself, with exit code 0, where it ends quiet connections', async () => {
    const wrong = kubectl['ends quiet connections'];
    const { stdout, stderr, exitCode } = await wrong.run(watchOf(world.name('app')));
    expect([stdout, stderr, exitCode]).toEqual(['', '', 0]);
    expect(looksOf('ends quiet connections')).toBe('`kubectl get --watch` ends by itself, with exit code 0');
  });

  it.each<[ProxyName, string, () => ReturnType<typeof kubectl.right.run>]>([
    [
      'limits bodies',
      'status code 413',
      async () => await kubectl['limits bodies'].trySend('create', large()),
    ],
    [
      'drops `Upgrade`',
      'unable to upgrade connection',
      async () => await kubectl['drops `Upgrade`'].run(echo),
    ],
    [
      'speaks HTTP/2 only',
      'the server is currently unable to handle the request',
      async () =>
        await kubectl['speaks HTTP/2 only'].run(['get', '--raw', '/api/v1/namespaces/default/configmaps']),
    ],
  ])('that %s has kubectl say "%s"', async (proxy, said, ask) => {
    const { stderr, exitCode } = await ask();
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining(said)]);
    expect(looksOf(proxy)).toContain(`\`${said}\``);
  });
});
