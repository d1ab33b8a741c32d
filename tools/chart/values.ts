import { allGatewaySettings } from '../../src/settings/gateway.ts';
import { allOperatorSettings } from '../../src/settings/operator.ts';

export type Schema = Readonly<Record<string, unknown>>;

/** One value of the chart. The comment in values.yaml, the schema and the reference page are made from it. */
export interface ChartValue {
  /** Where it stands, as `gateway.resources`. */
  readonly path: string;
  readonly default: unknown;
  readonly schema: Schema;
  /** One to three sentences of Markdown. */
  readonly about: string;
}

/** Defaults that stand in `config/` already. */
export interface ShippedDefaults {
  readonly image: string;
  readonly operator: WorkloadDefaults & { readonly replicas: number };
  readonly gateway: WorkloadDefaults;
  readonly autoscaler: { readonly min: number; readonly max: number; readonly cpu: string };
  readonly sitePolicy: Readonly<Record<string, string>>;
}

interface WorkloadDefaults {
  readonly resources: object;
  readonly nodeOptions: string;
}

export const text: Schema = { type: 'string' };
export const flag: Schema = { type: 'boolean' };
export const texts: Schema = { type: 'object', additionalProperties: text };
export const anything: Schema = { type: 'object' };
export const count: Schema = { type: 'integer', minimum: 1 };
const objects: Schema = { type: 'array', items: anything };

/** Settings by their variables, without those that the chart sets itself. */
export function settingsSchema(
  all: Readonly<Record<string, { readonly name: string }>>,
  own: readonly string[],
): Schema {
  const names = [...new Set(Object.values(all).map(({ name }) => name))].filter(
    (name) => !own.includes(name),
  );
  return {
    type: 'object',
    additionalProperties: false,
    properties: Object.fromEntries(names.toSorted().map((name) => [name, text])),
  };
}

/** Every value, in the order of values.yaml. */
export const chartValues = (shipped: ShippedDefaults): readonly ChartValue[] => [
  ...general(shipped),
  ...operator(shipped),
  ...gateway(shipped),
  ...reach,
  ...extras(shipped),
];

/** Of a chart whose pods are in this namespace. `bound`: the parts that belong to an image of the same version. */
export const imageValues = (image: string, namespace: string, bound: string): readonly ChartValue[] => [
  {
    path: 'image.repository',
    default: image,
    schema: { type: 'string', minLength: 1 },
    about: 'The image in your registry, without its tag.',
  },
  {
    path: 'image.tag',
    default: '',
    schema: text,
    about: `Empty: the version of the chart. ${bound} and image belong together, so change it with the chart only.`,
  },
  {
    path: 'image.digest',
    default: '',
    schema: { type: 'string', pattern: '^(sha256:[0-9a-f]{64})?$' },
    about: 'Names the image in place of the tag, as `sha256:…`.',
  },
  {
    path: 'image.pullPolicy',
    default: '',
    schema: { enum: ['', 'Always', 'IfNotPresent', 'Never'] },
    about: 'Empty: what Kubernetes takes by itself.',
  },
  {
    path: 'image.pullSecrets',
    default: [],
    schema: objects,
    about: `Secrets in \`${namespace}\` for the registry, as \`[{name: registry}]\`.`,
  },
];

const general = ({ image }: ShippedDefaults): readonly ChartValue[] => [
  {
    path: 'baseURL',
    default: '',
    schema: { type: 'string', pattern: '^(https://\\S+)?$' },
    about:
      'Required. The address under which clients reach the gateway, as `https://latchkey.example.com`. It is the issuer of all tokens: with another one, every token is issued again.',
  },
  ...imageValues(image, 'latchkey-system', 'Policies, kinds'),
  {
    path: 'settings',
    default: {},
    schema: settingsSchema({ ...allOperatorSettings, ...allGatewaySettings }, [
      'LATCHKEY_BASE_URL',
      'LATCHKEY_CLUSTER_PROFILES_NAMESPACE',
    ]),
    about:
      'Settings by their variables, as `LATCHKEY_TARGET_ADDRESSES: 10.0.0.0/8`. Values are text, so quote numbers. The [settings reference](settings.md) lists them.',
  },
  {
    path: 'extraEnv',
    default: [],
    schema: objects,
    about:
      'More environment variables of operator and gateway, as a container has them: `[{name: HTTPS_PROXY, value: …}]`. They win over `settings`.',
  },
];

/** `share`: of the memory that is not the heap. */
export const nodeOptionsValue = (path: string, preset: string, share: string): ChartValue => ({
  path,
  default: preset,
  schema: text,
  about: `Options of Node. Keep \`--max-old-space-size\` ${share} below the limit of memory, and raise both together.`,
});

const operator = ({
  operator: { replicas, resources, nodeOptions: options },
}: ShippedDefaults): readonly ChartValue[] => [
  {
    path: 'operator.replicas',
    default: replicas,
    schema: count,
    about: 'One leads, the others take over within seconds.',
  },
  {
    path: 'operator.resources',
    default: resources,
    schema: anything,
    about: 'Requests and limits of the operator.',
  },
  nodeOptionsValue('operator.nodeOptions', options, '192 MiB'),
];

const gateway = ({
  gateway: { resources, nodeOptions: options },
  autoscaler,
}: ShippedDefaults): readonly ChartValue[] => [
  {
    path: 'gateway.resources',
    default: resources,
    schema: anything,
    about: 'Requests and limits of a gateway.',
  },
  nodeOptionsValue('gateway.nodeOptions', options, '256 MiB'),
  {
    path: 'gateway.autoscaling.enabled',
    default: true,
    schema: flag,
    about: 'A HorizontalPodAutoscaler decides how many gateways run.',
  },
  {
    path: 'gateway.autoscaling.minReplicas',
    default: autoscaler.min,
    schema: count,
    about: 'At least so many.',
  },
  {
    path: 'gateway.autoscaling.maxReplicas',
    default: autoscaler.max,
    schema: count,
    about: 'At most so many.',
  },
  {
    path: 'gateway.autoscaling.averageCPU',
    default: autoscaler.cpu,
    schema: text,
    about: 'The use of the processor for each gateway that the autoscaler aims at. A gateway uses one core.',
  },
  {
    path: 'gateway.replicas',
    default: autoscaler.min,
    schema: count,
    about: 'How many gateways run without the autoscaler.',
  },
];

export const serviceValues = (path: string, program: string): readonly ChartValue[] => [
  {
    path: `${path}.type`,
    default: 'ClusterIP',
    schema: { enum: ['ClusterIP', 'LoadBalancer', 'NodePort'] },
    about: `\`LoadBalancer\` gives ${program} an address of its own, with TLS to its pods.`,
  },
  {
    path: `${path}.externalTrafficPolicy`,
    default: '',
    schema: { enum: ['', 'Cluster', 'Local'] },
    about: '`Local` keeps the addresses of clients, where the type is not `ClusterIP`.',
  },
  {
    path: `${path}.annotations`,
    default: {},
    schema: texts,
    about: 'Annotations of the Service, for the load balancer of your cloud.',
  },
];

/** How clients reach the gateway, and with which certificate. */
const reach: readonly ChartValue[] = [
  ...serviceValues('gateway.service', 'the gateway'),
  {
    path: 'gateway.page.url',
    default: '',
    schema: { type: 'string', pattern: '^(https://[^/?#]+)?$' },
    about:
      'Where browsers find [the page](page.md), as `https://latchkey.example.com:8444`. It switches the page on, and opens port 8444 of Service and pods. Empty: there is none.',
  },
  {
    path: 'gateway.route.enabled',
    default: false,
    schema: flag,
    about:
      'A `TLSRoute` for the host of the base URL (Gateway API 1.5 or newer). Its listener needs `tls.mode: Passthrough`.',
  },
  {
    path: 'gateway.route.parentRefs',
    default: [],
    schema: objects,
    about: 'The Gateways that the route attaches to, as `[{name: shared, namespace: gateways}]`.',
  },
  {
    path: 'gateway.ingress.enabled',
    default: false,
    schema: flag,
    about:
      'An `Ingress` for the host of the base URL. The controller must speak TLS to the pods. If it also ends TLS of clients, set `LATCHKEY_BASE_URL_CA_FILE: none` in `settings`.',
  },
  { path: 'gateway.ingress.className', default: '', schema: text, about: 'The class of the Ingress.' },
  {
    path: 'gateway.ingress.annotations',
    default: {},
    schema: texts,
    about:
      'Annotations of the Ingress. ingress-nginx needs `nginx.ingress.kubernetes.io/ssl-passthrough: "true"`, or `…/backend-protocol: HTTPS` if it ends TLS.',
  },
  {
    path: 'gateway.ingress.tlsSecret',
    default: '',
    schema: text,
    about: 'The Secret with the certificate of the Ingress, if it ends TLS.',
  },
  {
    path: 'certificate.issuerRef',
    default: {},
    schema: anything,
    about:
      'An issuer of cert-manager for the certificate of the gateway, as `{name: letsencrypt, kind: ClusterIssuer}`. Empty: the operator makes the certificate, unless you [give your own](../guide/run-gateway.md#give-your-own).',
  },
  {
    path: 'certificate.authorityConfigMap',
    default: '',
    schema: text,
    about:
      'A ConfigMap in `latchkey-system` with the key `ca.crt`: the authorities that kubeconfigs name. Set it if clients do not trust the certificate anyway.',
  },
];

export const placementValues: readonly ChartValue[] = [
  { path: 'nodeSelector', default: {}, schema: texts, about: 'The nodes for all pods.' },
  { path: 'tolerations', default: [], schema: objects, about: 'Taints that all pods tolerate.' },
];

const extras = ({ sitePolicy }: ShippedDefaults): readonly ChartValue[] => [
  {
    path: 'sitePolicy.enabled',
    default: true,
    schema: flag,
    about:
      'Makes the [site policy](../guide/site-policy.md). Set `false` if your organisation keeps the ConfigMap `latchkey-site-policy` itself.',
  },
  {
    path: 'sitePolicy.data',
    default: sitePolicy,
    schema: texts,
    about: 'Its entries; the default is the recommended one. Values are text.',
  },
  {
    path: 'clusterProfiles.namespace',
    default: '',
    schema: { type: 'string', pattern: '^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)?$' },
    about:
      'The namespace for a [ClusterProfile](cluster-profiles.md) of each target, with the right to write them there. You make it. Empty: there are none.',
  },
  {
    path: 'monitoring.enabled',
    default: false,
    schema: flag,
    about: 'PodMonitors, alerts and a dashboard, for a cluster with the Prometheus operator.',
  },
  {
    path: 'monitoring.labels',
    default: {},
    schema: texts,
    about:
      'Labels by which your Prometheus selects monitors and rules, as `{release: kube-prometheus-stack}`.',
  },
  {
    path: 'monitoring.runbookURL',
    default: '',
    schema: text,
    about:
      'Where your people open [the page of alerts](alerts.md). Each alert then has the annotation `runbook_url`, which leads to its section.',
  },
  ...placementValues,
];
