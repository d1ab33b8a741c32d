import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { toYAML } from './yaml.ts';

describe('YAML', () => {
  it.each(['1.1', '1.2'] as const)(
    'of any JSON value is read back as it was by a reader of version %s',
    (version) => {
      fc.assert(
        fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
          expect(parse(toYAML(value), { version })).toEqual(JSON.parse(JSON.stringify(value)));
        }),
      );
    },
  );

  it.each([
    'yes',
    'E0',
    'e-1',
    'No',
    'null',
    '~',
    '1',
    '0x1',
    '1e3',
    '',
    ' a',
    'a: b',
    '- a',
    '#a',
    'a #b',
    '*a',
    '&a',
    '!a',
    '12:30:45',
    '2026-01-01',
    '.inf',
  ])('keeps the text %j a text', (text) => {
    for (const version of ['1.1', '1.2'] as const) {
      expect(parse(toYAML({ a: text, [text || 'b']: [text] }), { version })).toEqual({
        a: text,
        [text || 'b']: [text],
      });
    }
  });

  it('is laid out as kubectl does', () => {
    expect(toYAML({ kind: 'Config', users: [{ name: 'a', user: { exec: { args: ['b'], env: [] } } }] })).toBe(
      'kind: Config\nusers:\n- name: a\n  user:\n    exec:\n      args:\n      - b\n      env: []\n',
    );
  });
});
