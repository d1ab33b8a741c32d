import { asObject, asTexts, isObject, type JsonObject } from '../../api/json.ts';
import { group } from '../../api/names.ts';
import type { Platform } from '../gateway/platform.ts';
import { outputOption, readForm, show } from '../output/output.ts';
import { connect, connectionOptions } from '../session/connection.ts';
import type { CommandSpec, Context, Invocation } from '../shared/context.ts';
import { usage } from '../shared/failure.ts';
import { readTarget } from '../targets/targets.ts';

export const whoCan: CommandSpec = {
  name: 'who-can',
  summary: 'For administrators: lists who may use a target, and by which binding',
  details: [
    'It reads the roles and bindings of the platform, so your key must be allowed to. A scope of a key narrows further, and is not looked at. Other authorizers than RBAC are not seen.',
  ],
  arguments: [{ name: 'target', about: 'cluster/NAME, space/PROJECT/NAME or virtualcluster/PROJECT/NAME.' }],
  options: { ...connectionOptions, ...outputOption },
  examples: [
    { about: 'A virtual cluster', command: 'latchkey who-can virtualcluster/demo/shop' },
    { about: 'Their names alone', command: 'latchkey who-can cluster/staging -o name' },
  ],
  run,
};

interface Holder {
  readonly kind: string;
  readonly name: string;
  readonly binding: string;
}

async function run(invocation: Invocation, context: Context): Promise<undefined> {
  const form = readForm(invocation);
  const [wanted = ''] = invocation.positionals;
  const [kind = '', ...parts] = readTarget(wanted).name.split('/');
  const gateway = connect(invocation, context);
  const object = await objectOf(gateway, kind, parts);
  const holders = await findHolders(gateway, object);
  show<Holder>(
    {
      object: { kind: 'List', apiVersion: 'v1', items: holders },
      rows: holders,
      name: ({ kind: of, name }) => `${of.toLowerCase()}/${name}`,
      columns: [
        { title: 'KIND', cell: (holder) => holder.kind },
        { title: 'NAME', cell: ({ name }) => name },
        { title: 'BY', cell: ({ binding }) => binding },
      ],
      none: `No one may use ${wanted}.`,
    },
    form,
    context,
  );
  return undefined;
}

interface Wanted {
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
}

async function objectOf(gateway: Platform, kind: string, parts: readonly string[]): Promise<Wanted> {
  const [project = '', name = ''] = parts;
  if (kind === 'cluster') return { resource: 'clusters', namespace: '', name: project };
  if (kind === 'platform')
    throw usage(
      'RBAC of the platform itself says who may do what there',
      'Name a cluster, a space or a virtual cluster.',
    );
  const { projectNamespacePrefix } = asObject((await gateway.self())['status']);
  const resource = kind === 'space' ? 'spaceinstances' : 'virtualclusterinstances';
  return { resource, namespace: `${projectNamespacePrefix}${project}`, name };
}

const rbac = '/kubernetes/management/apis/rbac.authorization.k8s.io/v1';

async function findHolders(gateway: Platform, wanted: Wanted): Promise<readonly Holder[]> {
  const list = async (path: string) => {
    const { items } = await gateway.ask(`${rbac}/${path}`);
    return Array.isArray(items) ? items.filter(isObject) : [];
  };
  const { namespace } = wanted;
  const inNamespace = async (plural: string) =>
    namespace === '' ? [] : await list(`namespaces/${namespace}/${plural}`);
  const [clusterRoles, clusterBindings, roles, bindings] = await Promise.all([
    list('clusterroles'),
    list('clusterrolebindings'),
    inNamespace('roles'),
    inNamespace('rolebindings'),
  ]);
  const allowing = new Set([
    ...clusterRoles.filter((role) => allows(role, wanted)).map((role) => `ClusterRole/${nameOf(role)}`),
    ...roles.filter((role) => allows(role, wanted)).map((role) => `Role/${nameOf(role)}`),
  ]);
  return [
    ...clusterBindings.flatMap((binding) => holdersOf(binding, allowing, 'ClusterRoleBinding')),
    ...bindings.flatMap((binding) => holdersOf(binding, allowing, `RoleBinding in ${namespace}:`)),
  ];
}

const nameOf = (object: JsonObject): string => String(asObject(object['metadata'])['name'] ?? '');

function holdersOf(binding: JsonObject, allowing: ReadonlySet<string>, kind: string): readonly Holder[] {
  const { kind: of, name: role } = asObject(binding['roleRef']);
  if (!allowing.has(`${of}/${role}`)) return [];
  const subjects = Array.isArray(binding['subjects']) ? binding['subjects'].filter(isObject) : [];
  return subjects.map((subject) => ({
    kind: String(subject['kind']),
    name:
      subject['namespace'] === undefined
        ? String(subject['name'])
        : `${subject['namespace']}/${subject['name']}`,
    binding: `${kind} ${nameOf(binding)} (${of} ${role})`,
  }));
}

/** As RBAC reads a rule, for the verb `use`. */
export function allows(role: JsonObject, { resource, name }: Pick<Wanted, 'resource' | 'name'>): boolean {
  const rules = Array.isArray(role['rules']) ? role['rules'].filter(isObject) : [];
  return rules.some((rule) => {
    const has = (field: string, value: string) => {
      const given = asTexts(rule[field]);
      return given.includes(value) || given.includes('*');
    };
    const names = asTexts(rule['resourceNames']);
    const isNamed = names.length === 0 || names.includes(name);
    return has('verbs', 'use') && has('apiGroups', group) && has('resources', resource) && isNamed;
  });
}
