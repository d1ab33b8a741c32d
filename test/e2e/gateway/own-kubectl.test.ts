import { describe, expect, it } from 'vitest';
import { until } from '../../../lab/operator/until.ts';
import { isNewerVersion } from '../../../src/kube/object.ts';
import { gatewayWorld } from './gateway-world.ts';
import { kubectlWith } from './known-holder.ts';
import { management, OwnClient, type OwnWatch, ownClient, ownKeys } from './own-client.ts';

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

/** By a plain request, for what is only there to be worked with. */
const client = new OwnClient(world, kubectl.key);
const make = async (name: string, spec?: object) => {
  const { status } = await client.send('POST', ownKeys, { body: keyOf(name, spec) });
  expect(status).toBe(201);
};
/** With its managed fields. */
const read = async (name: string) => (await client.send('GET', `${ownKeys}/${name}`)).body;
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
    const hash = (await read(name)).spec['key'];
    expect(await kubectl.send('apply', keyOf(name))).toContain('unchanged');
    expect(await kubectl.send('apply', keyOf(name, { ttl: 3_600, displayName: 'a' }))).toContain(
      'configured',
    );
    expect(await kubectl.diff(keyOf(name, { ttl: 3_600, displayName: 'a' }))).toBe('');
    expect(await kubectl.diff(keyOf(name, { ttl: 3_600, displayName: 'b' }))).toContain('+  displayName: b');
    const server = ['--server-side', '--force-conflicts'];
    for (const displayName of ['b', 'c'])
      await kubectl.send('apply', keyOf(name, { ttl: 3_600, displayName }), ...server);
    const { spec, metadata } = await read(name);
    expect([spec['displayName'], spec['key']]).toEqual(['c', hash]);
    expect(metadata.labels?.['management.platform.sh/ephemeral']).toBeUndefined();
  });

  it('applies by the client and by the server in turn, without a warning and with the same key', async () => {
    const name = world.name('turns');
    await kubectl.send('apply', keyOf(name));
    const hash = (await read(name)).spec['key'];
    const input = JSON.stringify(keyOf(name));
    for (const way of [['--server-side'], [], ['--server-side'], [], []]) {
      const { stderr, exitCode } = await kubectl.run(['apply', '-f', '-', ...way], { input });
      expect([way, exitCode, stderr]).toEqual([way, 0, '']);
    }
    expect((await read(name)).spec['key']).toBe(hash);
  });

  it('prints why an object is invalid', async () => {
    const name = world.name('malformed');
    const input = JSON.stringify(keyOf(name, { ttl: 600, key: 'lk_short' }));
    const { stderr, exitCode } = await kubectl.run(['create', '-f', '-'], { input });
    expect(exitCode).toBe(1);
    expect(stderr).toContain(
      'The request is invalid: spec.key: spec.key is neither a plain key nor the SHA-256 of one',
    );
  });

  it('replaces, patches in each way, annotates and labels', async () => {
    const name = world.name('changed');
    await make(name);
    const place = ['oak', name];
    await kubectl.send('replace', keyOf(name, { ttl: 7_200 }));
    await kubectl.ok(['patch', ...place, '--type=merge', '-p', '{"spec":{"displayName":"m"}}']);
    const json = '[{"op":"add","path":"/spec/description","value":"j"}]';
    await kubectl.ok(['patch', ...place, '--type=json', '-p', json]);
    await kubectl.ok(['annotate', ...place, 'example.com/note=n']);
    await kubectl.ok(['label', ...place, 'app=shop']);
    expect(await read(name)).toMatchObject({
      metadata: { annotations: { 'example.com/note': 'n' }, labels: { app: 'shop' } },
      spec: { ttl: 7_200, displayName: 'm', description: 'j', key: expect.stringMatching(/^sha256:/) },
    });
  });

  it('is told of a child that asks for more than its parent has, by whatever way', async () => {
    const scope = { roles: [{ role: 'platform-cli' }], clusters: [{ cluster: 'a' }] };
    const limited = await kubectlWith(world, { user: alice, scope });
    const accessKey = limited.object.metadata.name;
    const name = world.name('wider');
    const server = ['apply', '--server-side', '--force-conflicts'];
    const ways = [['create'], ['apply'], ['replace'], server, [...server, '--dry-run=server']];
    for (const [index, way] of ways.entries()) {
      const child = keyOf(name, { ttl: 600, accessKey, scope: { clusters: [{ cluster: `b${index}` }] } });
      const { stderr } = await limited.run([...way, '-f', '-'], { input: JSON.stringify(child) });
      expect([way, stderr]).toEqual([
        way,
        expect.stringContaining('Warning: spec.scope.clusters[0]: the scope of'),
      ]);
    }
    const another = keyOf(world.name('wider'), { ttl: 600, scope: { clusters: [{ cluster: 'b' }] } });
    const { stderr } = await limited.run([...server, '-f', '-'], { input: JSON.stringify(another) });
    expect(stderr).toContain('Warning: spec.scope.clusters[0]: the scope of');
    for (const made of [keyOf(name), another]) limited.track(made);
  });

  it('is told what a key does not do that one thinks it does', async () => {
    const name = world.name('told');
    const stderrOf = async (args: string[], manifest?: object) =>
      (await kubectl.run(args, manifest === undefined ? {} : { input: JSON.stringify(manifest) })).stderr;
    const scope = { clusters: [{ cluster: world.name('missing') }] };
    const unmatched = await stderrOf(['create', '-f', '-'], keyOf(name, { ttl: 600, scope }));
    kubectl.track(keyOf(name));
    expect(unmatched).toContain(
      `Warning: spec.scope: Nothing that spec.scope names exists (there is no cluster ${scope.clusters[0]?.cluster})`,
    );
    const patch = ['patch', 'oak', name, '--type=merge', '-p', '{"metadata":{"finalizers":null}}'];
    expect(await stderrOf(patch)).toContain(
      'Warning: metadata.finalizers: management.platform.sh/ownedaccesskey stays',
    );
    expect(await stderrOf(['get', 'configmaps', '-n', 'default'])).not.toContain('Warning');
  });

  it('edits', async () => {
    const name = world.name('edited');
    await make(name);
    const env = { KUBE_EDITOR: 'sed -i s/ttl:.*/ttl:\\ 60000/' };
    await kubectl.ok(['edit', 'oak', name], { env });
    expect((await read(name)).spec['ttl']).toBe(60_000);
  });

  it('watches, and waits', async () => {
    const name = world.name('watched');
    const watching = await kubectl.begin(['get', 'oak', '--watch', '--output-watch-events']);
    await watching.until('it shows what is there', (lines) => lines.some((line) => line.includes('ADDED')));
    await make(name);
    await kubectl.ok(['wait', '--for=condition=Ready', '--timeout=120s', 'oak', name]);
    const eventsOf = (lines: readonly string[]) =>
      lines.filter((line) => line.includes(name)).map((line) => line.split(/\s+/)[0]);
    // A change before the watch has read the present objects is none, and one that a deletion overtakes is never seen.
    await watching.until('it is there', (seen) => eventsOf(seen).includes('ADDED'));
    await client.send('PATCH', `${ownKeys}/${name}`, {
      type: 'application/merge-patch+json',
      body: { metadata: { labels: { app: 'shop' } } },
    });
    await watching.until('it is changed', (seen) => eventsOf(seen).includes('MODIFIED'));
    await client.send('DELETE', `${ownKeys}/${name}`);
    const lines = await watching.until('it is deleted', (seen) => eventsOf(seen).includes('DELETED'));
    expect(eventsOf(lines)[0]).toBe('ADDED');
    expect(eventsOf(lines)).toContain('MODIFIED');
    expect(lines.join('\n')).not.toMatch(plainKey);
    await watching.end();
  });

  it('selects by the name, also twice, and finds nothing that has two names', async () => {
    const [one, other] = [world.name('one'), world.name('other')];
    for (const name of [one, other]) await make(name);
    const found = async (...names: string[]) =>
      await kubectl.ok([
        ...['get', 'oak', '-o', 'name', '--field-selector'],
        names.map((name) => `metadata.name=${name}`).join(),
      ]);
    expect(await found(one)).toBe(`ownedaccesskey.management.platform.sh/${one}\n`);
    expect(await found(one, one)).toBe(`ownedaccesskey.management.platform.sh/${one}\n`);
    expect(await found(one, other)).toBe('');
    const status = await kubectl.ok(['get', 'oak', one, '--subresource=status', '-o', 'yaml']);
    expect(status).toBe(await kubectl.ok(['get', 'oak', one, '-o', 'yaml']));
  });

  it('dry-runs everything without a trace', async () => {
    const name = world.name('dry');
    const dry = '--dry-run=server';
    await kubectl.send('create', keyOf(name), dry);
    expect((await client.send('GET', `${ownKeys}/${name}`)).status).toBe(404);
    expect(await world.admin.find(keyOf(name))).toBeUndefined();
    await make(name);
    await kubectl.send('apply', keyOf(name, { ttl: 60_000 }), dry, '--server-side', '--force-conflicts');
    await kubectl.ok(['delete', 'oak', name, dry]);
    const { spec, metadata } = await read(name);
    expect([spec['ttl'], metadata.deletionTimestamp]).toEqual([3_600, undefined]);
  });

  it('fails with --warnings-as-errors when the object is there already, and before it is with a dry run', async () => {
    const [strict, dry] = ['--warnings-as-errors', '--dry-run=server'];
    const manifest = keyOf(world.name('warned'), { ttl: 3_600, scope: {} });
    const create = async (...flags: string[]) => {
      const { exitCode } = await kubectl.trySend('create', manifest, strict, ...flags);
      return [exitCode, (await world.admin.find(manifest)) !== undefined];
    };
    expect(await create(dry)).toEqual([1, false]);
    expect(await create()).toEqual([1, true]);
    await kubectl.send('create', keyOf(world.name('clean')), strict, dry);
  });

  it('deletes by label, and only one’s own', async () => {
    const holder = await kubectlWith(world, { user: world.name('leaver') });
    const made = ['a', 'b'].map((letter) =>
      keyOf(world.name(letter), { ttl: 600 }, { labels: { app: 'all' } }),
    );
    const leaver = new OwnClient(world, holder.key);
    for (const body of made) await leaver.send('POST', ownKeys, { body });
    await holder.ok(['delete', 'oak', '--selector=app=all']);
    const { body } = await leaver.send('GET', ownKeys);
    expect(body.items).toHaveLength(1);
  });
});

/** Waits until the use of its key is recorded and the gateway knows of that, which else comes as a change at any time. */
async function untilSettled(client: Awaited<ReturnType<typeof ownClient>>): Promise<void> {
  const isUsed = ({ status }: typeof client.object) => 'lastActivity' in status;
  const { metadata } = await world.admin.until(client.object, 'used', isUsed);
  await until('the gateway knows of the use', async () => {
    const { body } = await client.send('GET', ownKeys);
    return !isNewerVersion(metadata.resourceVersion, body.metadata.resourceVersion);
  });
}

describe('a watch', () => {
  it('goes on from a list, and says what is too old', async () => {
    const watcher = await ownClient(world, { user: world.name('watcher') });
    await untilSettled(watcher);
    const { body: list } = await watcher.send('GET', ownKeys);
    const { body: made } = await watcher.send('POST', ownKeys, { body: { spec: { displayName: 'seen' } } });
    const { resourceVersion } = list.metadata;
    const query = `watch=true&allowWatchBookmarks=true&resourceVersion=${resourceVersion}`;
    const watch = await watcher.watch(`${ownKeys}?${query}`);
    const [first] = await watch.until('what came after the list', ({ length }) => length > 0);
    expect(first).toMatchObject({ type: 'ADDED', object: { metadata: { name: made.metadata.name } } });
    expect(watch.text).not.toMatch(plainKey);
    watch.end();
    const old = await watcher.send('GET', `${ownKeys}?watch=true&resourceVersion=1`);
    expect([old.status, old.body.reason]).toEqual([410, 'Gone']);
  });

  it('ends in order after as many seconds as the client asks for', async () => {
    const watch = await (await ownClient(world, { user: alice })).watch(
      `${ownKeys}?watch=true&timeoutSeconds=1`,
    );
    expect(await watch.ended).toBe('complete');
  });

  it('sends what is there first, and its end, to who asks for that', async () => {
    const watcher = await ownClient(world, { user: world.name('watcher') });
    await untilSettled(watcher);
    const query =
      'watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
    const watch = await watcher.watch(`${ownKeys}?${query}`);
    const events = await watch.until('two events', ({ length }) => length > 1);
    expect(events.map(({ type }) => type)).toEqual(['ADDED', 'BOOKMARK']);
    expect(events[1]?.object.metadata.annotations).toEqual({ 'k8s.io/initial-events-end': 'true' });
    watch.end();
  });

  it('shows nothing of somebody else', async () => {
    const [watcher, other] = [
      await ownClient(world, { user: world.name('watcher') }),
      await ownClient(world, { user: world.name('other') }),
    ];
    const watch = await watcher.watch(`${ownKeys}?watch=true`);
    // The gateway knows of it before it knows of one's own that comes next.
    await other.send('POST', ownKeys, { body: {} });
    const { body: own } = await watcher.send('POST', ownKeys, { body: {} });
    const namesIn = (events: OwnWatch['events']) => events.map(({ object }) => object.metadata.name);
    const events = await watch.until('one’s own', (seen) => namesIn(seen).includes(own.metadata.name));
    expect(new Set(namesIn(events))).toEqual(new Set([watcher.object.metadata.name, own.metadata.name]));
    watch.end();
  });

  it('ends with its credential', async () => {
    const made = await (await ownClient(world, { user: alice })).send('POST', ownKeys, { body: {} });
    const watcher = new OwnClient(world, made.body.spec.key);
    const watch = await watcher.watch(`${ownKeys}?watch=true`);
    await until('it is dead', async () => {
      await watcher.send('DELETE', `${ownKeys}/${made.body.metadata.name}`);
      return !(await works(watcher.key));
    });
    expect(await watch.ended).toBe('cut');
  });
});
