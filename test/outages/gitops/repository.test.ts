import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { entryOf, type Stored, secretAt, type Target } from '../../../lab/operator/api.ts';
import { fieldsByManager } from '../../../lab/operator/fields-by-manager.ts';
import { type Applied, Kubectl } from '../../../lab/operator/kubectl.ts';
import { type Manifest, manifestOf } from '../../../lab/operator/manifest.ts';
import { bindRole } from '../../../lab/operator/rights.ts';
import { timeUntil, until } from '../../../lab/operator/until.ts';
import { Verifier } from '../../../lab/operator/verifier.ts';
import {
  kubeConfigSecret,
  secretPlace,
  sharedVirtualCluster,
} from '../../../lab/operator/virtual-cluster.ts';
import { operatorWorld } from '../../../lab/operator/world.ts';
import { annotations, fieldManager } from '../../../src/api/names.ts';
import {
  clusterRoles,
  ownedAccessKeys,
  secrets,
  virtualClusterInstanceKubeConfigs,
  virtualClusterInstances,
} from '../../../src/api/resources.ts';
import { generateAccessKey } from '../../../src/credentials/keys/access-key.ts';
import { credentialHash } from '../../../src/credentials/keys/credential-hash.ts';
import { HealthJudge } from '../../argocd-health/argocd-health.ts';
import { Holder, Project } from '../../e2e/kubeconfigs/kubeconfig-world.ts';
import { Controller, type ControllerName, difference, sync } from './controllers.ts';

const world = await operatorWorld();
const cluster = await sharedVirtualCluster();
const { admin } = world;
const verifier = new Verifier(admin);
const controllers = {
  'Argo CD': await Controller.of(world, 'Argo CD'),
  Flux: await Controller.of(world, 'Flux'),
};
let project: Project;
let judge: HealthJudge;

beforeAll(async () => {
  judge = await HealthJudge.build(world.guard.folder);
  project = await Project.ready(world, cluster);
});

/** Returns what Argo CD and Flux say of the object as it stands now. */
async function verdictOn(target: Target): Promise<string> {
  const { health, kstatus } = await judge.of((await admin.get(target)) as Stored & { kind: string });
  return `${health?.status} ${kstatus}`;
}

const untilVerdict = async (target: Target, verdict: string): Promise<void> => {
  await until(`${target.metadata.name} is ${verdict}`, async () => (await verdictOn(target)) === verdict);
};

/** A pipeline in Git: its key as a hash, and a kubeconfig below it that goes to a Secret. */
function repository(key: string, { ttl = 7_776_000, clientCert = true } = {}) {
  const accessKey = manifestOf(ownedAccessKeys, {
    user: 'alice',
    key: `sha256:${credentialHash(key)}`,
    ttl,
    allowedNamespaces: [project.namespace],
  });
  const output = world.name('pipeline');
  const kubeConfig = manifestOf(
    virtualClusterInstanceKubeConfigs,
    {
      virtualClusterInstance: project.instance.metadata.name,
      accessKey: accessKey.metadata.name,
      clientCert,
      certificateTTL: 3_600,
      renewBefore: 600,
      secretRef: { name: output },
    },
    { namespace: project.namespace },
  );
  return { accessKey, kubeConfig, secret: secretAt(project.namespace, output), all: [accessKey, kubeConfig] };
}

const newKey = (): string => generateAccessKey(randomBytes(32));

describe.each(Object.entries(controllers))(
  'a repository that holds hashes and references only, under %s',
  (_, controller) => {
    it('gives a working key and a working kubeconfig, and marks no Secret as its own', async () => {
      const key = newKey();
      const git = repository(key);
      expect(JSON.stringify(git.all)).not.toContain(key);
      await sync(controller, git.all);
      for (const manifest of git.all) await admin.untilReady(manifest);

      expect(await verifier.presented(key)).toBe('live');
      const secret = await admin.get(git.secret);
      const holder = new Holder(entryOf(secret, 'config'), cluster);
      await holder.untilAllowed();
      await holder.close();
      const marks = { ...secret.metadata.labels, ...secret.metadata.annotations };
      expect(Object.keys(marks).filter((name) => !name.startsWith('management.platform.sh/'))).toEqual([]);
      for (const manifest of git.all) {
        expect(await verdictOn(manifest)).toBe('Healthy Current');
        const { metadata } = await admin.get(manifest);
        expect(metadata.annotations?.[annotations.requester]).toBe(controller.account);
        expect({ ...metadata.labels, ...metadata.annotations }).toMatchObject(marksOf(controller, manifest));
      }
      expect(await difference(controller, git.all)).toBe('');
    });

    it('renews the kubeconfig in its Secret after a commit, and stays without a difference', async () => {
      const key = newKey();
      // A token is renewed as soon as the end of its key moves, a certificate at half of its life.
      const git = repository(key, { ttl: 60, clientCert: false });
      await sync(controller, git.all);
      for (const manifest of git.all) await admin.untilReady(manifest);
      const first = entryOf(await admin.get(git.secret), 'config');
      const { spec, ...accessKey } = git.accessKey;
      const longer = { ...accessKey, spec: { ...(spec as object), ttl: 86_400 } };

      await sync(controller, [longer, git.kubeConfig]);

      const renewed = await admin.until(git.kubeConfig, 'a successor', ({ status }) => status.serial === 2);
      expect(entryOf(await admin.get(git.secret), 'config')).not.toBe(first);
      expect(await verifier.presented(key)).toBe('live');
      expect(await difference(controller, [longer, git.kubeConfig])).toBe('');
      await sync(controller, [longer, git.kubeConfig]);
      expect((await admin.get(git.kubeConfig)).status.documentHash).toBe(renewed.status.documentHash);
      await untilVerdict(git.kubeConfig, 'Healthy Current');
    });

    it('is pruned within seconds, kubeconfig first, and leaves nothing that works', async () => {
      /** Resolves with how many milliseconds the objects took to go; kubectl takes its own time. */
      const prune = async ({ all }: ReturnType<typeof repository>) => {
        let waited = 0;
        for (const manifest of all.toReversed()) {
          await controller.kubectl.send('delete', manifest, '--cascade=foreground', '--wait=false');
          const isGone = async () => (await admin.find(manifest)) === undefined;
          waited += await timeUntil(`${manifest.kind} is gone`, isGone, { timeoutMs: 50_000 });
        }
        return waited;
      };
      // The garbage collector looks for new kinds every half minute, so on a young control plane it may not know ours yet.
      const earlier = repository(newKey());
      await sync(controller, earlier.all);
      await prune(earlier);

      const key = newKey();
      const git = repository(key);
      await sync(controller, git.all);
      for (const manifest of git.all) await admin.untilReady(manifest);
      const holder = new Holder(entryOf(await admin.get(git.secret), 'config'), cluster);
      await holder.untilAllowed();
      expect(await prune(git)).toBeLessThan(15_000);
      expect(await verifier.presented(key)).toBe('Unknown');
      expect(await holder.refusals(200)).toEqual(new Set([403]));
      await admin.untilGone(git.secret);
      await holder.close();
    });

    it('is in progress, and no failure, as long as the namespace of a Secret is missing', async () => {
      const namespace = world.name('later');
      const key = manifestOf(ownedAccessKeys, { user: 'alice', secretRef: { namespace, name: 'key' } });
      await sync(controller, [key]);
      await admin.untilRefused(key, 'SecretFailed');
      expect(await verdictOn(key)).toBe('Progressing InProgress');
      expect(await difference(controller, [key])).toBe('');
      // The operator looks again by itself within ten seconds, and at a change at once.
      const commit = { ...key, spec: { ...(key.spec as object), displayName: 'Later' } };
      await sync(controller, [
        { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
        commit,
      ]);
      await untilVerdict(key, 'Healthy Current');
      expect(await verifier.presented(entryOf(await admin.get(secretAt(namespace, 'key')), 'key'))).toBe(
        'live',
      );
    });

    it('is in progress, and no failure, as long as the administrator kubeconfig is missing', async () => {
      const name = world.name('vc');
      const place = secretPlace('cluster-api', name);
      const instance = manifestOf(virtualClusterInstances, { kubeConfigSecretRef: place }, { name });
      await sync(controller, [instance]);
      await admin.untilRefused(instance, 'KubeConfigNotFound');
      expect(await verdictOn(instance)).toBe('Progressing InProgress');
      await admin.createObject(
        secrets,
        kubeConfigSecret('cluster-api', name, await cluster.adminKubeConfig()),
      );
      await untilVerdict(instance, 'Healthy Current');
      expect(await difference(controller, [instance])).toBe('');
    });

    it('may say key: "": the key is generated once and stays, without a difference', async () => {
      const key = manifestOf(ownedAccessKeys, { user: 'alice', key: '' });
      await sync(controller, [key]);
      const { spec } = await admin.untilReady(key);
      await sync(controller, [key]);
      const second = await admin.get(key);
      await sync(controller, [key]);
      const third = await admin.get(key);
      expect([second.spec.key, third.spec.key]).toEqual([spec.key, spec.key]);
      expect(third.metadata.resourceVersion).toBe(second.metadata.resourceVersion);
      expect(await difference(controller, [key])).toBe('');
      expect(await verifier.presented(spec.key)).toBe('live');
    });

    it('does not switch on again what somebody has switched off', async () => {
      const key = manifestOf(ownedAccessKeys, {
        user: 'alice',
        secretRef: { namespace: 'default', name: world.name('off') },
      });
      await sync(controller, [key]);
      await admin.untilReady(key);
      await admin.patch(key, { spec: { disabled: true } });
      await admin.untilRefused(key, 'Disabled');
      await sync(controller, [key]);
      expect((await admin.get(key)).spec.disabled).toBe(true);
      expect(await verdictOn(key)).toBe('Suspended Failed');
      expect(await difference(controller, [key])).toBe('');
    });
  },
);

describe('a credential belongs to the account that created it', () => {
  const { 'Argo CD': argoCD, Flux: flux } = controllers;
  const refused = /denied request: .*only the user that it speaks for and its creator may change it/;

  it('so Argo CD does not give what stands in Git to an object that somebody has put there before', async () => {
    const squatter = await world.user('gitops-squatter');
    const manifest = manifestOf(ownedAccessKeys, { user: 'alice', groups: ['release'], scope: {} });
    const { groups: _, ...spec } = manifest.spec as { groups: unknown };
    const planted = await squatter.api.createObject(ownedAccessKeys, { ...manifest, spec });
    await admin.untilReady(planted);
    for (const flags of [argoCD.flags, []]) {
      const { exitCode, stderr } = await argoCD.kubectl.trySend('apply', argoCD.marked([manifest]), ...flags);
      expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: expect.stringMatching(refused) });
    }
    const after = await admin.get(planted);
    expect(after.spec).not.toHaveProperty('groups');
    expect(after.metadata.labels).toBeUndefined();
  });

  it('so an Application moves to Flux by acting as the account of Argo CD, or by being created again', async () => {
    const key = newKey();
    const manifest = manifestOf(ownedAccessKeys, {
      user: 'alice',
      key: `sha256:${credentialHash(key)}`,
      ttl: 3_600,
    });
    await sync(argoCD, [manifest]);
    await admin.untilReady(manifest);
    const moved = flux.marked([{ ...manifest, spec: { ...(manifest.spec as object), ttl: 7_200 } }]);
    const { exitCode, stderr } = await flux.kubectl.trySend('apply', moved, ...flux.flags);
    expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: expect.stringMatching(refused) });

    await flux.kubectl.send('apply', moved, ...flux.flags, `--as=${argoCD.account}`);
    await admin.until(manifest, 'its new life', ({ status }) => status.confirmedTTL === 7_200);

    await argoCD.kubectl.send('delete', manifest, '--timeout=120s');
    expect(await verifier.presented(key)).toBe('Unknown');
    await flux.kubectl.send('apply', moved, ...flux.flags);
    const { metadata } = await admin.untilReady(manifest);
    expect(metadata.annotations?.[annotations.requester]).toBe(flux.account);
    expect(await verifier.presented(key)).toBe('live');
  });
});

describe('the guide', async () => {
  const text = readFileSync(path.resolve(import.meta.dirname, '../../../docs/guide/gitops.md'), 'utf8');
  const objects = [...text.matchAll(/^```yaml\n(.*?)^```/gms)].flatMap(([, block = '']) =>
    parseAllDocuments(block).map((document) => document.toJS() as Manifest),
  );
  const account = 'system:serviceaccount:gitops:keys-from-git';
  const kubectl = new Kubectl(world, await world.plane.kubeconfigFor(account));

  it('shows a role with which an account can apply the key that it shows, and none for somebody else', async () => {
    const [role, key] = ['ClusterRole', 'OwnedAccessKey'].map((wanted) =>
      objects.find(({ kind }) => kind === wanted),
    );
    if (role === undefined || key === undefined) throw new TypeError('the guide shows no role, or no key');
    await admin.createObject(clusterRoles, role);
    await bindRole(admin, account, role.metadata.name);
    await kubectl.send('apply', key, '--server-side');
    await admin.untilReady(key);
    const other = manifestOf(ownedAccessKeys, { ...(key.spec as object), user: 'alice' });
    const { stderr } = await kubectl.trySend('apply', other, '--server-side');
    expect(stderr).toContain('spec.user: a key for another user');
  });
});

describe('Argo CD and the operator, two managers of one object', () => {
  const argoCD = controllers['Argo CD'];

  it('share no field and meet no conflict in a hundred syncs, while the operator generates, ends and revives the key', async () => {
    const manifest = manifestOf(ownedAccessKeys, { user: 'alice' });
    argoCD.kubectl.track(manifest);
    const { name } = manifest.metadata;
    let last: Stored | undefined;
    for (let round = 1; round <= 100; round += 1) {
      // Every tenth commit gives it a life that is over already.
      const spec = {
        user: 'alice',
        displayName: `commit ${round}`,
        ttl: round % 10 === 0 ? 1 : 3_600 + round,
      };
      const [object] = argoCD.marked([{ ...manifest, spec } as Applied]);
      last = await argoCD.api.client.apply<Stored>(ownedAccessKeys, { name }, object ?? {}, {
        fieldManager: argoCD.manager,
        force: true,
      });
    }
    expect(last?.spec.displayName).toBe('commit 100');
    await admin.untilRefused(manifest, 'Expired');
    expect(await verdictOn(manifest)).toBe('Degraded Failed');
    const [revived] = argoCD.marked([
      { ...manifest, spec: { user: 'alice', displayName: 'last', ttl: 3_600 } } as Applied,
    ]);
    await argoCD.api.client.apply(ownedAccessKeys, { name }, revived ?? {}, {
      fieldManager: argoCD.manager,
      force: true,
    });
    const after = await admin.untilReady(manifest);
    expect(after.status).toMatchObject({ serial: 1, keySource: 'Generated' });
    const owned = fieldsByManager(after);
    expect(Object.keys(owned).sort()).toEqual([argoCD.manager, fieldManager].sort());
    expect(owned[argoCD.manager]).toEqual(
      expect.arrayContaining(['.spec.user', '.spec.displayName', '.spec.ttl']),
    );
    expect(owned[fieldManager]?.filter((field) => !field.startsWith('.status'))).toEqual([
      '.spec.disabled',
      '.spec.key',
    ]);
    const fields = Object.values(owned).flat();
    expect(fields.filter((field, i) => fields.indexOf(field) !== i)).toEqual([]);
  });
});

describe('a prune while the operator stands still', () => {
  it('ends the credential at once, and the object goes as soon as the operator goes on', async () => {
    const { 'Argo CD': argoCD } = controllers;
    const key = newKey();
    const manifest = manifestOf(ownedAccessKeys, { user: 'alice', key: `sha256:${credentialHash(key)}` });
    await sync(argoCD, [manifest]);
    await admin.untilReady(manifest);
    const { pid } = world.operator.process;
    process.kill(pid, 'SIGSTOP');
    try {
      await argoCD.kubectl.send('delete', manifest, '--wait=false');
      expect(await verifier.presented(key)).toBe('Deleting');
      expect(await verdictOn(manifest)).toBe('Progressing Terminating');
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    await admin.untilGone(manifest);
  });
});

function marksOf({ title }: Controller, { kind, metadata: { name } }: Manifest): object {
  const marks: Readonly<Record<ControllerName, object>> = {
    'Argo CD': { 'argocd.argoproj.io/tracking-id': `keys:management.platform.sh/${kind}:/${name}` },
    Flux: { 'kustomize.toolkit.fluxcd.io/name': 'keys' },
  };
  return marks[title];
}
