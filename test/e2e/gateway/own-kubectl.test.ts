import { describe, expect, it } from 'vitest';
import { until } from '../../../lab/operator/until.ts';
import { gatewayWorld } from './gateway-world.ts';
import { kubectlWith } from './known-holder.ts';
import { management, OwnClient, ownClient, ownKeys } from './own-client.ts';

const world = await gatewayWorld();
const alice = world.name('alice');
const kubectl = await kubectlWith(world, { user: alice });
const plainKey = /lk_[0-9A-Za-z]{49}/;

const keyOf = (name: string, spec: object = { ttl: 3_600 }, metadata: object = {}) => ({
  apiVersion: 'management.platform.sh/v1',
  kind: 'OwnedAccessKey',
  metadata: { name, ...metadata },
  spec,
});

const works = async (key: string): Promise<boolean> =>
  (await new OwnClient(world, key).send('GET', `${management}/version`)).status === 200;

describe('kubectl, with a key of one’s own', () => {
  it('creates one, and prints it and a warning', async () => {
    const name = world.name('created');
    const input = JSON.stringify(keyOf(name));
    const { stdout, stderr, exitCode } = await kubectl.run(['create', '-f', '-', '-o', 'yaml'], { input });
    kubectl.track(keyOf(name));
    expect(exitCode).toBe(0);
    expect(await works(plainKey.exec(stdout)?.[0] ?? '')).toBe(true);
    expect(stderr).toContain('Warning: spec.key holds the credential in this answer only');
    const read = await kubectl.ok(['get', 'oak', name, '-o', 'yaml', '--show-managed-fields']);
    expect(read).toMatch(/^ {2}key: sha256:[0-9a-f]{64}$/m);
    expect(await kubectl.ok(['get', 'oak', '-o', 'wide'])).toMatch(new RegExp(`^${name} +${alice} `, 'm'));
  });

  it('applies a manifest again and again, by the client and by the server', async () => {
    const name = world.name('applied');
    await kubectl.send('apply', keyOf(name));
    const hash = (await kubectl.get(keyOf(name))).spec['key'];
    expect(await kubectl.send('apply', keyOf(name))).toContain('unchanged');
    expect(await kubectl.send('apply', keyOf(name, { ttl: 3_600, displayName: 'a' }))).toContain(
      'configured',
    );
    expect(await kubectl.diff(keyOf(name, { ttl: 3_600, displayName: 'a' }))).toBe('');
    expect(await kubectl.diff(keyOf(name, { ttl: 3_600, displayName: 'b' }))).toContain('+  displayName: b');
    const server = ['--server-side', '--force-conflicts'];
    for (const displayName of ['b', 'c'])
      await kubectl.send('apply', keyOf(name, { ttl: 3_600, displayName }), ...server);
    const { spec, metadata } = await kubectl.get(keyOf(name));
    expect([spec['displayName'], spec['key']]).toEqual(['c', hash]);
    expect(metadata.labels?.['management.platform.sh/ephemeral']).toBeUndefined();
  });

  it('replaces, patches in each way, annotates and labels', async () => {
    const name = world.name('changed');
    await kubectl.send('create', keyOf(name));
    const place = ['oak', name];
    await kubectl.send('replace', keyOf(name, { ttl: 7_200 }));
    await kubectl.ok(['patch', ...place, '--type=merge', '-p', '{"spec":{"displayName":"m"}}']);
    const json = '[{"op":"add","path":"/spec/description","value":"j"}]';
    await kubectl.ok(['patch', ...place, '--type=json', '-p', json]);
    await kubectl.ok(['annotate', ...place, 'example.com/note=n']);
    await kubectl.ok(['label', ...place, 'app=shop']);
    expect(await kubectl.get(keyOf(name))).toMatchObject({
      metadata: { annotations: { 'example.com/note': 'n' }, labels: { app: 'shop' } },
      spec: { ttl: 7_200, displayName: 'm', description: 'j', key: expect.stringMatching(/^sha256:/) },
    });
  });

  it('edits', async () => {
    const name = world.name('edited');
    await kubectl.send('create', keyOf(name));
    const env = { KUBE_EDITOR: 'sed -i s/ttl:.*/ttl:\\ 60000/' };
    await kubectl.ok(['edit', 'oak', name], { env });
    expect((await kubectl.get(keyOf(name))).spec['ttl']).toBe(60_000);
  });

  it('watches, and waits', async () => {
    const name = world.name('watched');
    const watching = await kubectl.begin(['get', 'oak', '--watch', '--output-watch-events']);
    await watching.until('it shows what is there', (lines) => lines.some((line) => line.includes('ADDED')));
    await kubectl.send('create', keyOf(name));
    await kubectl.ok(['wait', '--for=condition=Ready', '--timeout=20s', 'oak', name]);
    await kubectl.ok(['label', 'oak', name, 'app=shop']);
    await kubectl.ok(['delete', 'oak', name]);
    const eventsOf = (lines: readonly string[]) =>
      lines.filter((line) => line.includes(name)).map((line) => line.split(/\s+/)[0]);
    const lines = await watching.until('it is deleted', (seen) => eventsOf(seen).includes('DELETED'));
    expect(eventsOf(lines)[0]).toBe('ADDED');
    expect(eventsOf(lines)).toContain('MODIFIED');
    expect(lines.join('\n')).not.toMatch(plainKey);
    await watching.end();
  });

  it('dry-runs everything without a trace', async () => {
    const name = world.name('dry');
    const dry = '--dry-run=server';
    await kubectl.send('create', keyOf(name), dry);
    expect((await kubectl.run(['get', 'oak', name])).stderr).toContain('NotFound');
    await kubectl.send('create', keyOf(name));
    await kubectl.send('apply', keyOf(name, { ttl: 60_000 }), dry, '--server-side', '--force-conflicts');
    await kubectl.ok(['delete', 'oak', name, dry]);
    expect((await kubectl.get(keyOf(name))).spec['ttl']).toBe(3_600);
  });

  it('deletes by label, and only one’s own', async () => {
    const holder = await kubectlWith(world, { user: world.name('leaver') });
    const made = ['a', 'b'].map((letter) =>
      keyOf(world.name(letter), { ttl: 600 }, { labels: { app: 'all' } }),
    );
    await holder.send('create', made);
    await holder.ok(['delete', 'oak', '--selector=app=all']);
    const { body } = await new OwnClient(world, holder.key).send('GET', ownKeys);
    expect(body.items).toHaveLength(1);
  });
});

describe('a watch', () => {
  it('goes on from a list, with bookmarks, and says what is too old', async () => {
    const watcher = await ownClient(world, { user: world.name('watcher') });
    const { body: list } = await watcher.send('GET', ownKeys);
    const made = await watcher.send('POST', ownKeys, { body: { spec: { displayName: 'seen' } } });
    const { resourceVersion } = list.metadata;
    const query = `watch=true&timeoutSeconds=1&allowWatchBookmarks=true&resourceVersion=${resourceVersion}`;
    const { status, text } = await watcher.send('GET', `${ownKeys}?${query}`);
    expect(status).toBe(200);
    const events = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(events[0]).toMatchObject({
      type: 'ADDED',
      object: { metadata: { name: made.body.metadata.name } },
    });
    expect(text).not.toMatch(plainKey);
    const old = await watcher.send('GET', `${ownKeys}?watch=true&resourceVersion=1`);
    expect([old.status, old.body.reason]).toEqual([410, 'Gone']);
  });

  it('sends what is there first, and its end, to who asks for that', async () => {
    const watcher = await ownClient(world, { user: world.name('watcher') });
    const query = 'watch=true&timeoutSeconds=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan';
    const { text } = await watcher.send('GET', `${ownKeys}?${query}&allowWatchBookmarks=true`);
    const events = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    // Its use is recorded afterwards.
    expect(events.slice(0, 2).map(({ type }) => type)).toEqual(['ADDED', 'BOOKMARK']);
    expect(events[1].object.metadata.annotations).toEqual({ 'k8s.io/initial-events-end': 'true' });
  });

  it('shows nothing of somebody else', async () => {
    const [watcher, other] = [
      await ownClient(world, { user: world.name('watcher') }),
      await ownClient(world, { user: world.name('other') }),
    ];
    const watching = watcher.send('GET', `${ownKeys}?watch=true&timeoutSeconds=2`);
    await other.send('POST', ownKeys, { body: {} });
    const own = await watcher.send('POST', ownKeys, { body: {} });
    const { text } = await watching;
    const names = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).object.metadata.name);
    expect(new Set(names)).toEqual(new Set([watcher.object.metadata.name, own.body.metadata.name]));
  });

  it('ends with its credential', async () => {
    const made = await (await ownClient(world, { user: alice })).send('POST', ownKeys, { body: {} });
    const watcher = new OwnClient(world, made.body.spec.key);
    const watching = watcher.send('GET', `${ownKeys}?watch=true&timeoutSeconds=60`).catch(() => 'cut');
    await until('it is dead', async () => {
      await watcher.send('DELETE', `${ownKeys}/${made.body.metadata.name}`);
      return !(await works(watcher.key));
    });
    expect(await watching).toBe('cut');
  });
});
