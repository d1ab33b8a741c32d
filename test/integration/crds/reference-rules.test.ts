import { describe, expect, it } from 'vitest';
import {
  clusters,
  directClusterEndpointTokens,
  ownedAccessKeys,
  type Resource,
  virtualClusterInstanceKubeConfigs,
} from '../../../src/api/resources.ts';
import { crdWorld, verdict } from './world.ts';

const world = await crdWorld();

interface Reference {
  readonly resource: Resource;
  readonly field: string;
  /** A complete reference. */
  readonly good: Readonly<Record<string, string>>;
}

const inNamespace = { namespace: 'apps', name: 'credential' };
const references: readonly Reference[] = [
  { resource: ownedAccessKeys, field: 'secretRef', good: inNamespace },
  { resource: directClusterEndpointTokens, field: 'secretRef', good: inNamespace },
  { resource: virtualClusterInstanceKubeConfigs, field: 'secretRef', good: { name: 'credential' } },
  { resource: clusters, field: 'kubeConfigSecretRef', good: inNamespace },
];

const namespaceRule = "must be the name of a namespace (lower-case letters, digits and '-')";
const nameRule = "must be the name of a Secret (lower-case letters, digits, '-' and '.')";
const keyRule = "must be a key of a Secret (letters, digits, '-', '_' and '.')";

describe.each(references)('$field of a $resource.kind', ({ resource, field, good }) => {
  const identity = resource === ownedAccessKeys ? { user: 'a' } : {};
  const judge = (reference: object): Promise<string> =>
    verdict(world.admin, resource, { ...identity, [field]: reference });
  const refusal = (member: string, value: string, rule: string): string =>
    `spec.${field}.${member}: Invalid value: "${value}": spec.${field}.${member} ${rule}`;

  it('may name a Secret and a key in it', async () => {
    expect(await judge(good)).toBe('accepted');
    expect(await judge({ ...good, key: 'kube_Config.yaml' })).toBe('accepted');
  });

  it.each(Object.keys(good))('needs its %s', async (member) => {
    const { [member]: _, ...rest } = good;
    expect(await judge(rest)).toBe(`spec.${field}.${member}: Required value`);
  });

  it.each(['', 'A', 'a_b', '-a', 'a/b', '../x'])('does not take the name "%s"', async (name) => {
    expect(await judge({ ...good, name })).toBe(refusal('name', name, nameRule));
  });

  it.each(['', '.', '..', 'a/b', 'a b'])('does not take the key "%s"', async (key) => {
    expect(await judge({ ...good, key })).toBe(refusal('key', key, keyRule));
  });
});

describe.each(references.filter(({ good }) => 'namespace' in good))(
  'namespace in $field of a $resource.kind',
  ({ resource, field, good }) => {
    it.each(['', 'A', 'a.b', '*'])('is refused as "%s"', async (namespace) => {
      const identity = resource === ownedAccessKeys ? { user: 'a' } : {};
      const spec = { ...identity, [field]: { ...good, namespace } };
      const at = `spec.${field}.namespace`;
      expect(await verdict(world.admin, resource, spec)).toBe(
        `${at}: Invalid value: "${namespace}": ${at} ${namespaceRule}`,
      );
    });
  },
);

describe.each([ownedAccessKeys, directClusterEndpointTokens, virtualClusterInstanceKubeConfigs])(
  'accessKey of a $kind',
  (resource) => {
    it('may be the name of an object', async () => {
      expect(await verdict(world.admin, resource, { accessKey: 'team-a.ci' })).toBe('accepted');
    });

    it.each(['', 'A', 'a/b', '.a'])('is refused as "%s"', async (accessKey) => {
      const identity = resource === ownedAccessKeys ? { user: 'a' } : {};
      expect(await verdict(world.admin, resource, { ...identity, accessKey })).toBe(
        `spec.accessKey: Invalid value: "${accessKey}": spec.accessKey must be the name of an OwnedAccessKey (lower-case letters, digits, '-' and '.')`,
      );
    });
  },
);
