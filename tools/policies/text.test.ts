import { describe, expect, it } from 'vitest';
import { cel, line, text } from './text.ts';

describe('CEL in a template', () => {
  it('loses the indentation of the source and keeps its own', () => {
    expect(cel`
      a
        && b
    `).toBe('a\n  && b');
  });

  it('indents every line of a value as the line that it stands in', () => {
    const value = cel`
      (x
        || y)
    `;
    expect(cel`
      a
        && ${value}
    `).toBe('a\n  && (x\n    || y)');
  });

  it('keeps backslashes, which belong to CEL', () => {
    expect(cel`s.matches(r'^\s*"\\"')`).toBe(String.raw`s.matches(r'^\s*"\\"')`);
  });
});

describe('prose in a template', () => {
  it('keeps its lines, or becomes one', () => {
    expect(text`
      The first
      and the \`second\`.
    `).toBe('The first\nand the `second`.');
    expect(line`
      spec.${'user'}: not
      allowed
    `).toBe('spec.user: not allowed');
  });
});
