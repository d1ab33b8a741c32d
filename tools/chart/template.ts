import { stringify } from 'yaml';
import type { KubeManifest } from '../install/kustomization.ts';

/** Text that no manifest holds. */
const mark = (index: number): string => `HELM${index}SLOT`;

/** Places of manifests where Helm writes a value. */
export class Slots {
  readonly #texts: string[] = [];

  /** A scalar. `expression` is all that stands between the braces. */
  inline(expression: string): string {
    return this.#add(`{{ ${expression} }}`);
  }

  /**
   * Lines of a map: assign it with `object[slots.lines(…)] = null`. In a list, it is an item by itself. Write `nindent +2` for
   * two more than the place is indented by.
   */
  lines(text: string): string {
    return this.#add(text);
  }

  #add(text: string): string {
    this.#texts.push(text);
    return mark(this.#texts.length - 1);
  }

  /** A manifest as a template, with braces of its own kept as text. */
  render(object: KubeManifest): string {
    // Helm reads YAML 1.1, where `on` and `yes` are no texts.
    const yaml = stringify(object, { version: '1.1', lineWidth: 0, aliasDuplicateObjects: false });
    const escaped = yaml.replaceAll('{{', '{{ "{{" }}');
    const withLines = escaped.replaceAll(
      /^( *)(?:- )?HELM(\d+)SLOT(?:: null)?$/gm,
      (_, indent: string, index: string) => this.#indented(indent, Number(index)),
    );
    return withLines.replaceAll(/HELM(\d+)SLOT/g, (_, index: string) => this.#texts[Number(index)] ?? '');
  }

  #indented(indent: string, index: number): string {
    const lines = (this.#texts[index] ?? '').split('\n');
    const moved = lines.map((line) => (line.startsWith('{{-') ? line : indent + line));
    return moved
      .join('\n')
      .replaceAll(/nindent \+(\d+)/g, (_, more) => `nindent ${indent.length + Number(more)}`);
  }
}

/** A part of a template that is rendered on a condition. */
export const when = (condition: string, text: string): string =>
  `{{- if ${condition} }}\n${text}{{- end }}\n`;

/** A list of templates as one file. */
export const documents = (texts: readonly string[]): string => texts.map((text) => `---\n${text}`).join('');
