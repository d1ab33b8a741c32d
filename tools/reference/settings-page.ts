import { settingDefinitions } from '../../src/settings.ts';
import { code, page, table } from './markdown.ts';

/** docs/reference/settings.md */
export function settingsPage(): string {
  return page('Settings', 'src/settings.ts', [
    'Latchkey takes its settings from environment variables. They are read once, at start; every unusable one is reported, with what to write instead, and the process ends with exit code 2. A variable that is set but empty is refused, so that a forgotten value in a manifest is seen.',
    'Durations are written as in Go, with `d` for 24 hours besides: `250ms`, `30s`, `10m`, `1h30m`, `30d`. Addresses are `host:port`, `[IPv6]:port`, or `:port` for all interfaces.',
    table(['Variable', 'Value', 'Default', 'Meaning'], Object.values(settingDefinitions).map(row)),
    'The API server and the credentials for it come from the file that `KUBECONFIG` names, else from the ServiceAccount of the pod.',
  ]);
}

function row({
  name,
  type,
  ...rest
}: (typeof settingDefinitions)[keyof typeof settingDefinitions]): readonly string[] {
  const fallback = 'default' in rest ? code(rest.default ?? '') : undefined;
  return [
    code(name),
    type.description,
    fallback ?? ('computed' in rest ? String(rest.computed) : 'required'),
    rest.documentation,
  ];
}
