import { manifestOf } from '../../../lab/operator/manifest.ts';
import type { VirtualCluster } from '../../../lab/operator/virtual-cluster.ts';
import type { World } from '../../../lab/operator/world.ts';
import { virtualClusterInstanceKubeConfigs as kubeConfigs } from '../../../src/api/resources.ts';
import { collectionPath } from '../../../src/kube/resource-path.ts';
import { Project } from '../../e2e/kubeconfigs/kubeconfig-world.ts';
import { give } from '../../e2e/rights/people.ts';
import { type Attempt, forged, forgedChange, type Made, type Trial } from './crowd.ts';

export interface KubeConfigTrial extends Trial {
  /** Whether the maker holds the verbs on the instance that this takes. */
  mayUse(made: Made): boolean;
}

/** Makes what is in the hands of those who may have none: they try to change it. */
const administrator = 'platform-admin';
const life = { certificateTTL: 600 };
const secretRef = { name: 'out' };

const attempts: readonly Attempt[] = [
  [kubeConfigs, life, {}],
  [kubeConfigs, { ...life, clientCert: true }, {}],
  [kubeConfigs, life, forged],
  [kubeConfigs, { ...life, clientCert: true }, forged],
  [kubeConfigs, { ...life, secretRef }, {}],
  [kubeConfigs, { ...life, secretRef }, forged],
];

const withCertificate = ['use', 'use-as-admin'];
const neededFor = ({ object: { spec } }: Made): readonly string[] =>
  spec.clientCert === true ? withCertificate : ['use'];

/** The first of the people may use the instance of a project, the second may have certificates as well, the others may do neither. */
export async function kubeConfigTrial(
  world: World,
  cluster: VirtualCluster,
  people: readonly string[],
): Promise<KubeConfigTrial> {
  const project = await Project.ready(world, cluster);
  const verbs = new Map<string, readonly string[]>([[administrator, withCertificate]]);
  for (const [index, name] of people.slice(0, 2).entries()) {
    const held = index === 0 ? ['use'] : withCertificate;
    verbs.set(name, held);
    const resources = ['virtualclusterinstances'];
    await give(world, name, { apiGroups: ['management.platform.sh'], resources, verbs: held });
  }
  const { namespace, instance } = project;
  const tryCreate: Trial['tryCreate'] = async (person, _name, [resource, spec, metadata]) => {
    const placed = { virtualClusterInstance: instance.metadata.name, ...spec };
    const body = manifestOf(resource, placed, { namespace, ...metadata });
    return await person.client.send('POST', collectionPath(resource, namespace), { body });
  };
  return {
    attempts,
    tryCreate,
    own: async (person, name) => {
      const isUser = verbs.get(name)?.includes('use') === true;
      if (isUser) return { by: name, object: (await tryCreate(person, name, [kubeConfigs, life, {}])).body };
      return { by: administrator, object: await project.create({ ...life, clientCert: false }) };
    },
    widen: async (person, own) =>
      await person.patch(own, kubeConfigs, { metadata: forgedChange, spec: { secretRef } }),
    mayUse: (made) => neededFor(made).every((verb) => verbs.get(made.by)?.includes(verb)),
  };
}
