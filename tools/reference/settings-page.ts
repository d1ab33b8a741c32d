import { commonSettingDefinitions } from '../../src/settings/common.ts';
import { directEndpointSettingDefinitions } from '../../src/settings/direct-endpoint.ts';
import { gatewaySettingDefinitions } from '../../src/settings/gateway.ts';
import { operatorSettingDefinitions } from '../../src/settings/operator.ts';
import { removedSettings } from '../../src/settings/removed.ts';
import type { Setting, SettingDefinitions } from '../../src/settings/types.ts';
import { code, page, table } from './markdown.ts';

/** docs/reference/settings.md */
export function settingsPage(): string {
  return page('Settings', 'src/settings', [
    'Here you look up every setting, its values and its default.',
    'In 60 seconds: put the variable into `literals` of your overlay, as in [install](../guide/install.md#install), and apply it as cluster administrator. Only `LATCHKEY_BASE_URL` is required.',
    'Latchkey takes its settings from environment variables. It reads them once, at start. It reports every unusable one with what to write instead, and ends with exit code 2. A variable that is set but empty is refused, so that you see a forgotten value in a manifest.',
    'A variable that begins with `LATCHKEY_` and is no setting is refused, too. The message names the nearest one that does. Each process knows the settings of all of them. Kubernetes adds `LATCHKEY_GATEWAY_PORT` and others for a Service `latchkey-gateway`. A Pod with a manifest of your own therefore needs `enableServiceLinks: false`, as those of `config/default` have it.',
    'In the cluster they come from the ConfigMap `latchkey-settings` of `config/default`. Every setting can stand there.',
    'Write durations as in Go, or with `d` for 24 hours: `250ms`, `30s`, `10m`, `1h30m`, `30d`. Addresses are `host:port`, `[IPv6]:port`, or `:port` for all interfaces.',
    '## Every process',
    'All processes check credentials by the same rules, so each of them must have the same values here. Only the two addresses and the level of the log may differ.',
    tableOf(commonSettingDefinitions),
    '## Operator',
    tableOf(operatorSettingDefinitions),
    '## Gateway',
    tableOf(gatewaySettingDefinitions),
    '## Direct endpoint',
    'In a connected cluster, and only there: [the direct endpoint](direct-endpoint.md) takes the settings of every process and of the gateway besides these.',
    tableOf(directEndpointSettingDefinitions),
    '## Settings of earlier builds',
    'Each of these is refused, with what takes its place.',
    table(
      ['Variable', 'Instead'],
      Object.entries(removedSettings).map(([name, instead]) => [code(name), instead]),
    ),
    '## The API server',
    'The API server and the credentials for it come from the file that `KUBECONFIG` names, else from the ServiceAccount of the pod.',
  ]);
}

const tableOf = (definitions: SettingDefinitions): string =>
  table(['Variable', 'Value', 'Default', 'Meaning'], Object.values(definitions).map(row));

function row({ name, type, default: preset, documentation }: Setting<unknown>): readonly string[] {
  const fallback = preset === undefined ? 'required' : code(preset);
  return [code(name), type.description, fallback, documentation];
}
