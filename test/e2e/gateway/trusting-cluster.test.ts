import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { trustingClusterName } from '../../../lab/gateway/trusting-configuration.ts';
import { until } from '../../../lab/operator/until.ts';
import { readDocument, sectionOf } from '../../../tools/reference/document.ts';
import { runElsewhere } from '../document-runs.ts';
import { curlHolder, withReplica } from './curl-holder.ts';
import { ownTokens } from './own-client.ts';
import { trustingCluster } from './trusting-cluster.ts';

const { world: single, whoAmI, cluster, baseURL } = await trustingCluster();
const world = await withReplica(single, { LATCHKEY_BASE_URL: baseURL });
const { admin, plane } = world;
const file = 'docs/reference/trusting-clusters.md';
const page = readDocument(file);
const [section] = runElsewhere['test/e2e/gateway/trusting-cluster.test.ts'][file];

const commandsOf = (section: string): string =>
  [...section.matchAll(/^\$ (.*)$/gm)].map(([, command = '']) => command).join('\n');

/** Runs commands in a shell with kubectl, for the cluster of the test. */
async function asReader(commands: string) {
  const script = commands
    .replaceAll('https://staging.example.com:6443', cluster.plane.server)
    .replaceAll('staging-ca.crt', path.join(cluster.plane.folder, 'pki', 'ca.crt'));
  const env = {
    ...process.env,
    PATH: `${path.dirname(plane.binaries.kubectl)}:${process.env['PATH']}`,
    KUBECONFIG: plane.adminKubeconfig,
    KUBECACHEDIR: path.join(plane.folder, 'kubectl-cache'),
  };
  return await promisify(execFile)('bash', ['-e', '-c', script], { env });
}

const alice = world.name('alice');
const clusters = (...names: string[]) => ({ clusters: names.map((cluster) => ({ cluster })) });
const narrow = { rules: [{ verbs: ['get'], cluster: trustingClusterName }] };

/** A token of a key for alice. */
async function tokenWith(scope: object | undefined, keyScope?: object): Promise<string> {
  const groups = keyScope === undefined ? {} : { groups: ['dev'] };
  const key = await admin.createKey({ user: alice, ...groups, ...(keyScope && { scope: keyScope }) });
  const token = await admin.createToken({ accessKey: key.metadata.name, ttl: 600, ...(scope && { scope }) });
  return (await admin.untilReady(token)).status.token;
}

describe('an API server that is pointed at the discovery of the gateway', () => {
  it.each<[string, object | undefined, object | undefined]>([
    ['for this cluster', clusters(trustingClusterName), clusters(trustingClusterName)],
    ['for this cluster among others', clusters('other', trustingClusterName), clusters('*')],
    ['for all clusters', undefined, clusters('*')],
  ])('takes a token %s, as its user', async (_, scope, keyScope) => {
    const token = await tokenWith(scope, keyScope);
    const user = await until('the API server knows the issuer', async () => await whoAmI(token), {
      timeoutMs: 90_000,
    });
    expect(user).toMatchObject({ username: alice, groups: ['dev', 'system:authenticated'] });
  });

  it('5-4 takes a token that was made at either replica of the gateway, for as long and as far as it says', async () => {
    const holder = await curlHolder(world, { user: alice });
    const tokenFor = async (cluster: string) => {
      const body = { spec: { ttl: 600, scope: clusters(cluster) } };
      const made = await holder.send('POST', ownTokens, { body });
      expect([made.status, made.body.spec]).toEqual([201, body.spec]);
      return made.body.status.token as string;
    };
    const tokens = [await tokenFor(trustingClusterName), await tokenFor(trustingClusterName)];
    for (const token of tokens) {
      const user = await until('the API server knows the issuer', async () => await whoAmI(token), {
        timeoutMs: 90_000,
      });
      expect(user).toMatchObject({ username: alice });
    }
    for (const _ of world.replicas) expect(await whoAmI(await tokenFor('other'))).toBeUndefined();
  });

  it('shows the user to the commands of the page', async () => {
    const { stdout } = await asReader(commandsOf(sectionOf(page, section)));
    expect(stdout).toMatch(/^Username +platform-admin$/m);
  });

  it('names the token in its audit log', async () => {
    const user = await whoAmI(await tokenWith(clusters(trustingClusterName)));
    expect(user).toHaveProperty(
      ['extra', 'authentication.kubernetes.io/credential-id'],
      [expect.stringMatching(/^JTI=[0-9a-f-]{36}\.1\.[\w-]{22}$/)],
    );
  });

  it.each<[string, object | undefined, object | undefined]>([
    ['for another cluster', clusters('other'), clusters('*')],
    ['that is narrower than a cluster', narrow, clusters('*')],
    ['below a key that is narrower', clusters(trustingClusterName), narrow],
    ['for a project', { projects: [{ project: 'red' }] }, undefined],
    ['for nothing', {}, undefined],
  ])('refuses a token %s', async (_, scope, keyScope) => {
    const good = await tokenWith(clusters(trustingClusterName));
    await until('the API server knows the issuer', async () => await whoAmI(good), { timeoutMs: 90_000 });
    expect(await whoAmI(await tokenWith(scope, keyScope))).toBeUndefined();
  });

  it('refuses an access key', async () => {
    const { key } = await world.holder({ user: alice });
    expect(await whoAmI(key)).toBeUndefined();
  });
});
