import { describe, expect, it } from 'vitest';
import { type Kubectl, onlyNamed } from '../../../lab/operator/kubectl.ts';
import { bindRole, giveRight } from '../../../lab/operator/rights.ts';
import { configMaps } from '../../../src/api/resources.ts';
import { gatewayWorld } from './gateway-world.ts';
import { kubectlWith } from './known-holder.ts';

const world = await gatewayWorld();
const { admin } = world;
const alice = world.name('alice');
await bindRole(admin, alice, 'edit');
await giveRight(admin, alice, { apiGroups: [''], resources: ['pods/exec'], verbs: ['create', 'get'] });
const readingMaps = {
  verbs: ['get', 'list', 'watch'],
  resources: [{ group: '', resources: ['configmaps'] }],
};
const kubectl = await kubectlWith(world, { user: alice });
const narrow = await kubectlWith(world, { user: alice, scope: { rules: [readingMaps] } });

const mapOf = (name: string, data: Readonly<Record<string, string>> = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'default' },
  data,
});

const podOf = (name: string) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'default' },
  spec: {
    automountServiceAccountToken: false,
    containers: [{ name: 'main', image: 'registry.example.com/nothing' }],
  },
});

/** At the API server, for what is only there to be worked with. */
const makeMap = async (name: string, data: Readonly<Record<string, string>> = {}) =>
  await admin.createObject(configMaps, mapOf(name, data));
const dataOf = async (name: string): Promise<unknown> => (await admin.get(mapOf(name))).data;

/** Returns the message of a failure. */
async function failureOf(holder: Kubectl, ...args: string[]): Promise<string> {
  const { stderr, exitCode } = await holder.run(args);
  expect(exitCode).toBe(1);
  return stderr;
}

describe('kubectl get', () => {
  it('shows an object in every form', async () => {
    const name = world.name('map');
    await kubectl.send('create', mapOf(name, { a: '1', b: '2' }));
    expect(await kubectl.ok(['get', 'configmap', name])).toMatch(
      new RegExp(`^NAME +DATA +AGE\\n${name} +2 +\\d+s\\n$`),
    );
    expect(JSON.parse(await kubectl.ok(['get', 'cm', name, '-o', 'json']))).toMatchObject({
      data: { a: '1', b: '2' },
    });
    expect(await kubectl.ok(['get', 'cm', name, '-o', 'name'])).toBe(`configmap/${name}\n`);
    expect(await kubectl.ok(['describe', 'cm', name])).toContain(name);
  });

  it('lists all namespaces, wide, by label, page by page and as raw path', async () => {
    const names = [1, 2, 3].map(() => world.name('map'));
    const label = world.name('label');
    const maps = names.map((name) => ({ ...mapOf(name), metadata: { name, labels: { label } } }));
    await kubectl.send('create', maps);
    const listed = await kubectl.ok([
      'get',
      'cm',
      '-A',
      '-l',
      `label=${label}`,
      '-o',
      'name',
      '--chunk-size=1',
    ]);
    expect(listed.trimEnd().split('\n').toSorted()).toEqual(
      names.map((name) => `configmap/${name}`).toSorted(),
    );
    expect(await kubectl.ok(['get', 'cm', '-A', '-o', 'wide'])).toMatch(/^NAMESPACE +NAME +DATA +AGE\n/);
    const pod = world.name('pod');
    await kubectl.send('create', podOf(pod));
    expect(await kubectl.ok(['get', 'pod', pod, '-o', 'wide'])).toMatch(/^NAME .* NOMINATED NODE .*\n/);
    expect(
      JSON.parse(await kubectl.ok(['get', '--raw', '/api/v1/namespaces/default/configmaps'])),
    ).toMatchObject({
      kind: 'ConfigMapList',
    });
  });

  it('follows changes with --watch, each as soon as it happens', async () => {
    const name = world.name('map');
    const map = await makeMap(name, { a: '1' });
    const watching = await kubectl.begin([
      ...['get', 'configmaps', ...onlyNamed(name), '--watch', '--output-watch-events'],
      '-o=jsonpath={.type} {.object.data.a}{"\\n"}',
    ]);
    await watching.until('the first event', (lines) => lines.includes('ADDED 1'));
    await admin.patch(map, { data: { a: '2' } });
    await watching.until('the change', (lines) => lines.includes('MODIFIED 2'));
    await admin.delete(map);
    await watching.until('the end', (lines) => lines.includes('DELETED 2'));
    await watching.end();
  });
});

describe('kubectl apply', () => {
  it('creates, changes and leaves alone, and diff says what it would change', async () => {
    const name = world.name('map');
    expect(await kubectl.send('apply', mapOf(name, { a: '1' }))).toContain('created');
    expect(await kubectl.diff(mapOf(name, { a: '1' }))).toBe('');
    expect(await kubectl.diff(mapOf(name, { a: '2' }))).toMatch(/^-\s+a: "1"\n\+\s+a: "2"$/m);
    expect(await kubectl.send('apply', mapOf(name, { a: '2' }))).toContain('configured');
    expect(await kubectl.send('apply', mapOf(name, { a: '2' }))).toContain('unchanged');
    expect(await kubectl.send('apply', mapOf(name, { b: '1' }), '--dry-run=server')).toContain('configured');
    expect(await dataOf(name)).toEqual({ a: '2' });
  });

  it('works on the server, with the conflicts of several managers', async () => {
    const name = world.name('map');
    const flags = ['--server-side', '--field-manager=one'];
    expect(await kubectl.send('apply', mapOf(name, { a: '1' }), ...flags)).toContain('serverside-applied');
    const other = ['--server-side', '--field-manager=two'];
    const { stderr, exitCode } = await kubectl.trySend('apply', mapOf(name, { a: '2' }), ...other);
    expect(exitCode).toBe(1);
    expect(stderr).toContain('conflict with "one": .data.a');
    await kubectl.send('apply', mapOf(name, { a: '2' }), ...other, '--force-conflicts');
    expect(await dataOf(name)).toEqual({ a: '2' });
    expect(await kubectl.diff(mapOf(name, { a: '3' }), '--server-side', '--force-conflicts')).toContain(
      'a: "3"',
    );
  });
});

describe('kubectl', () => {
  it('patches in every form, replaces, labels and deletes', async () => {
    const name = world.name('map');
    await makeMap(name, { a: '1' });
    const patch = async (type: string, body: object) =>
      await kubectl.ok(['patch', 'configmap', name, `--type=${type}`, '-p', JSON.stringify(body)]);
    await patch('merge', { data: { b: '2' } });
    await patch('strategic', { data: { c: '3' } });
    await patch('json', [{ op: 'remove', path: '/data/a' }]);
    expect(await dataOf(name)).toEqual({ b: '2', c: '3' });
    expect(await kubectl.send('replace', mapOf(name, { d: '4' }))).toContain('replaced');
    expect(await dataOf(name)).toEqual({ d: '4' });
    expect(await kubectl.ok(['label', 'configmap', name, 'tier=one'])).toContain('labeled');
    expect(await kubectl.ok(['delete', 'configmap', '-l', 'tier=one'])).toContain('deleted');
    expect(await failureOf(kubectl, 'get', 'configmap', name)).toContain('(NotFound)');
  });

  it('waits for a field and for a deletion', async () => {
    const name = world.name('map');
    const map = await makeMap(name);
    const wait = async (condition: string) =>
      await kubectl.ok(['wait', `configmap/${name}`, `--for=${condition}`, '--timeout=120s']);
    const [met] = await Promise.all([
      wait('jsonpath={.data.done}=yes'),
      admin.patch(map, { data: { done: 'yes' } }),
    ]);
    expect(met).toBe(`configmap/${name} condition met\n`);
    await Promise.all([wait('delete'), admin.delete(map)]);
  });

  it('knows the kinds, their fields and the version of the server', async () => {
    const kinds = await kubectl.ok(['api-resources']);
    expect(kinds).toMatch(/^configmaps +cm +v1 +true +ConfigMap$/m);
    expect(kinds).toMatch(/^virtualclusterinstances +vci +management\.platform\.sh\/v1 +true /m);
    expect(await kubectl.ok(['api-versions'])).toContain('management.platform.sh/v1\n');
    expect(await kubectl.ok(['explain', 'configmap.data'])).toContain('FIELD: data');
    expect(await kubectl.ok(['explain', 'virtualclusterinstances.spec'])).toContain('kubeConfigSecretRef');
    expect(await kubectl.ok(['version'])).toMatch(/^Server Version: v1\.\d+/m);
  });

  it('with a scope knows the kinds as well, and does no more than the scope says', async () => {
    const name = world.name('map');
    await makeMap(name);
    expect(await narrow.ok(['api-resources'])).toContain('configmaps');
    expect(await narrow.ok(['explain', 'configmap.data'])).toContain('FIELD: data');
    expect(await narrow.ok(['get', 'configmap', name, '-o', 'name'])).toBe(`configmap/${name}\n`);
    const refused = await failureOf(narrow, 'delete', 'configmap', name);
    expect(refused).toContain('Error from server (Forbidden)');
    expect(refused).toContain(`OwnedAccessKey "${narrow.object.metadata.name}"`);
    const input = JSON.stringify(mapOf(name, { a: '1' }));
    const applied = await narrow.run(['apply', '--server-side', '-f', '-'], { input });
    expect(applied).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('(Forbidden)') });
  });
});

describe('kubectl that does not know yet what there is', () => {
  const { gateway, plane, guard } = world;
  let caches = 0;

  /** Returns the message of a failure with an empty cache. */
  async function coldFailureOf(kubeconfig: string, ...args: string[]): Promise<string> {
    caches += 1;
    const cache = `--cache-dir=${guard.folder}/cold-cache-${caches}`;
    const { stderr, exitCode } = await plane.kubectl([...args, cache], { kubeconfig });
    expect(exitCode).toBe(1);
    return stderr;
  }

  it('prints the whole sentence of a refusal', async () => {
    const said = await coldFailureOf(
      await gateway.kubeconfig(kubectl.key, 'cluster/none'),
      'get',
      'configmaps',
    );
    expect(said).toMatch(
      /^Warning: User "\S+" needs the verb "use" on clusters\/none\. Correct the name, .* bound to the user/m,
    );
  });

  it('prints it where the server of the kubeconfig is the gateway and no target', async () => {
    const kubeconfig = await gateway.kubeconfig(narrow.key);
    const said = await coldFailureOf(kubeconfig, 'get', 'configmaps', `--server=${gateway.url}`);
    expect(said).toMatch(/^Warning: there is nothing at this path.* Check the server in your kubeconfig/m);
  });

  it('prints it with a key that is wrong, and with a token of a ServiceAccount', async () => {
    const wrong = await gateway.kubeconfig('a-key-that-no-one-knows');
    expect(await coldFailureOf(wrong, 'get', 'configmaps')).toMatch(
      /^Warning: not authenticated: the credential is not accepted/m,
    );
    const { stdout: token } = await plane.kubectl(['create', 'token', 'default']);
    const ofAccount = await gateway.kubeconfig(token.trim());
    expect(await coldFailureOf(ofAccount, 'get', 'configmaps')).toMatch(
      /^Warning: not authenticated: a token of a ServiceAccount .* to the own address of that target/m,
    );
  });

  it('prints it where the server of the kubeconfig is http, for https', async () => {
    const kubeconfig = await gateway.kubeconfig(narrow.key);
    const server = `--server=${gateway.url.replace('https:', 'http:')}/kubernetes/management`;
    expect(await coldFailureOf(kubeconfig, 'get', 'configmaps', server)).toMatch(
      /^Warning: the request came as plain http.* Write https:/m,
    );
  });
});

describe('kubectl auth', () => {
  it('can-i answers for the user and for the scope', async () => {
    expect(await kubectl.ok(['auth', 'can-i', 'delete', 'configmaps'])).toBe('yes\n');
    expect(await narrow.ok(['auth', 'can-i', 'watch', 'configmaps'])).toBe('yes\n');
    const byUser = await kubectl.run(['auth', 'can-i', 'delete', 'nodes']);
    expect([byUser.stdout, byUser.exitCode]).toEqual(['no\n', 1]);
    const byScope = await narrow.run(['auth', 'can-i', 'delete', 'configmaps']);
    expect(byScope.exitCode).toBe(1);
    expect(byScope.stdout).toMatch(/^no - .*OwnedAccessKey/);
  });

  it('can-i --list shows the rights of the user, and says that a scope takes away from them', async () => {
    const list = ['auth', 'can-i', '--list'];
    const unscoped = await kubectl.run(list);
    expect(unscoped.stdout).toMatch(/^configmaps +\[\] +\[\] +\[.*delete.*\]$/m);
    expect(unscoped.stderr).not.toContain('incomplete');
    expect((await narrow.run(list)).stderr).toContain('incomplete');
  });

  it('whoami says whose key it is', async () => {
    const whoAmI = await narrow.ok(['auth', 'whoami']);
    expect(whoAmI).toMatch(new RegExp(`^Username +${alice}$`, 'm'));
    expect(whoAmI).toContain(`${narrow.object.metadata.name}/${narrow.object.metadata.uid}`);
    expect(await failureOf(kubectl, 'get', 'configmaps', '--as=bob')).toContain('cannot impersonate');
  });
});

describe('kubectl with a pod', async () => {
  const pod = world.name('pod');
  await kubectl.send('create', podOf(pod));
  // Else kubectl does not even ask for a tunnel.
  const running = ['--subresource=status', '-p', '{"status":{"phase":"Running"}}'];
  await world.plane.kubectl(['patch', 'pod', pod, ...running]);

  it('logs gets what the API server says of a pod that no node runs, where the scope allows it', async () => {
    const kubeconfig = await world.plane.kubeconfigFor(alice);
    for (const logs of [
      ['logs', pod],
      ['logs', pod, '-c', 'other'],
    ])
      expect(await kubectl.run(logs)).toEqual(await world.plane.kubectl(logs, { kubeconfig }));
    expect(await failureOf(narrow, 'logs', pod)).toContain('(Forbidden)');
  });

  it.each([
    ['exec', [pod, '--', 'true']],
    ['attach', [pod]],
    ['port-forward', [pod, '8080']],
    ['cp', ['/etc/hostname', `${pod}:/tmp/x`]],
  ])('%s gets what the API server says of it', async (verb, args) => {
    const kubeconfig = await world.plane.kubeconfigFor(alice);
    const directly = await world.plane.kubectl([verb, ...args], { kubeconfig });
    expect(directly.exitCode).toBe(1);
    expect(await kubectl.run([verb, ...args])).toEqual(directly);
  });
});
