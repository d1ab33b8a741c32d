import { readFileSync } from 'node:fs';
import path from 'node:path';
import { systemNamespace, systemObjects } from '../../src/api/names.ts';
import type { KubeManifest } from '../install/kustomization.ts';
import { config, defaultsOf, filesOf, templatesOf } from './chart-files.ts';
import { placeValues } from './value-places.ts';
import { type ChartValue, chartValues, type ShippedDefaults } from './values.ts';

const root = path.resolve(import.meta.dirname, '../..');

/** Every value of the chart, with the defaults that `config/` has. */
export const allChartValues = (): readonly ChartValue[] => chartValues(shippedDefaults(config('default')));

/** Every file of charts/latchkey by its path in there. */
export function chartFiles(): ReadonlyMap<string, string> {
  const objects = [
    ...config('default'),
    ...config('monitoring'),
    ...config('site-policy'),
    ...config('cluster-profiles'),
  ];
  return filesOf({
    name: 'latchkey',
    description: JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')).description,
    values: allChartValues(),
    valuesSource: 'tools/chart/values.ts',
    ownTemplates: path.join(import.meta.dirname, 'templates'),
    templates: templatesOf(objects, { placeValues, fileFor, conditionFor }),
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
  if (name === systemObjects.clusterProfilesRole) return '.Values.clusterProfiles.namespace';
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
  const operator = defaultsOf(find('Deployment', 'latchkey-operator'));
  const { minReplicas, maxReplicas, metrics } = find('HorizontalPodAutoscaler', 'latchkey-gateway')['spec'];
  const [sitePolicy] = config('site-policy');
  return {
    image: operator.image,
    operator,
    gateway: defaultsOf(find('Deployment', 'latchkey-gateway')),
    autoscaler: { min: minReplicas, max: maxReplicas, cpu: metrics[0].resource.target.averageValue },
    sitePolicy: sitePolicy?.['data'],
  };
}
