import { commonSettingDefinitions } from '../../src/settings/common.ts';
import { operatorSettingDefinitions } from '../../src/settings/operator.ts';
import type { Setting, SettingDefinitions } from '../../src/settings/types.ts';
import { code, page, table } from './markdown.ts';

/** docs/reference/settings.md */
export function settingsPage(): string {
  return page('Settings', 'src/settings', [
    'Latchkey takes its settings from environment variables. They are read once, at start; every unusable one is reported, with what to write instead, and the process ends with exit code 2. A variable that is set but empty is refused, so that a forgotten value in a manifest is seen.',
    'In the cluster they come from the ConfigMap `latchkey-settings` of `config/default`. Your overlay changes it, as in [install](../guide/install.md#install); every variable of this page can stand there.',
    'Durations are written as in Go, with `d` for 24 hours besides: `250ms`, `30s`, `10m`, `1h30m`, `30d`. Addresses are `host:port`, `[IPv6]:port`, or `:port` for all interfaces.',
    '## Every process',
    'Processes judge the same credentials by the same rules, so each of them must have the same values here. Only the two addresses and the level of the log may differ.',
    tableOf(commonSettingDefinitions),
    '## Operator',
    tableOf(operatorSettingDefinitions),
    'The API server and the credentials for it come from the file that `KUBECONFIG` names, else from the ServiceAccount of the pod.',
  ]);
}

const tableOf = (definitions: SettingDefinitions): string =>
  table(['Variable', 'Value', 'Default', 'Meaning'], Object.values(definitions).map(row));

function row({ name, type, default: preset, computed, documentation }: Setting<unknown>): readonly string[] {
  const fallback = preset === undefined ? (computed ?? 'required') : code(preset);
  return [code(name), type.description, fallback, documentation];
}
