import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import { directEndpoint } from '../../../src/api/names.ts';
import type { KubeManifest } from '../../install/kustomization.ts';
import { config, defaultsOf, filesOf, templatesOf } from '../chart-files.ts';
import type { Slots } from '../template.ts';
import { alerts, monitored, service, workload } from '../value-places.ts';
import type { ChartValue } from '../values.ts';
import { endpointValues } from './values.ts';

const name = 'latchkey-direct-endpoint';
const root = path.resolve(import.meta.dirname, '../../..');
/** From this version on the cluster has constrained impersonation. */
const isCurrent = 'semverCompare ">=1.36.0-0" $.Capabilities.KubeVersion.Version';

/** Every value of the chart, with the defaults that `config/` has. */
export function allEndpointValues(): readonly ChartValue[] {
  const deployment = find(config('direct-endpoint'), 'Deployment');
  const [agentSecret, certificateSecret] = ['agent', 'tls'].map(
    (volume) => secretOf(deployment, volume).secretName,
  );
  return endpointValues({ ...defaultsOf(deployment), agentSecret, certificateSecret });
}

/** Every file of charts/latchkey-direct-endpoint by its path in there. */
export function endpointChartFiles(): ReadonlyMap<string, string> {
  const parts = ['direct-endpoint', 'direct-endpoint-monitoring', 'direct-endpoint-webhook'];
  const objects = parts.flatMap((part) => config(part));
  return filesOf({
    name,
    description: 'Lets people reach a connected cluster of a Latchkey platform without the platform between',
    values: allEndpointValues(),
    valuesSource: 'tools/chart/direct-endpoint/values.ts',
    ownTemplates: path.join(import.meta.dirname, 'templates'),
    templates: templatesOf(objects, { placeValues, fileFor, conditionFor }),
  });
}

function find(objects: readonly KubeManifest[], kind: string): KubeManifest {
  const found = objects.find((object) => object.kind === kind);
  if (found === undefined) throw new Error(`config/direct-endpoint has no ${kind}`);
  return found;
}

const secretOf = (deployment: KubeManifest, volume: string) =>
  deployment['spec'].template.spec.volumes.find((each: { name: string }) => each.name === volume).secret;

function fileFor({ kind, apiVersion }: KubeManifest): string {
  if (kind === 'Namespace') return 'namespace';
  if (apiVersion.startsWith('rbac.authorization.k8s.io/') || kind === 'ServiceAccount') return 'rights';
  return apiVersion.startsWith('monitoring.coreos.com/') ? 'monitoring' : 'endpoint';
}

const isOfWebhook = ({ metadata }: KubeManifest): boolean => metadata.name === 'latchkey-webhook';

function conditionFor(object: KubeManifest): string | undefined {
  // Helm makes the namespace of the release itself, and would find it there.
  if (object.kind === 'Namespace') return `ne .Release.Namespace "${directEndpoint.namespace}"`;
  if (isOfWebhook(object)) return '.Values.webhook.clusterIP';
  return fileFor(object) === 'monitoring' ? '.Values.monitoring.enabled' : undefined;
}

function placeValues(object: KubeManifest, slots: Slots): void {
  if (isOfWebhook(object)) return webhook(object, slots);
  switch (object.kind) {
    case 'Namespace':
      return keep(object);
    case 'Deployment':
      return deployment(object, slots);
    case 'Service':
      return service(object, slots, '.Values.service');
    case 'ClusterRole':
      return impersonator(object, slots);
    case 'PrometheusRule':
      return alerts(object, slots);
    case 'PodMonitor':
      return monitored(object, slots);
    default:
  }
}

/** Outlives the release: the Secrets in it that people made would go with it, and with them the key of the agent. */
function keep({ metadata }: KubeManifest): void {
  metadata.annotations = { ...metadata.annotations, 'helm.sh/resource-policy': 'keep' };
}

function deployment(object: KubeManifest, slots: Slots): void {
  object['spec'].replicas = slots.inline('.Values.replicas');
  const settings = `${name}-settings`;
  workload(object, slots, { values: '.Values', helpers: name, settings });
  secretOf(object, 'agent').secretName = slots.inline('.Values.agent.secretName | quote');
  secretOf(object, 'tls').secretName = slots.inline('.Values.certificate.secretName | quote');
}

/** Its two addresses are those of one cluster. */
function webhook({ kind, spec }: KubeManifest, slots: Slots): void {
  if (kind === 'Service') {
    spec.clusterIP = slots.inline('.Values.webhook.clusterIP | quote');
    return;
  }
  const from = slots.lines(
    'from:\n{{- range .Values.webhook.allowedCIDRs }}\n  - ipBlock:\n      cidr: {{ . | quote }}\n{{- end }}',
  );
  const [{ ports }] = spec.ingress;
  // Not first: lines in place of the first field of an item lose its dash.
  spec.ingress = [{ ports, [from]: null }];
}

/** The rights of `config/direct-endpoint-older` where the cluster is so old. */
function impersonator(object: KubeManifest, slots: Slots): void {
  const file = path.join(root, 'config/direct-endpoint-older/role.yaml');
  const older = parse(readFileSync(file, 'utf8')).rules as readonly unknown[];
  const open = slots.lines(`{{- if ${isCurrent} }}`);
  const between = slots.lines('{{- else }}');
  const close = slots.lines('{{- end }}');
  object['rules'] = [open, ...object['rules'], between, ...older, close];
}
