import type { ChartValue } from './values.ts';

/**
 * A template that gives `.Values` what it lacks: `helm upgrade --reuse-values` brings the values of an earlier chart alone, which had
 * not all of the present ones. A map that people fill stays away where it was taken away with `null`, such as the limits of a container.
 */
export function defaultValues(chart: string, values: readonly ChartValue[]): string {
  const lines = [...partsOf(values)].map(([path, preset]) => {
    const names = path.split('.');
    const [name, parent] = [names.at(-1), ['.Values', ...names.slice(0, -1)].join('.')];
    const json = JSON.stringify({ value: preset });
    if (json.includes('`')) throw new Error(`the default of ${path} cannot stand in a template`);
    return `{{- if not (hasKey ${parent} "${name}") }}{{ $_ := set ${parent} "${name}" (fromJson \`${json}\`).value }}{{ end -}}\n`;
  });
  const about =
    '{{- /* Written by `npm run generate`. Values that an earlier chart did not have, for `--reuse-values`. */ -}}\n';
  return `${about}{{- define "${chart}.defaults" -}}\n${lines.join('')}{{- end -}}\n`;
}

/** At the top of each file that reads values: no file comes first for certain. */
export const withDefaults = (chart: string, text: string): string =>
  `{{- include "${chart}.defaults" . -}}\n${text}`;

/** Each branch of the tree with all that is in it, in front of its parts, and each value that may come back. */
function partsOf(values: readonly ChartValue[]): ReadonlyMap<string, unknown> {
  const parts = new Map<string, unknown>();
  for (const { path } of values) {
    const names = path.split('.');
    for (let depth = 1; depth < names.length; depth += 1) {
      const branch = names.slice(0, depth).join('.');
      parts.set(branch, branchOf(values, branch));
    }
    const preset = values.find((value) => value.path === path)?.default;
    if (!isFilledMap(preset)) parts.set(path, preset);
  }
  return parts;
}

function branchOf(values: readonly ChartValue[], branch: string): object {
  const tree: Record<string, unknown> = {};
  for (const { path, default: preset } of values) {
    if (!path.startsWith(`${branch}.`)) continue;
    const names = path.slice(branch.length + 1).split('.');
    const parent = names.slice(0, -1).reduce<Record<string, unknown>>((at, name) => {
      at[name] ??= {};
      return at[name] as Record<string, unknown>;
    }, tree);
    parent[names.at(-1) ?? ''] = preset;
  }
  return tree;
}

const isFilledMap = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length > 0;
