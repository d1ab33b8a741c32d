import { asObject, defined, type JsonObject } from '../../../api/json.ts';
import { clusters, spaceInstances, virtualClusterInstances } from '../../../api/resources.ts';
import { metadataOf } from '../shared/list-options.ts';

/** The columns of the kinds, as the `additionalPrinterColumns` of crds/ have them; a test compares the two. */
export const printedColumns: Readonly<Record<string, readonly (readonly [name: string, path: string])[]>> = {
  [virtualClusterInstances.plural]: [
    ['Cluster', 'spec.clusterRef.cluster'],
    ['Endpoint', 'status.endpoint'],
    ['State', 'status.state'],
  ],
  [spaceInstances.plural]: [
    ['Cluster', 'spec.clusterRef.cluster'],
    ['Namespace', 'spec.clusterRef.namespace'],
    ['State', 'status.state'],
  ],
  [clusters.plural]: [
    ['Direct Endpoint', 'spec.directEndpoint.host'],
    ['State', 'status.state'],
  ],
};

interface TableOptions {
  readonly plural: string;
  readonly included: string | null;
  readonly now: number;
  readonly metadata?: JsonObject;
}

/** Objects as a Table, as the API server would make it. */
export function targetTable(
  objects: readonly JsonObject[],
  { plural, included, now, metadata = {} }: TableOptions,
): JsonObject {
  const columns = printedColumns[plural] ?? [];
  const rows = objects.map((object) => {
    const { name, creationTimestamp } = asObject(object['metadata']);
    const cells = [
      name,
      ...columns.map(([, path]) => read(object, path)),
      ageOf(String(creationTimestamp), now),
    ];
    const shown = included === 'Object' ? object : metadataOf(object);
    return defined({ cells, object: included === 'None' ? undefined : shown });
  });
  const columnDefinitions = [
    column('Name', 'name', 'Name of the object.'),
    ...columns.map(([name]) => column(name)),
    column('Age', '', 'Time since the object was made.'),
  ];
  return { kind: 'Table', apiVersion: 'meta.k8s.io/v1', metadata, columnDefinitions, rows };
}

const column = (name: string, format = '', description = ''): JsonObject => ({
  ...{ name, type: 'string', format, description, priority: 0 },
});

/** A field that is not there has an empty cell. */
const read = (object: JsonObject, path: string): unknown =>
  path.split('.').reduce<unknown>((part, name) => asObject(part)[name], object) ?? '';

/** The time since an instant, as short as in the tables of the API server. */
export function ageOf(created: string, now: number): string {
  const seconds = Math.max(0, Math.floor((now - Date.parse(created)) / 1_000));
  if (Number.isNaN(seconds)) return '<unknown>';
  const units = [
    ['s', 1, 120],
    ['m', 60, 180],
    ['h', 3_600, 48],
    ['d', 86_400, 730],
  ] as const;
  const [unit, length] = units.find(([, each, max]) => seconds < each * max) ?? ['y', 31_536_000];
  return `${Math.floor(seconds / length)}${unit}`;
}
