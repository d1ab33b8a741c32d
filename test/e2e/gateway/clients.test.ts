import { spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { CoreV1Api, KubeConfig, PatchStrategy, setHeaderOptions, Watch } from '@kubernetes/client-node';
import { describe, expect, it } from 'vitest';
import { Kubectl, onlyNamed } from '../../../lab/operator/kubectl.ts';
import { until } from '../../../lab/operator/until.ts';
import { buildInformers } from '../../clientgo/informers.ts';
import { fourTargets } from './four-targets.ts';
import { knownHolder, untilReached } from './known-holder.ts';

const { world, user, paths } = await fourTargets();
const { gateway, guard } = world;
const { key } = await knownHolder(world, { user });
for (const target of Object.values(paths)) await untilReached(gateway, key, target);
const informers = await buildInformers(guard.folder);
const [caFile, curlConfig] = ['gateway-ca.crt', 'curl'].map((file) => path.join(guard.folder, file)) as [
  string,
  string,
];
await writeFile(caFile, gateway.ca);
await writeFile(curlConfig, `cacert = "${caFile}"\nheader = "Authorization: Bearer ${key}"\n`, {
  mode: 0o600,
});
const json = 'Content-Type: application/json';
const webSocketKey = 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==';
const ownKeys = `${gateway.url}/kubernetes/management/apis/management.platform.sh/v1/ownedaccesskeys`;

const mapOf = (name: string, data: Readonly<Record<string, string>> = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name },
  data,
});

/** Bodies are in `stdout`, heads with `--verbose` in `stderr`. */
async function curl(
  args: readonly string[],
  input = '',
): Promise<{ readonly stdout: string; readonly stderr: string; readonly exitCode: number }> {
  const child = spawn('curl', ['--silent', '--max-time', '30', '--config', curlConfig, ...args]);
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  const ended = new Promise<number>((resolve) => child.once('close', (code) => resolve(code ?? 1)));
  const [stdout, stderr, exitCode] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  return { stdout, stderr, exitCode };
}

/** On the platform kubectl has tests of its own. */
const { platform: _, ...others } = paths;
describe.each(Object.entries(others))('into the target %s', async (kind, target) => {
  const kubectl = new Kubectl(world, await gateway.kubeconfig(key, target));

  it('kubectl applies, shows, follows, compares, waits for and deletes', async () => {
    const name = world.name('map');
    expect(await kubectl.send('apply', mapOf(name, { a: '1' }))).toContain('created');
    expect(await kubectl.diff(mapOf(name, { a: '2' }))).toMatch(/^\+\s+a: "2"$/m);
    const onServer = ['--server-side', '--force-conflicts'];
    expect(await kubectl.send('apply', mapOf(name, { a: '2' }), ...onServer)).toContain('serverside-applied');
    expect(await kubectl.ok(['get', 'configmaps', '-o', 'name'])).toContain(`configmap/${name}\n`);
    const events = ['--watch', '--output-watch-events', '-o=jsonpath={.type} {.object.data.a}{"\\n"}'];
    const watching = await kubectl.begin(['get', 'configmaps', ...onlyNamed(name), ...events]);
    await watching.until('the object', (lines) => lines.includes('ADDED 2'));
    const [met] = await Promise.all([
      kubectl.ok(['wait', `configmap/${name}`, '--for=jsonpath={.data.a}=3', '--timeout=120s']),
      kubectl.ok(['patch', 'configmap', name, '-p', '{"data":{"a":"3"}}']),
    ]);
    expect(met).toBe(`configmap/${name} condition met\n`);
    await kubectl.ok(['delete', 'configmap', name]);
    await watching.until('the end', (lines) => lines.includes('DELETED 3'));
    await watching.end();
  });

  it('kubectl is told who it is, what it may do and what there is', async () => {
    expect(await kubectl.ok(['auth', 'whoami', '-o', 'jsonpath={.status.userInfo.username}'])).toBe(user);
    expect(await kubectl.ok(['auth', 'can-i', 'delete', 'configmaps'])).toBe('yes\n');
    const { stdout } = await kubectl.run(['auth', 'can-i', 'delete', 'nodes']);
    // Users of a virtual cluster administer it, unless its instance says something else.
    expect(stdout).toMatch(kind === 'virtual cluster' ? /^yes\n$/ : /^no\b/);
    expect(await kubectl.ok(['api-resources'])).toMatch(/^configmaps +cm +v1 +true +ConfigMap$/m);
    expect(await kubectl.ok(['explain', 'configmap.data'])).toContain('FIELD: data');
  });
});

describe.each(Object.entries(paths))('into the target %s', async (_kind, target) => {
  const kubeconfig = await gateway.kubeconfig(key, target);
  const maps = `${gateway.url}/kubernetes/${target}/api/v1/namespaces/default/configmaps`;
  it('client-go follows an object with informers, as JSON and as protobuf', async () => {
    const told = await informers.follow(kubeconfig, 'default', world.name('map'));
    expect(told).toEqual(
      ['added', 'updated', 'deleted'].flatMap((event) => [`objects ${event}`, `metadata ${event}`]),
    );
  });

  it('client-node makes, reads, patches, lists and deletes', async () => {
    const config = new KubeConfig();
    config.loadFromFile(kubeconfig);
    const api = config.makeApiClient(CoreV1Api);
    const name = world.name('map');
    const place = { namespace: 'default', name };
    await api.createNamespacedConfigMap({ namespace: 'default', body: mapOf(name, { a: '1' }) });
    const patched = await api.patchNamespacedConfigMap(
      { ...place, body: { data: { b: '2' } } },
      setHeaderOptions('Content-Type', PatchStrategy.MergePatch),
    );
    expect(patched.data).toEqual({ a: '1', b: '2' });
    const { items } = await api.listNamespacedConfigMap({ namespace: 'default', limit: 500 });
    expect(items.map(({ metadata }) => metadata?.name)).toContain(name);
    await api.deleteNamespacedConfigMap(place);
    await expect(api.readNamespacedConfigMap(place)).rejects.toMatchObject({ code: 404 });
  });

  it('client-node watches', async () => {
    const config = new KubeConfig();
    config.loadFromFile(kubeconfig);
    const api = config.makeApiClient(CoreV1Api);
    const name = world.name('map');
    const seen: string[] = [];
    const watch = await new Watch(config).watch(
      '/api/v1/namespaces/default/configmaps',
      { fieldSelector: `metadata.name=${name}` },
      (type) => seen.push(type),
      () => undefined,
    );
    await api.createNamespacedConfigMap({ namespace: 'default', body: mapOf(name) });
    await api.deleteNamespacedConfigMap({ namespace: 'default', name });
    await until('both events', async () => seen.length === 2, { seen: () => seen });
    expect(seen).toEqual(['ADDED', 'DELETED']);
    watch.abort();
  });

  it('curl sends several requests through one connection, over HTTP/1.1', async () => {
    const format = '%{http_code} %{http_version} %{num_connects}\n';
    const nowhere = ['--output', '/dev/null'];
    const { stdout } = await curl(['--http2', '--write-out', format, ...nowhere, ...nowhere, maps, maps]);
    expect(stdout).toBe('200 1.1 1\n200 1.1 0\n');
  });

  it('curl posts with Expect: 100-continue, in chunks, and both at once', async () => {
    const post = async (...headers: string[]) => {
      const body = JSON.stringify(mapOf(world.name('map'), { a: 'x'.repeat(200_000) }));
      const flags = [json, ...headers].flatMap((header) => ['--header', header]);
      const args = ['--verbose', ...flags, '--data-binary', '@-', `${maps}?dryRun=All`];
      const { stdout, stderr } = await curl(args, body);
      expect(JSON.parse(stdout)).toMatchObject({ kind: 'ConfigMap' });
      return stderr
        .split('\n')
        .filter((line) => /^< HTTP/.test(line))
        .map((line) => line.trimEnd());
    };
    const ok = '< HTTP/1.1 201 Created';
    const goOn = '< HTTP/1.1 100 Continue';
    expect(await post('Expect:')).toEqual([ok]);
    expect(await post('Expect: 100-continue')).toEqual([goOn, ok]);
    expect(await post('Expect:', 'Transfer-Encoding: chunked')).toEqual([ok]);
    expect(await post('Expect: 100-continue', 'Transfer-Encoding: chunked')).toEqual([goOn, ok]);
  });

  it('curl that asks for a websocket has a watch without one end at once, objects of its own included', async () => {
    const offer = ['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13', webSocketKey];
    const headers = offer.flatMap((header) => ['--header', header]);
    for (const { stdout, stderr } of await Promise.all(
      [maps, ownKeys].map((list) => curl(['--verbose', ...headers, `${list}?watch=true`])),
    )) {
      expect(stderr).toMatch(/^< HTTP\/1\.1 200 OK/m);
      expect(stdout).toBe('');
    }
  });

  it('curl reads compressed answers, and deletes', async () => {
    const name = world.name('map');
    const body = JSON.stringify(mapOf(name, { a: 'x'.repeat(200_000) }));
    await curl(['--header', json, '--data-binary', '@-', maps], body);
    const { stdout, stderr } = await curl(['--compressed', '--verbose', `${maps}/${name}`]);
    expect(stderr).toMatch(/^< content-encoding: gzip/im);
    expect(JSON.parse(stdout).data.a).toHaveLength(200_000);
    const deleted = await curl(['--request', 'DELETE', `${maps}/${name}`]);
    expect(JSON.parse(deleted.stdout)).toMatchObject({ kind: 'Status', status: 'Success' });
  });

  it('curl is told by the API server that it serves no heads, and keeps the connection', async () => {
    const format = '%{stderr}%{http_code} %{num_connects}\n';
    const { stderr } = await curl(['--head', '--write-out', format, maps, maps]);
    expect(stderr).toBe('405 1\n405 0\n');
  });
});
