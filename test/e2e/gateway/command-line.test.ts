import { spawn } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { bindRole } from '../../../lab/operator/rights.ts';
import { until } from '../../../lab/operator/until.ts';
import { group } from '../../../src/api/names.ts';
import { ownedAccessKeys, roleBindings, roles, virtualClusterInstances } from '../../../src/api/resources.ts';
import { fourTargets } from './four-targets.ts';
import { installCommandLine } from './installed-command-line.ts';
import { knownHolder, untilKnown, untilReached, untilUnknown } from './known-holder.ts';

const { world, user, paths } = await fourTargets();
const { admin, gateway, guard, plane } = world;
const personAt = await installCommandLine(guard.folder, plane.binaries.kubectl);
const person = personAt('alice');
const { home, kubeconfig } = person;
const latchkey = person.latchkey.bind(person);
const kubectl = person.kubectl.bind(person);
const authority = path.join(home, 'ca.crt');
writeFileSync(authority, gateway.ca);

const mine = await knownHolder(world, { user });
await Promise.all(Object.values(paths).map(async (target) => await untilReached(gateway, mine.key, target)));
const virtualCluster = paths['virtual cluster'].replace(
  /^project\/([^/]+)\/virtualcluster\//,
  'virtualcluster/$1/',
);
const place = `--base-url ${gateway.url} --certificate-authority ${authority}`;

const children = async () => {
  const { items } = await admin.client.list(ownedAccessKeys);
  return items.filter(({ metadata }) =>
    metadata.name.startsWith(`${mine.object.metadata.name.slice(0, 40)}-cli-`),
  );
};
const cacheFiles = () => {
  const folder = path.join(home, '.cache/latchkey');
  return readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .map((name) => path.join(folder, name));
};

describe('a person with a key and a base URL', () => {
  it('logs in with it, and is told who they are and what they may reach', async () => {
    const login = await latchkey(`login --with-key ${place}`, { input: `${mine.key}\n` });
    expect(login).toMatchObject({ code: 0, stderr: expect.stringContaining(`You are ${user}`) });
    expect((await latchkey('whoami -o name')).stdout).toBe(`${user}\n`);
    expect((await kubectl('latchkey whoami -o name')).stdout).toBe(`${user}\n`);
    const names = (await latchkey('targets -o name')).stdout.split('\n');
    expect(names).toEqual(expect.arrayContaining([virtualCluster, paths.cluster]));
    expect(names.some((name) => name.startsWith('space/'))).toBe(true);
  });

  it('lets kubectl in by a kubeconfig without a key', async () => {
    const written = await latchkey(`kubeconfig ${virtualCluster} --merge --child-ttl 1h`);
    expect(written.code).toBe(0);
    expect(readFileSync(kubeconfig, 'utf8')).not.toContain('lk_');
    expect(await kubectl('get configmaps -n default')).toMatchObject({ code: 0 });
    expect(await children()).toHaveLength(1);
  });

  it('makes one key for eight kubectl that find none', async () => {
    const before = (await children()).length;
    rmSync(path.join(home, '.cache/latchkey'), { recursive: true });
    const all = await Promise.all(Array.from({ length: 8 }, () => kubectl('get configmaps -n default')));
    expect(all.map(({ code }) => code)).toEqual(Array(8).fill(0));
    expect((await children()).length).toBe(before + 1);
  });

  it('works on with the next kubectl after a 401 in the middle of work', async () => {
    const [file = ''] = cacheFiles();
    const { key } = JSON.parse(readFileSync(file, 'utf8'));
    for (const { metadata } of await children()) await admin.delete({ kind: ownedAccessKeys.kind, metadata });
    await untilUnknown(gateway, key);
    const failed = await kubectl('get configmaps -n default');
    expect(failed.code).not.toBe(0);
    expect(await kubectl('get configmaps -n default')).toMatchObject({ code: 0 });
  });
});

describe('keys at the command line', () => {
  const name = world.name('pipeline');

  it('are made, rotated, disabled, explained and deleted through the gateway', async () => {
    const file = path.join(home, 'pipeline.key');
    const made = await latchkey(
      `keys create ${name} --ttl 1h --cluster ${paths.cluster.split('/')[1]} --write-key ${file}`,
    );
    expect(made).toMatchObject({ code: 0, stdout: '' });
    const first = readFileSync(file, 'utf8').trim();
    await untilKnown(gateway, first);
    expect((await latchkey('keys list')).stdout).toMatch(new RegExp(`^${name} +live +in `, 'm'));
    const { stdout: second } = await latchkey(`keys rotate ${name}`);
    await untilUnknown(gateway, first);
    await untilKnown(gateway, second.trim());

    const inside = `--target ${paths.cluster} -n default`;
    expect((await latchkey(`explain ${name} list configmaps ${inside}`)).code).toBe(0);
    const outside = await latchkey(`explain ${name} list configmaps --target ${virtualCluster} -n default`);
    expect([outside.code, outside.stdout]).toEqual([
      1,
      expect.stringContaining(`the scope of OwnedAccessKey "${name}"`),
    ]);
    const asked = await latchkey(`explain - list configmaps ${inside} ${place}`, { input: second });
    expect(asked).toMatchObject({ code: 0, stdout: expect.stringContaining('yes') });

    expect((await latchkey(`keys disable ${name}`)).code).toBe(0);
    await untilUnknown(gateway, second.trim());
    expect((await latchkey(`keys delete ${name}`)).code).toBe(0);
    expect((await latchkey(`keys delete ${name}`)).code).toBe(5);
  });

  it('that have ended are said to come back with a longer ttl, also when they are disabled once more', async () => {
    const ended = await world.admin.createKey({ user, ttl: 1 });
    await world.admin.until(ended, 'its end', ({ status }) => status?.disabledByExpiry !== undefined);
    const { code, stderr } = await latchkey(`keys disable ${ended.metadata.name}`);
    expect([code, stderr]).toEqual([0, expect.stringContaining('a longer ttl brings it back')]);
    await world.admin.patch(ended, { spec: { ttl: 3_600 } });
    await world.admin.untilReady(ended);
    const present = await latchkey(`keys disable ${ended.metadata.name}`);
    expect([present.code, present.stderr]).toEqual([0, expect.not.stringContaining('ttl')]);
  });

  it('revoke themselves when they have leaked', async () => {
    const leaked = await knownHolder(world, { user, ttl: 3_600, scope: { clusters: [{ cluster: '*' }] } });
    const revoked = await latchkey(`revoke ${place}`, {
      input: leaked.key,
      env: { HOME: path.join(home, 'stranger') },
    });
    expect(revoked).toMatchObject({ code: 0, stderr: expect.stringContaining('refuses the key') });
    await untilUnknown(gateway, leaked.key);
  });
});

describe('a holder with nothing but the verb use on one virtual cluster', () => {
  const bob = world.name('bob');
  const [, project = '', instance = ''] = virtualCluster.split('/');
  const namespace = `p-${project}`;
  const rule = {
    apiGroups: [group],
    resources: ['virtualclusterinstances'],
    verbs: ['use'],
    resourceNames: [instance],
  };
  const apiGroup = 'rbac.authorization.k8s.io';
  const metadata = { name: bob, namespace };

  it('sees it, and nothing else, in lists, tables, gets and watches of kubectl', async () => {
    await admin.createObject(roles, { kind: 'Role', metadata, rules: [rule] });
    await admin.createObject(roleBindings, {
      ...{ kind: 'RoleBinding', metadata },
      roleRef: { apiGroup, kind: 'Role', name: bob },
      subjects: [{ apiGroup, kind: 'User', name: bob }],
    });
    const { key } = await knownHolder(world, { user: bob });
    await untilReached(gateway, key, paths['virtual cluster']);
    const config = { env: { KUBECONFIG: await gateway.kubeconfig(key) } };
    const table = await kubectl('get virtualclusterinstances -A', config);
    expect(table.stdout.trimEnd().split('\n')).toEqual([
      expect.stringMatching(/^NAMESPACE +NAME +CLUSTER +ENDPOINT +STATE +AGE$/),
      expect.stringMatching(new RegExp(`^${namespace} +${instance} `)),
    ]);
    expect((await kubectl('get clusters.management.platform.sh,spaceinstances -A', config)).stdout).toBe('');
    expect(await kubectl(`get vci ${instance} -n ${namespace} -o name`, config)).toMatchObject({ code: 0 });
    expect(await kubectl('get vci other -n default', config)).toMatchObject({ code: 1 });
    expect((await kubectl('auth can-i list virtualclusterinstances -A', config)).stdout).toBe('yes\n');
    await watchIsNarrowed(config.env.KUBECONFIG);
  });

  async function watchIsNarrowed(KUBECONFIG: string): Promise<void> {
    const env = { ...process.env, HOME: home, KUBECONFIG };
    const child = spawn(plane.binaries.kubectl, ['get', 'vci', '-A', '--watch', '-o', 'json'], { env });
    let text = '';
    child.stdout.on('data', (chunk) => {
      text += chunk;
    });
    try {
      const shows = async (part: string) =>
        await until(`the watch shows ${part}`, async () => text.includes(part));
      await shows(instance);
      const shown = { kind: virtualClusterInstances.kind, metadata: { name: instance, namespace } };
      await admin.annotate(shown, { 'example.com/seen': 'by-the-watch' });
      await shows('by-the-watch');
    } finally {
      child.kill();
    }
  }
});

it('latchkey check finds this installation whole, with real kubectl', async () => {
  const { code, stdout } = await latchkey(`check ${place}`, { env: { KUBECONFIG: plane.adminKubeconfig } });
  expect(stdout).not.toMatch(/^(?:FAILED|unknown)/m);
  expect([code, stdout.match(/^ok /gm)?.length]).toEqual([0, 11]);
});

it('latchkey who-can names the user, and by which binding', async () => {
  const root = world.name('root');
  const administrator = await knownHolder(world, { user: root });
  await bindRole(admin, root, 'cluster-admin');
  const asked = async () =>
    (
      await latchkey(`who-can ${paths.cluster} ${place} -o name`, {
        env: { LATCHKEY_ACCESS_KEY: administrator.key },
      })
    ).stdout;
  await until(
    'the administrator may read roles',
    async () => (await asked()).includes(`user/${user}\n`) || undefined,
  );
});
