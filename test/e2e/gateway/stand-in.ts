import { readFile } from 'node:fs/promises';
import { parseAllDocuments } from 'yaml';
import { configFolder } from '../../../lab/operator/kustomization.ts';
import { accountKubeconfig } from '../../../lab/operator/running-operator.ts';
import type { World } from '../../../lab/operator/world.ts';
import {
  clusterRoleBindings,
  clusterRoles,
  type Resource,
  roleBindings,
  serviceAccounts,
} from '../../../src/api/resources.ts';
import { type ApiClient, clientWith } from './api-client.ts';

interface Rule {
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
  readonly verbs: readonly string[];
}

/** One verb on one resource, by one name where the role has names. */
interface Right {
  /** `secrets list in latchkey-targets` */
  readonly label: string;
  /** Empty: in the whole cluster. */
  readonly namespace: string;
  readonly rule: Rule;
}

const api = 'rbac.authorization.k8s.io';
const roles: Resource = { ...roleBindings, plural: 'roles', kind: 'Role' };

/** The rights that the roles of a file of `config/gateway` give. */
export async function shippedRights(file: string): Promise<readonly Right[]> {
  const text = await readFile(`${configFolder}/gateway/${file}`, 'utf8');
  return parseAllDocuments(text)
    .map((one) => one.toJS())
    .filter(({ kind }) => kind === 'ClusterRole' || kind === 'Role')
    .flatMap(({ metadata: { namespace = '' }, rules }) => rules.flatMap(rightsIn(namespace)));
}

const rightsIn =
  (namespace: string) =>
  ({ apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [], verbs }: Rule): Right[] =>
    verbs.flatMap((verb) => [
      ...nonResourceURLs.map((url) => ({
        label: `/${url} ${verb}`,
        namespace,
        rule: { nonResourceURLs: [url], verbs: [verb] },
      })),
      ...resources.flatMap((resource) => {
        const rule = { apiGroups, resources: [resource], verbs: [verb] };
        const where = namespace === '' ? verb : `${verb} in ${namespace}`;
        if (resourceNames.length === 0) return [{ label: `${resource} ${where}`, namespace, rule }];
        return resourceNames.map((name) => ({
          ...{ label: `${resource} ${name} ${where}`, namespace },
          rule: { ...rule, resourceNames: [name] },
        }));
      }),
    ]);

/** A client of a new account with these rights and no others. */
export async function accountWith(world: World, rights: readonly Right[]): Promise<ApiClient> {
  const { admin, plane } = world;
  const name = world.name('stand-in');
  await admin.createObject(serviceAccounts, {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name, namespace: 'latchkey-system' },
  });
  for (const [namespace, its] of Map.groupBy(rights, (right) => right.namespace))
    await bind(world, { name, namespace, rules: its?.map(({ rule }) => rule) ?? [] });
  return await clientWith(await accountKubeconfig(plane, name));
}

interface Granted {
  readonly name: string;
  readonly namespace: string;
  readonly rules: readonly Rule[];
}

async function bind({ admin }: World, { name, namespace, rules }: Granted): Promise<void> {
  const isOfCluster = namespace === '';
  const kind = isOfCluster ? 'ClusterRole' : 'Role';
  const metadata = isOfCluster ? { name } : { name, namespace };
  await admin.createObject(isOfCluster ? clusterRoles : roles, {
    ...{ apiVersion: `${api}/v1`, kind, metadata, rules },
  });
  await admin.createObject(isOfCluster ? clusterRoleBindings : roleBindings, {
    ...{ apiVersion: `${api}/v1`, kind: `${kind}Binding`, metadata },
    roleRef: { apiGroup: api, kind, name },
    subjects: [{ kind: 'ServiceAccount', name, namespace: 'latchkey-system' }],
  });
}
