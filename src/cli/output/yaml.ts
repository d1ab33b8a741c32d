import { isObject } from '../../api/json.ts';
import { escaped } from '../shared/failure.ts';

/** As people and programs read it, with a newline at the end. */
export const toJSON = (value: unknown): string => `${escaped(JSON.stringify(value, null, 2))}\n`;

/** JSON values as YAML in blocks. Texts are plain where nothing else could be meant, and else as in JSON, which is YAML. */
export function toYAML(value: unknown): string {
  return `${linesOf(value).join('\n')}\n`;
}

function linesOf(value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.length === 0 ? ['[]'] : value.flatMap(itemLines);
  if (!isObject(value)) return [scalar(value)];
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return members.length === 0 ? ['{}'] : members.flatMap(([name, member]) => memberLines(name, member));
}

function itemLines(item: unknown): readonly string[] {
  const [first = '', ...rest] = linesOf(item);
  return [`- ${first}`, ...rest.map((line) => `  ${line}`)];
}

function memberLines(name: string, member: unknown): readonly string[] {
  const lines = linesOf(member);
  const isBlock = (Array.isArray(member) || isObject(member)) && !/^(?:\[\]|\{\})$/.test(lines[0] ?? '');
  if (!isBlock) return [`${scalar(name)}: ${lines[0]}`];
  // Lists stand at the level of their name, as kubectl writes them.
  const indent = Array.isArray(member) ? '' : '  ';
  return [`${scalar(name)}:`, ...lines.map((line) => indent + line)];
}

const plain = /^[A-Za-z/][\w./-]*(?::[\w./-]+)*$/;
/** Words that a reader of YAML 1.1 or 1.2 takes for something else than a text. */
const taken = /^(?:y|n|yes|no|true|false|on|off|null|~|e-?\d[\d_]*)$/i;

function scalar(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value) ?? 'null';
  return plain.test(value) && !taken.test(value) ? value : escaped(JSON.stringify(value));
}
