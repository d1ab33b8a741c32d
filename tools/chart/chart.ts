import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { stringify } from 'yaml';
import { systemNamespace } from '../../src/api/names.ts';
import { version } from '../../src/version.ts';
import { type KubeManifest, renderKustomization } from '../install/kustomization.ts';
import { documents, Slots, when } from './template.ts';
import { placeValues } from './value-places.ts';
import { type ChartValue, chartValues, type ShippedDefaults } from './values.ts';
import { valuesSchema, valuesYaml } from './values-files.ts';

const root = path.resolve(import.meta.dirname, '../..');
/** Parts of the chart that `config/` has nothing of: what leads to the gateway, names, and what Helm prints in the end. */
const ownTemplates = path.join(import.meta.dirname, 'templates');
const header = '# Written by `npm run generate` from config/ and crds/. Do not edit.\n';

const config = (name: string): readonly KubeManifest[] =>
  renderKustomization(path.join(root, 'config', name));

/** Every value of the chart, with the defaults that `config/` has. */
export const allChartValues = (): readonly ChartValue[] => chartValues(shippedDefaults(config('default')));

/** Every file of charts/latchkey by its path in there. */
export function chartFiles(): ReadonlyMap<string, string> {
  const values = allChartValues();
  const own = readdirSync(ownTemplates).map((name): [string, string] => [
    `templates/${name}`,
    readFileSync(path.join(ownTemplates, name), 'utf8'),
  ]);
  return new Map([
    ['Chart.yaml', chartYaml()],
    ['values.yaml', valuesYaml(values)],
    ['values.schema.json', valuesSchema(values)],
    ...templates(),
    ...own,
  ]);
}

function chartYaml(): string {
  const { description, license } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));
  const chart = {
    ...{ apiVersion: 'v2', name: 'latchkey', type: 'application', description },
    ...{ version, appVersion: version },
    annotations: { 'artifacthub.io/license': license },
  };
  return `${header.replace('config/ and crds/', 'package.json')}${stringify(chart, { lineWidth: 0 })}`;
}

function templates(): readonly [string, string][] {
  const slots = new Slots();
  const groups = Map.groupBy(
    [...config('default'), ...config('monitoring'), ...config('site-policy')],
    fileFor,
  );
  return [...groups].map(([file, objects]) => {
    const texts = objects.map((object) => {
      placeValues(object, slots);
      const condition = conditionFor(object);
      const text = slots.render(object);
      return condition === undefined ? text : when(condition, text);
    });
    return [`templates/${file}.yaml`, header + documents(texts)];
  });
}

function fileFor({ kind, apiVersion, metadata }: KubeManifest): string {
  if (kind === 'Namespace') return 'namespaces';
  if (kind === 'CustomResourceDefinition') return 'definitions';
  if (apiVersion.startsWith('admissionregistration.k8s.io/')) return 'policies';
  if (apiVersion.startsWith('rbac.authorization.k8s.io/') || kind === 'ServiceAccount') return 'rights';
  if (apiVersion.startsWith('monitoring.coreos.com/') || metadata.name === 'latchkey-dashboard')
    return 'monitoring';
  if (kind === 'ConfigMap') return metadata.name === 'latchkey-site-policy' ? 'site-policy' : 'settings';
  return metadata.name === 'latchkey-gateway' ? 'gateway' : 'operator';
}

/** Objects that only some installations have. */
function conditionFor(object: KubeManifest): string | undefined {
  const { name } = object.metadata;
  if (object.kind === 'HorizontalPodAutoscaler') return '.Values.gateway.autoscaling.enabled';
  // Helm makes the namespace of the release itself, and would find it there.
  if (object.kind === 'Namespace') return `ne .Release.Namespace "${name}"`;
  const file = fileFor(object);
  if (file === 'monitoring') return '.Values.monitoring.enabled';
  return file === 'site-policy' ? '.Values.sitePolicy.enabled' : undefined;
}

function shippedDefaults(objects: readonly KubeManifest[]): ShippedDefaults {
  const find = (kind: string, name: string): KubeManifest => {
    const found = objects.find((object) => object.kind === kind && object.metadata.name === name);
    if (found === undefined) throw new Error(`config/default has no ${kind} ${name} in ${systemNamespace}`);
    return found;
  };
  const workload = (name: string) => {
    const { replicas, template } = find('Deployment', name)['spec'];
    const [{ image, resources, env }] = template.spec.containers;
    return { image, replicas, resources, nodeOptions: env[0].value };
  };
  const operator = workload('latchkey-operator');
  const { minReplicas, maxReplicas, metrics } = find('HorizontalPodAutoscaler', 'latchkey-gateway')['spec'];
  const [sitePolicy] = config('site-policy');
  return {
    image: operator.image.slice(0, operator.image.lastIndexOf(':')),
    operator,
    gateway: workload('latchkey-gateway'),
    autoscaler: { min: minReplicas, max: maxReplicas, cpu: metrics[0].resource.target.averageValue },
    sitePolicy: sitePolicy?.['data'],
  };
}
