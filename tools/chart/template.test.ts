import { expect, it } from 'vitest';
import type { KubeManifest } from '../install/kustomization.ts';
import { documents, Slots, when } from './template.ts';

const configMap = (data: object): KubeManifest => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'a' },
  data,
});
const dataOf = (text: string): string => text.slice(text.lastIndexOf('\ndata:') + 1);

it('writes a value of the chart in place of a scalar', () => {
  const slots = new Slots();
  const text = slots.render(configMap({ a: slots.inline('.Values.a | quote') }));
  expect(dataOf(text)).toBe('data:\n  a: {{ .Values.a | quote }}\n');
});

it('indents lines as deep as their place is, in a map and in a list', () => {
  const slots = new Slots();
  const lines = slots.lines('{{- with .Values.b }}\nb:\n{{- toYaml . | nindent +2 }}\n{{- end }}');
  const items = slots.lines('{{- toYaml .Values.c | nindent +0 }}');
  const text = slots.render(configMap({ a: { [lines]: null }, c: [items] }));
  expect(dataOf(text)).toBe(
    [
      'data:',
      '  a:',
      '{{- with .Values.b }}',
      '    b:',
      '{{- toYaml . | nindent 6 }}',
      '{{- end }}',
      '  c:',
      '{{- toYaml .Values.c | nindent 4 }}',
      '',
    ].join('\n'),
  );
});

it('keeps braces of a manifest, which Helm would take for its own', () => {
  const text = new Slots().render(configMap({ summary: '{{ $value }} operators lead' }));
  expect(dataOf(text)).toBe('data:\n  summary: "{{ "{{" }} $value }} operators lead"\n');
});

it('quotes words that are no texts in YAML 1.1, which Helm reads', () => {
  expect(dataOf(new Slots().render(configMap({ a: 'on', b: 'yes', c: '1_000' })))).toBe(
    'data:\n  a: "on"\n  b: "yes"\n  c: "1_000"\n',
  );
});

it('separates documents, those on a condition too', () => {
  expect(documents(['a: 1\n', when('.Values.x', 'b: 1\n')])).toBe(
    '---\na: 1\n---\n{{- if .Values.x }}\nb: 1\n{{- end }}\n',
  );
});
