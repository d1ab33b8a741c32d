import { describe, expect, it } from 'vitest';
import { ownNamespaces } from '../../../src/api/names.ts';
import { virtualClusterInstanceKubeConfigs, virtualClusterInstances } from '../../../src/api/resources.ts';
import { collectionPath } from '../../../src/kube/resource-path.ts';
import { objectOf } from '../admission/objects.ts';
import { admissionWorld } from '../admission/world.ts';

const kubeConfig = { virtualClusterInstance: 'usable', accessKey: 'parent', secretRef: { name: 'mine' } };

describe.each(ownNamespaces)(
  'an administrator of the cluster, in %s, where Latchkey keeps its own Secrets,',
  async (namespace) => {
    const world = await admissionWorld();
    // It may be there already: files share a control plane.
    await world.plane.kubectl(['create', 'namespace', namespace]);
    const send = (resource: typeof virtualClusterInstances, spec: Record<string, unknown>) => {
      const object = objectOf(resource, spec, { namespace });
      return world.admin.send('POST', collectionPath(resource, namespace), {
        body: object,
        query: { dryRun: 'All' },
      });
    };

    it.each([
      ['a named Secret', { kubeConfigSecretRef: { name: 'latchkey-target-1', key: 'token' } }],
      ['the default Secret', {}],
    ])('makes no instance for %s', async (_what, spec) => {
      const { status, body } = await send(virtualClusterInstances, spec);
      expect([status, body.message]).toEqual([
        403,
        expect.stringContaining('the Secret must not be in latchkey-system or latchkey-targets'),
      ]);
    });

    it('has no kubeconfig written', async () => {
      const { status, body } = await send(virtualClusterInstanceKubeConfigs, kubeConfig);
      expect([status, body.message]).toEqual([
        403,
        expect.stringContaining('the Secret must not be in latchkey-system or latchkey-targets'),
      ]);
    });
  },
);
