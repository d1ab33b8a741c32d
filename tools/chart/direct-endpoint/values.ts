import { allDirectEndpointSettings } from '../../../src/settings/direct-endpoint.ts';
import {
  anything,
  type ChartValue,
  count,
  flag,
  imageValues,
  nodeOptionsValue,
  placementValues,
  type Schema,
  serviceValues,
  settingsSchema,
  text,
  texts,
} from '../values.ts';

interface Defaults {
  readonly image: string;
  readonly replicas: number;
  readonly resources: object;
  readonly nodeOptions: string;
  readonly agentSecret: string;
  readonly certificateSecret: string;
}

const name: Schema = { type: 'string', minLength: 1 };

/** Every value of the chart of direct endpoints, in the order of its values.yaml. */
export const endpointValues = (shipped: Defaults): readonly ChartValue[] => [
  {
    path: 'baseURL',
    default: '',
    schema: { type: 'string', pattern: '^(https://\\S+)?$' },
    about: 'Required. The base URL of the platform, as `https://latchkey.example.com`.',
  },
  {
    path: 'cluster',
    default: '',
    schema: { type: 'string', pattern: '^([a-z0-9]([a-z0-9.-]*[a-z0-9])?)?$' },
    about: 'Required. The name of the Cluster on the platform that this cluster is.',
  },
  ...imageValues(shipped.image, 'latchkey-direct-endpoint', 'Rights, settings'),
  ...secrets(shipped),
  {
    path: 'settings',
    default: {},
    schema: settingsSchema(allDirectEndpointSettings, ['LATCHKEY_BASE_URL', 'LATCHKEY_ENDPOINT_CLUSTER']),
    about:
      'Settings by their variables, as `LATCHKEY_ENDPOINT_OUTAGE: 4h`. Values are text, so quote numbers. The [settings reference](settings.md#direct-endpoint) lists them.',
  },
  {
    path: 'extraEnv',
    default: [],
    schema: { type: 'array', items: anything },
    about: 'More environment variables, as a container has them. They win over `settings`.',
  },
  {
    path: 'replicas',
    default: shipped.replicas,
    schema: { ...count, maximum: 3 },
    about: 'Each serves by itself. A gateway of the platform streams to four at most, also during an update.',
  },
  {
    path: 'resources',
    default: shipped.resources,
    schema: anything,
    about: 'Requests and limits of a replica.',
  },
  nodeOptionsValue('nodeOptions', shipped.nodeOptions, '256 MiB'),
  ...serviceValues('service', 'the endpoint'),
  ...webhook,
  {
    path: 'monitoring.enabled',
    default: false,
    schema: flag,
    about: 'A PodMonitor and alerts, for a cluster with the Prometheus operator.',
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
    about: 'Where your people open [the page of alerts](alerts.md).',
  },
  ...placementValues,
];

const secrets = ({ agentSecret, certificateSecret }: Defaults): readonly ChartValue[] => [
  {
    path: 'agent.secretName',
    default: agentSecret,
    schema: name,
    about:
      "A Secret in `latchkey-direct-endpoint` with the key of [the agent](direct-endpoint.md#the-agent) in the entry `key`, and in `ca.crt` the authority of the gateway's certificate, unless everyone trusts it. You make it: a key in values would stay in the Secrets of Helm.",
  },
  {
    path: 'certificate.secretName',
    default: certificateSecret,
    schema: name,
    about:
      'A Secret of type `kubernetes.io/tls` in `latchkey-direct-endpoint`, with the certificate of the endpoint.',
  },
  {
    path: 'certificate.issuerRef',
    default: {},
    schema: anything,
    about:
      'An issuer of cert-manager that fills this Secret, as `{name: letsencrypt, kind: ClusterIssuer}`. Empty: you make it.',
  },
  {
    path: 'certificate.host',
    default: '',
    schema: text,
    about: 'With an issuer: the host of `spec.directEndpoint` of the Cluster, without a port.',
  },
];

/** Of the authorization webhook, for an API server that takes tokens by itself. */
const webhook: readonly ChartValue[] = [
  {
    path: 'webhook.clusterIP',
    default: '',
    schema: { type: 'string', pattern: '^[0-9a-fA-F.:]*$' },
    about:
      'A free address of your cluster for Services, as `10.96.0.77`: there API servers reach [the webhook](direct-endpoint.md#an-api-server-of-your-own). An issuer puts it into the certificate. Empty: there is none.',
  },
  {
    path: 'webhook.allowedCIDRs',
    default: [],
    schema: { type: 'array', items: { type: 'string', pattern: '^[0-9a-fA-F.:]+/[0-9]+$' } },
    about:
      'With an address: from where the API servers come, as `[192.0.2.10/32]`. Others do not reach the webhook.',
  },
  {
    path: 'webhook.clientCAEntry',
    default: 'client.crt',
    schema: { type: 'string', pattern: '^[A-Za-z0-9._-]+$' },
    about: 'The entry of `agent.secretName` with the certificate with which API servers ask.',
  },
];
