import path from 'node:path';
import { parse } from 'yaml';
import type { Helm } from '../../clients/helm.ts';
import type { Rendered } from '../../integration/config/render.ts';

const charts = path.resolve(import.meta.dirname, '../../../charts');
export const chartFolder = path.join(charts, 'latchkey');
export const endpointChartFolder = path.join(charts, 'latchkey-direct-endpoint');
const baseURL = 'https://latchkey.example.com';

/** Values for a chart that no one has configured. */
export const required = [`--set=baseURL=${baseURL}`];

/** Renders the chart of the platform with `helm template`. */
export const template = async (helm: Helm, ...args: readonly string[]): Promise<readonly Rendered[]> =>
  await templateOf(helm, chartFolder, [...required, ...args]);

/** Renders any chart. */
export async function templateOf(
  helm: Helm,
  folder: string,
  args: readonly string[],
): Promise<readonly Rendered[]> {
  const version = args.some((arg) => arg.startsWith('--kube-version')) ? [] : ['--kube-version=1.36.3'];
  const text = await helm.ok('/dev/null', ['template', 'latchkey', folder, ...version, ...args]);
  const objects = text.split(/^---$/m).map((document) => structuredClone(read(document)));
  return objects.filter((object) => object !== null);
}

const known = new Map<string, Rendered | null>();

/** Most documents are the same with other values, and some are CRDs, which take long to read. */
function read(document: string): Rendered | null {
  const present = known.get(document);
  if (present !== undefined) return present;
  const object: Rendered | null = parse(document);
  known.set(document, object);
  return object;
}

/** An object without what differs between the two forms. */
export function withoutForm(object: Rendered): Rendered {
  const { 'helm.sh/resource-policy': _, ...annotations } = object.metadata.annotations ?? {};
  const named = { ...object.metadata, name: withoutHash(object.metadata.name) };
  const copy: Rendered = structuredClone({ ...object, metadata: { ...named, annotations } });
  const pod = copy['spec']?.template;
  if (pod?.spec?.containers === undefined) return copy;
  // The chart has the hash of the settings in the pods, and the kustomization in the name of the ConfigMap.
  delete pod.metadata.annotations;
  for (const { envFrom = [] } of pod.spec.containers)
    for (const { configMapRef } of envFrom) configMapRef.name = withoutHash(configMapRef.name);
  return copy;
}

const withoutHash = (name: string): string => name.replace(/^(latchkey-settings)-\w{10}$/, '$1');

const placeOf = ({ kind, metadata }: Rendered): string =>
  `${kind}/${metadata.namespace ?? ''}/${metadata.name}`;

export const inOrder = (objects: readonly Rendered[]): readonly Rendered[] =>
  objects.toSorted((one, other) => (placeOf(one) < placeOf(other) ? -1 : 1));
