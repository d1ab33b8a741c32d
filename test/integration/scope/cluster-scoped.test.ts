import { beforeAll, describe, expect, it } from 'vitest';
import type { ControlPlaneAccess } from '../../../lab/controlplane/access.ts';
import { sharedControlPlane } from '../../../lab/controlplane/shared.ts';
import { isClusterScoped } from '../../../src/scope/requests/resource-tables.ts';

let plane: ControlPlaneAccess;

beforeAll(async () => {
  plane = await sharedControlPlane();
});

/** As `resource` or `resource.group`. */
async function served(namespaced: boolean): Promise<readonly (readonly [string, string])[]> {
  const { stdout } = await plane.kubectl(['api-resources', `--namespaced=${namespaced}`, '--output=name']);
  const names = stdout.split('\n').filter((line) => line !== '');
  return names.map((name) => {
    const [resource = '', ...group] = name.split('.');
    return [group.join('.'), resource] as const;
  });
}

describe('resources without a namespace', () => {
  it('are all known that Kubernetes itself serves', async () => {
    const ofKubernetes = (await served(false)).filter(([group]) => group === '' || group.endsWith('.k8s.io'));
    expect(ofKubernetes.length).toBeGreaterThan(20);
    expect(ofKubernetes.filter(([group, resource]) => !isClusterScoped(group, resource))).toEqual([]);
  });

  it('are none that have one', async () => {
    const namespaced = await served(true);
    expect(namespaced.length).toBeGreaterThan(20);
    expect(namespaced.filter(([group, resource]) => isClusterScoped(group, resource))).toEqual([]);
  });
});
