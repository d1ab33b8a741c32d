import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ControlPlane, startControlPlane } from '../../../lab/controlplane/control-plane.ts';
import type { Stored } from '../../../lab/operator/api.ts';
import { manifestOf } from '../../../lab/operator/manifest.ts';
import { virtualCluster } from '../../../lab/operator/virtual-cluster.ts';
import { operatorWorld } from '../../../lab/operator/world.ts';
import { annotations } from '../../../src/api/names.ts';
import { virtualClusterInstanceKubeConfigs } from '../../../src/api/resources.ts';
import { collectionPath } from '../../../src/kube/resource-path.ts';
import { Project } from '../../e2e/kubeconfigs/kubeconfig-world.ts';
import { give, introduce, type Person } from '../../e2e/rights/people.ts';
import { targetSettings } from '../../e2e/targets/target-world.ts';
import {
  type Attempt,
  type CrowdOptions,
  casesOf,
  expectJustice,
  forged,
  forgedChange,
  type Made,
  stamps,
  whileAway,
} from './crowd.ts';

const plane: ControlPlane = await startControlPlane({ name: 'second-look-kubeconfigs' });
afterAll(async () => await plane.stop());
const world = await operatorWorld({ plane, clear: false, env: targetSettings });
const cluster = await virtualCluster();

/** Three may use the instance, three may have certificates as well, and four may do neither. */
const verbs = new Map<string, readonly string[]>(
  Array.from({ length: 10 }, (_, index) => [
    `stranger-${index}`,
    index < 3 ? ['use'] : index < 6 ? ['use', 'use-as-admin'] : [],
  ]),
);
const people = new Map<string, Person>();
let project: Project;

beforeAll(async () => {
  project = await Project.ready(world, cluster);
  for (const [name, held] of verbs) {
    const resources = ['virtualclusterinstances'];
    if (held.length > 0)
      await give(world, name, { apiGroups: ['management.platform.sh'], resources, verbs: held });
    people.set(name, inProject(await introduce(world, name)));
  }
}, 120_000);

/** Their kubeconfigs are in the namespace of the project, for its instance. */
function inProject(person: Person): Person {
  const { namespace } = project;
  const placed = (spec: object) => ({ virtualClusterInstance: project.instance.metadata.name, ...spec });
  return {
    ...person,
    tryCreate: async (resource, spec, metadata) => {
      const body = manifestOf(resource, placed(spec), { namespace, ...metadata });
      return await person.client.send('POST', collectionPath(resource, namespace), { body });
    },
  };
}

const kubeConfigs = virtualClusterInstanceKubeConfigs;
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

/** What the administrator made for those who may have none: they try to change it. */
const given = new Set<string>();

/** Whether the maker holds the verbs on the instance, and wants nothing else. */
function mayHave({ by, object: { metadata, spec } }: Made): boolean {
  if (spec.secretRef !== undefined) return false;
  if (given.has(metadata.uid)) return true;
  const held = verbs.get(by) ?? [];
  const needed = spec.clientCert === true ? ['use', 'use-as-admin'] : ['use'];
  return metadata.annotations?.[annotations.requester] === by && needed.every((verb) => held.includes(verb));
}

const crowd = (): CrowdOptions => ({
  plane,
  world,
  people,
  attempts,
  own: async (person) => {
    const made = await person.tryCreate(kubeConfigs, life, {});
    if (made.status === 201) return made.body as Stored;
    const object = await project.create({ ...life, clientCert: false });
    given.add(object.metadata.uid);
    return object;
  },
  widen: async (person, own) =>
    await person.patch(own, kubeConfigs, { metadata: forgedChange, spec: { secretRef } }),
});

const cases = [
  ...casesOf(['latchkey-instance-use', 'latchkey-secret-reference', 'latchkey-ownership']),
  { title: 'the stamps', away: stamps },
];

describe('while ten users try to have kubeconfigs', () => {
  it.each(cases)(
    'none is confirmed that the policies would refuse, without $title',
    async ({ title, away }) => {
      const made = await whileAway(away, crowd());
      // Of the others none lets through by itself what is no one's right.
      if (/instance-use|secret-reference|^the stamps/.test(title)) expect(made.every(mayHave)).toBe(false);
      await expectJustice(world, made, mayHave);
    },
    180_000,
  );
});
