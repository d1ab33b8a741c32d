import { version } from '../../src/version.ts';
import { allChartValues } from '../chart/chart.ts';
import { allEndpointValues } from '../chart/direct-endpoint/chart.ts';
import type { ChartValue } from '../chart/values.ts';
import { code, page, table } from './markdown.ts';

const tableOf = (values: readonly ChartValue[]): string =>
  table(
    ['Value', 'Default', 'Meaning'],
    values.map(({ path, default: preset, about }) => [code(path), code(JSON.stringify(preset)), about]),
  );

/** docs/reference/chart.md */
export function chartPage(): string {
  return page('Values of the chart', 'tools/chart/values.ts', [
    'Here you look up every value of the Helm chart `charts/latchkey`. [Install](../guide/install.md) shows how to use it.',
    'In 60 seconds: `helm install latchkey charts/latchkey --namespace latchkey-system --create-namespace --set baseURL=https://latchkey.example.com --set image.repository=registry.example.com/latchkey`. Helm refuses a value that does not exist, or that has another type.',
    tableOf(allChartValues()),
    '## From a registry',
    `If your organisation [published the chart](../internal/release.md), give its address and version in place of the folder: \`helm install latchkey oci://registry.example.com/charts/latchkey --version ${version}\` and the same values. \`helm show values\`, \`helm pull\` and \`helm upgrade\` take it too.`,
    '## Beyond the values',
    'The chart and `config/default` hold the same objects. For anything else, use an overlay of kustomize over the chart, or over `config/default`.',
    '`helm uninstall` leaves namespaces, kinds, policies and the site policy. They carry `helm.sh/resource-policy: keep`. Credentials stay, and all of them are refused. Install again with the same release name and namespace, and Helm takes them over. From an installation with kustomize, `helm install --take-ownership` does so.',
  ]);
}

/** docs/reference/direct-endpoint-chart.md */
export function endpointChartPage(): string {
  return page('Values of the chart of direct endpoints', 'tools/chart/direct-endpoint/values.ts', [
    'Here you look up every value of the Helm chart `charts/latchkey-direct-endpoint`. You install it in a connected cluster, and never beside the platform. [The direct endpoint](direct-endpoint.md#install-with-helm) shows how.',
    'In 60 seconds: make the Secrets with the key of the agent and the certificate. Then `helm install endpoint charts/latchkey-direct-endpoint --namespace latchkey-direct-endpoint --set baseURL=https://latchkey.example.com --set cluster=edge --set image.repository=registry.example.com/latchkey`.',
    tableOf(allEndpointValues()),
    '## Beyond the values',
    'The chart and `config/direct-endpoint` hold the same objects. Before Kubernetes 1.36 it is `config/direct-endpoint-older`: the chart asks the cluster for its version. It has no Ingress, for TLS must reach the endpoint untouched. A `TLSRoute` or a load balancer leads to the Service `latchkey-direct-endpoint`.',
    '`helm upgrade` leaves the Secret `latchkey-kept-set` as the endpoint wrote it. `helm uninstall` removes it, and leaves the namespace and the Secrets that you made.',
    '**Replace nothing in an outage.** `helm upgrade` and `helm rollback` with `--force` (Helm 4: `--force-replace`), `kubectl replace`, and Argo CD with `Replace=true` write this Secret empty. The endpoint fills it again within a minute, while the platform answers. Until then a restart in an outage knows no token, and refuses all of them. Argo CD leaves it alone by `ignoreDifferences` for its field `/data`, together with `RespectIgnoreDifferences=true`.',
    'The webhook also needs [a certificate](direct-endpoint.md#the-webhook-with-helm) that names its address.',
  ]);
}
