/**
 * CEL text as it stands in the template, without the indentation of the source. A value of several lines is indented as
 * the line that it stands in. Backslashes are kept: they belong to CEL.
 */
export function cel({ raw }: TemplateStringsArray, ...values: readonly string[]): string {
  return dedent(joined(raw, values));
}

/** The same for prose, where a backslash escapes as everywhere in TypeScript. */
export function text(parts: TemplateStringsArray, ...values: readonly string[]): string {
  return dedent(joined(parts, values));
}

/** Prose in one line, however it is wrapped in the template. */
export function line(parts: TemplateStringsArray, ...values: readonly string[]): string {
  return joined(parts, values)
    .trim()
    .replaceAll(/\s*\n\s*/g, ' ');
}

function joined(parts: readonly string[], values: readonly string[]): string {
  return parts.reduce((sofar, part, index) => {
    const line = sofar.slice(sofar.lastIndexOf('\n') + 1);
    const indentation = /^ */.exec(line)?.[0] ?? '';
    return sofar + (values[index - 1] ?? '').replaceAll('\n', `\n${indentation}`) + part;
  });
}

function dedent(block: string): string {
  const lines = block.split('\n');
  const indents = lines.filter((line) => line.trim() !== '').map((line) => line.search(/\S/));
  const shared = lines.length === 1 ? 0 : Math.min(...indents);
  return lines
    .map((line) => line.slice(shared))
    .join('\n')
    .trim();
}
