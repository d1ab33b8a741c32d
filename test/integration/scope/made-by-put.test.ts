import { beforeAll, describe, expect, it } from 'vitest';
import type { ControlPlaneAccess } from '../../../lab/controlplane/access.ts';
import { sharedControlPlane } from '../../../lab/controlplane/shared.ts';
import { createKubeClient, type KubeClient } from '../../../src/kube/client/client.ts';
import { kubeConfigSource } from '../../../src/kube/client/kube-config.ts';
import { KubeError } from '../../../src/kube/kube-error.ts';
import { isMadeByPut } from '../../../src/scope/requests/resource-tables.ts';

interface Served {
  readonly group: string;
  readonly version: string;
  readonly name: string;
  readonly kind: string;
  readonly namespaced: boolean;
}

interface ResourceList {
  readonly groupVersion: string;
  readonly resources: readonly (Omit<Served, 'group' | 'version'> & { readonly verbs: readonly string[] })[];
}

let plane: ControlPlaneAccess;
let client: KubeClient;

beforeAll(async () => {
  plane = await sharedControlPlane();
  const kubeConfig = kubeConfigSource({ file: plane.adminKubeconfig });
  client = createKubeClient({ kubeConfig, userAgent: 'latchkey-test' });
  return async () => await client.close();
});

/** Everything of Kubernetes itself that takes a PUT. */
async function replaceable(): Promise<readonly Served[]> {
  const { groups } = await client.request<{ groups: { versions: { groupVersion: string }[] }[] }>(
    'GET',
    '/apis',
  );
  const paths = groups.flatMap(({ versions }) => versions.map(({ groupVersion }) => `/apis/${groupVersion}`));
  const lists = await Promise.all(
    ['/api/v1', ...paths].map((path) => client.request<ResourceList>('GET', path)),
  );
  return lists.flatMap(({ groupVersion, resources }) => {
    const [version = '', group = ''] = groupVersion.split('/').reverse();
    return resources
      .filter(({ name, verbs }) => !name.includes('/') && verbs.includes('update'))
      .map((resource) => ({ ...resource, group, version }));
  });
}

/** The status of a PUT to a name that nothing has. */
async function putNothing({ group, version, name: plural, kind, namespaced }: Served): Promise<number> {
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  const path = `${root}/${namespaced ? 'namespaces/default/' : ''}${plural}/latchkey-none`;
  const metadata = { name: 'latchkey-none', ...(namespaced && { namespace: 'default' }) };
  const apiVersion = group === '' ? version : `${group}/${version}`;
  const query = new URLSearchParams({ dryRun: 'All' });
  try {
    await client.request('PUT', path, { query, body: { apiVersion, kind, metadata } });
    return 201;
  } catch (error) {
    if (error instanceof KubeError && error.status !== undefined) return error.status;
    throw error;
  }
}

describe('a PUT', () => {
  it('makes objects of exactly the kinds of Kubernetes that are known for it', async () => {
    const resources = (await replaceable()).filter(
      ({ group }) => !group.includes('.') || group.endsWith('.k8s.io'),
    );
    expect(resources.length).toBeGreaterThan(40);
    const made: string[] = [];
    for (const resource of resources) {
      // Faults of the object are found only where it would be made.
      if ((await putNothing(resource)) !== 404) made.push(`${resource.name}.${resource.group}`);
    }
    const known = resources.filter(({ group, name }) => isMadeByPut(group, name));
    expect(made).toEqual(known.map(({ name, group }) => `${name}.${group}`));
  });
});
