import { describe, expect, it } from 'vitest';
import { chartFiles } from './chart.ts';
import { endpointChartFiles } from './direct-endpoint/chart.ts';
import { defaultValues } from './reuse-values.ts';

const value = (path: string, preset: unknown) => ({ path, default: preset, schema: {}, about: '' });

describe('the defaults in a template', () => {
  it('are those of each missing group, and of each missing value in a group that is there', () => {
    const text = defaultValues('a', [value('x', 1), value('b.c', ['d']), value('b.e', { f: 2 })]);
    expect(text.split('\n').slice(1, -1)).toEqual([
      '{{- define "a.defaults" -}}',
      '{{- if not (hasKey .Values "x") }}{{ $_ := set .Values "x" (fromJson `{"value":1}`).value }}{{ end -}}',
      '{{- if not (hasKey .Values "b") }}{{ $_ := set .Values "b" (fromJson `{"value":{"c":["d"],"e":{"f":2}}}`).value }}{{ end -}}',
      '{{- if not (hasKey .Values.b "c") }}{{ $_ := set .Values.b "c" (fromJson `{"value":["d"]}`).value }}{{ end -}}',
      '{{- end -}}',
    ]);
  });

  it('cannot hold what would end the template', () => {
    expect(() => defaultValues('a', [value('x', '`')])).toThrow('x cannot stand in a template');
  });

  it.each([
    ['latchkey', chartFiles()],
    ['latchkey-direct-endpoint', endpointChartFiles()],
  ])('come first in every template of %s', (name, files) => {
    const templates = [...files].filter(([file]) => /^templates\/[^_]/.test(file));
    expect(templates.length).toBeGreaterThan(5);
    for (const [, text] of templates)
      expect(text.startsWith(`{{- include "${name}.defaults" . -}}\n`)).toBe(true);
  });
});
