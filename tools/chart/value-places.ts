import type { KubeManifest } from '../install/kustomization.ts';
import type { Slots } from './template.ts';

/** Puts the values of the chart in place of those that the manifests have. */
export function placeValues(object: KubeManifest, slots: Slots): void {
  const { kind, metadata } = object;
  const edit =
    edits[`${kind}/${metadata.name}`] ??
    (metadata.name.startsWith('latchkey-settings') ? settings : undefined);
  edit?.(object, slots);
  if (isKept(object)) metadata.annotations = { ...metadata.annotations, 'helm.sh/resource-policy': 'keep' };
}

/**
 * Objects that outlive the release: the kinds, for all credentials go with them; their guards, for the credentials stay; and the
 * namespaces with the signing keys and what the operator knows of earlier times.
 */
function isKept({ kind, apiVersion, metadata }: KubeManifest): boolean {
  const isGuard =
    apiVersion.startsWith('admissionregistration.k8s.io/') || metadata.name === 'latchkey-site-policy';
  return isGuard || kind === 'CustomResourceDefinition' || kind === 'Namespace';
}

interface Rule {
  readonly annotations: Record<string, string | null>;
}

type Edit = (object: KubeManifest, slots: Slots) => void;

const edits: Readonly<Record<string, Edit>> = {
  'Deployment/latchkey-operator': (object, slots) => {
    object['spec'].replicas = slots.inline('.Values.operator.replicas');
    workload(object, slots, { ...ours, values: '.Values.operator' });
    const { spec } = object['spec'].template;
    spec.containers[0][slots.lines(authorityMount)] = null;
    spec[slots.lines(authorityVolume)] = null;
  },
  'Deployment/latchkey-gateway': (object, slots) => {
    const replicas = slots.lines(
      '{{- if not .Values.gateway.autoscaling.enabled }}\nreplicas: {{ .Values.gateway.replicas }}\n{{- end }}',
    );
    object['spec'] = { [replicas]: null, ...object['spec'] };
    workload(object, slots, { ...ours, values: '.Values.gateway' });
    object['spec'].template.spec.containers[0].ports.push(
      slots.lines(ifPage('- name: page\n  containerPort: 8444')),
    );
  },
  'NetworkPolicy/latchkey-gateway': (object, slots) => {
    object['spec'].ingress[0].ports.push(slots.lines(ifPage('- port: page')));
  },
  'HorizontalPodAutoscaler/latchkey-gateway': ({ spec }, slots) => {
    spec.minReplicas = slots.inline('.Values.gateway.autoscaling.minReplicas');
    spec.maxReplicas = slots.inline('.Values.gateway.autoscaling.maxReplicas');
    spec.metrics[0].resource.target.averageValue = slots.inline(
      '.Values.gateway.autoscaling.averageCPU | quote',
    );
  },
  'Service/latchkey-gateway': (object, slots) => {
    service(object, slots, '.Values.gateway.service');
    object['spec'].ports.push(slots.lines(ifPage('- name: page\n  port: 8444\n  targetPort: page')));
  },
  'ConfigMap/latchkey-site-policy': (object, slots) => {
    object['data'] = { [slots.lines('{{- toYaml .Values.sitePolicy.data | nindent +0 }}')]: null };
  },
  'Role/latchkey-cluster-profiles': ofProfiles,
  'RoleBinding/latchkey-cluster-profiles': ofProfiles,
  'PrometheusRule/latchkey': alerts,
  'PodMonitor/latchkey-operator': monitored,
  'PodMonitor/latchkey-gateway': monitored,
};

/** In the namespace that a value names. */
function ofProfiles({ metadata }: KubeManifest, slots: Slots): void {
  metadata.namespace = slots.inline('.Values.clusterProfiles.namespace | quote');
}

/** Its type, and annotations for the load balancer of a cloud. */
export function service(object: KubeManifest, slots: Slots, values: string): void {
  const { annotations = {} } = object.metadata;
  const more = slots.lines(`{{- with ${values}.annotations }}\n{{- toYaml . | nindent +0 }}\n{{- end }}`);
  object.metadata.annotations = { ...annotations, [more]: null as unknown as string };
  const type = slots.lines(`{{- if ne ${values}.type "ClusterIP" }}\ntype: {{ ${values}.type }}\n{{- end }}`);
  const traffic = slots.lines(
    `{{- with ${values}.externalTrafficPolicy }}\nexternalTrafficPolicy: {{ . }}\n{{- end }}`,
  );
  object['spec'] = { [type]: null, [traffic]: null, ...object['spec'] };
}

/** Its name has no hash of the content here: Helm would delete that of the old pods. The pods carry the hash instead. */
function settings(object: KubeManifest, slots: Slots): void {
  object.metadata.name = settingsName;
  object['data'] = { [slots.lines('{{- include "latchkey.settings" . | nindent +0 }}')]: null };
}

const ifPage = (lines: string): string => `{{- if .Values.gateway.page.url }}\n${lines}\n{{- end }}`;

const settingsName = 'latchkey-settings';

const ours = { helpers: 'latchkey', settings: settingsName };

interface Workload {
  /** Where its resources and options stand. */
  readonly values: string;
  /** Before the names of templates: charts may be parts of one, where names are shared. */
  readonly helpers: string;
  /** The ConfigMap. */
  readonly settings: string;
}

/** Puts what all programs have into the template of their pods. */
export function workload(
  object: KubeManifest,
  slots: Slots,
  { values, helpers, settings: configMap }: Workload,
): void {
  const { template } = object['spec'];
  const checksum = slots.inline(`include "${helpers}.settings" . | sha256sum`);
  template.metadata.annotations = { ...template.metadata.annotations, 'checksum/settings': checksum };
  const [container] = template.spec.containers;
  container.image = slots.inline(`include "${helpers}.image" . | quote`);
  const pullPolicy = slots.lines(
    '{{- with .Values.image.pullPolicy }}\nimagePullPolicy: {{ . }}\n{{- end }}',
  );
  container[pullPolicy] = null;
  for (const variable of container.env)
    if (variable.name === 'NODE_OPTIONS') variable.value = slots.inline(`${values}.nodeOptions | quote`);
  container.env.push(slots.lines('{{- with .Values.extraEnv }}\n{{- toYaml . | nindent +0 }}\n{{- end }}'));
  for (const { configMapRef } of container.envFrom) configMapRef.name = configMap;
  container.resources = { [slots.lines(`{{- toYaml ${values}.resources | nindent +0 }}`)]: null };
  const optional = {
    imagePullSecrets: 'image.pullSecrets',
    nodeSelector: 'nodeSelector',
    tolerations: 'tolerations',
  };
  for (const [field, value] of Object.entries(optional)) {
    const text = `{{- with .Values.${value} }}\n${field}:\n{{- toYaml . | nindent +2 }}\n{{- end }}`;
    template.spec[slots.lines(text)] = null;
  }
}

const authorityMount = `{{- if .Values.certificate.authorityConfigMap }}
volumeMounts:
  - name: base-url-ca
    mountPath: /etc/latchkey/base-url
    readOnly: true
{{- end }}`;

const authorityVolume = `{{- with .Values.certificate.authorityConfigMap }}
volumes:
  - name: base-url-ca
    configMap:
      name: {{ . | quote }}
{{- end }}`;

/** Each alert leads to its section, where a value says at which address the page is. */
export function alerts(object: KubeManifest, slots: Slots): void {
  monitored(object, slots);
  const rules: Rule[] = object['spec'].groups.flatMap((group: { rules: Rule[] }) => group.rules);
  for (const { annotations } of rules) {
    const [, anchor = ''] = annotations['runbook']?.split('#') ?? [];
    const address = `{{ printf "%s#${anchor}" . | quote }}`;
    const link = `{{- with .Values.monitoring.runbookURL }}\nrunbook_url: ${address}\n{{- end }}`;
    annotations[slots.lines(link)] = null;
  }
}

export function monitored({ metadata }: KubeManifest, slots: Slots): void {
  const labels = slots.lines(
    '{{- with .Values.monitoring.labels }}\n{{- toYaml . | nindent +0 }}\n{{- end }}',
  );
  metadata.labels = { ...metadata.labels, [labels]: null as unknown as string };
}
