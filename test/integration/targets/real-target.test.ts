import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ControlPlaneAccess } from '../../../lab/controlplane/access.ts';
import { sharedControlPlane } from '../../../lab/controlplane/shared.ts';
import {
  clusterRoleBindings,
  clusterRoles,
  configMaps,
  namespaces,
  secrets,
  serviceAccounts,
} from '../../../src/api/resources.ts';
import type { KubeClient } from '../../../src/kube/client/client.ts';
import { isAlreadyExists, isConflict, isNotFound } from '../../../src/kube/kube-error.ts';
import { targetProblemOf } from '../../../src/platform/targets/target-problem.ts';
import { TargetWorld } from '../../component/targets/target-world.ts';

let plane: ControlPlaneAccess;
let world: TargetWorld;
let client: KubeClient;
const name = `target-${randomBytes(4).toString('hex')}`;
const key = { namespace: 'default', name };

const reasonOf = (work: Promise<unknown>) =>
  work.then(
    () => 'it worked',
    (error: unknown) => targetProblemOf(error)?.reason,
  );

const clientFor = async (kubeconfig: string): Promise<KubeClient> => {
  world.put(await readFile(kubeconfig));
  return (await world.openTarget()).client;
};

beforeAll(async () => {
  plane = await sharedControlPlane();
  world = new TargetWorld({ allowed: ['127.0.0.1/32'] });
  client = await clientFor(plane.adminKubeconfig);
});

afterAll(async () => {
  await client?.delete(serviceAccounts, key).catch(() => undefined);
  await world?.clients.close();
});

describe('a real API server', () => {
  it('is spoken to with what kubectl makes of its kubeconfig', async () => {
    for (const args of [
      ['--minify', '--flatten', '--raw'],
      ['--raw', '-o', 'json'],
    ]) {
      const { stdout } = await plane.kubectl(['config', 'view', ...args]);
      world.put(Buffer.from(stdout));
      client = (await world.openTarget()).client;
      expect(await client.request('GET', '/version')).toMatchObject({ major: '1' });
    }
  });

  it('answers in the shapes that are asked for', async () => {
    const account = await client.create(serviceAccounts, { metadata: { name } }, { namespace: 'default' });
    expect(await client.get(serviceAccounts, key)).toEqual(account);
    for (const resource of [namespaces, clusterRoles, clusterRoleBindings, secrets, configMaps])
      expect((await client.list(resource)).items).toBeInstanceOf(Array);
    const empty = await client.list(configMaps, { namespace: 'default', labelSelector: 'no=such' });
    expect(empty.items).toEqual([]);
    await client.apply(
      serviceAccounts,
      key,
      { ...serviceAccount, metadata: { name } },
      { fieldManager: 'tester' },
    );
    await client.mergePatch(serviceAccounts, key, { metadata: { labels: { a: 'b' } } });
    const review = { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview', spec: all };
    const reviewed = client.request('POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', {
      body: review,
    });
    expect(await reviewed).toMatchObject({ status: { allowed: true } });
  });

  it('is told apart by what it refuses', async () => {
    const missing = { namespace: 'default', name: 'no-such' };
    const failure = (work: Promise<unknown>) => work.catch((error: unknown) => error);
    expect(isNotFound(await failure(client.get(configMaps, missing)))).toBe(true);
    expect(isNotFound(await failure(client.delete(configMaps, missing)))).toBe(true);
    const again = client.create(serviceAccounts, { metadata: { name } }, { namespace: 'default' });
    expect(isAlreadyExists(await failure(again))).toBe(true);
    const other = { metadata: { uid: '00000000-0000-0000-0000-000000000000' } };
    expect(isConflict(await failure(client.mergePatch(serviceAccounts, key, other)))).toBe(true);
  });

  it('gives tokens that speak for somebody else', async () => {
    const body = {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: { expirationSeconds: 600 },
    };
    const request = `/api/v1/namespaces/default/serviceaccounts/${name}/token`;
    const { status } = await client.request<{ status: { token: string } }>('POST', request, { body });
    const { config } = await world.openTarget();
    const other = world.clients.as(config, status.token);
    expect(await reasonOf(other.list(secrets))).toBe('TargetForbidden');
    expect(await other.request('GET', '/version')).toMatchObject({ major: '1' });
    await other.close();
  });

  it('says by its refusals what is wrong with the credentials', async () => {
    const unknown = await clientFor(await plane.kubeconfigWithToken('nobody', 'not-a-token'));
    expect(await reasonOf(unknown.list(secrets))).toBe('TargetUnauthorized');
    const powerless = await clientFor(await plane.kubeconfigFor('powerless'));
    expect(await reasonOf(powerless.list(secrets))).toBe('TargetForbidden');
  });
});

const serviceAccount = { apiVersion: 'v1', kind: 'ServiceAccount' };
const all = { resourceAttributes: { verb: '*', resource: '*', group: '*' } };
