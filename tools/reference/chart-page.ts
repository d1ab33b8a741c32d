import { version } from '../../src/version.ts';
import { allChartValues } from '../chart/chart.ts';
import { code, page, table } from './markdown.ts';

/** docs/reference/chart.md */
export function chartPage(): string {
  const values = allChartValues();
  return page('Values of the chart', 'tools/chart/values.ts', [
    'Here you look up every value of the Helm chart `charts/latchkey`. [Install](../guide/install.md) shows how to use it.',
    'In 60 seconds: `helm install latchkey charts/latchkey --namespace latchkey-system --create-namespace --set baseURL=https://latchkey.example.com --set image.repository=registry.example.com/latchkey`. Helm refuses a value that does not exist, or that has another type.',
    table(
      ['Value', 'Default', 'Meaning'],
      values.map(({ path, default: preset, about }) => [code(path), code(JSON.stringify(preset)), about]),
    ),
    '## From a registry',
    `If your organisation [published the chart](../internal/release.md), give its address and version in place of the folder: \`helm install latchkey oci://registry.example.com/charts/latchkey --version ${version}\` and the same values. \`helm show values\`, \`helm pull\` and \`helm upgrade\` take it too.`,
    '## Beyond the values',
    'The chart and `config/default` hold the same objects. For anything else, use an overlay of kustomize over the chart, or over `config/default`.',
    '`helm uninstall` leaves namespaces, kinds, policies and the site policy. They carry `helm.sh/resource-policy: keep`. Credentials stay, and all of them are refused. Install again with the same release name and namespace, and Helm takes them over. From an installation with kustomize, `helm install --take-ownership` does so.',
  ]);
}
