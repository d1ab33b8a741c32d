/** A Markdown table. Bars and line breaks in cells are escaped. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map(cell).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

export const code = (text: string): string => `\`${text}\``;

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ');
}

/** A page that `npm run generate` writes; `source` is where its content comes from. */
export function page(title: string, source: string, sections: readonly string[]): string {
  const note = `<!-- Written by npm run generate from ${source}: change it there. -->`;
  return `${[`# ${title}`, note, ...sections].join('\n\n')}\n`;
}
