import { isIP } from 'node:net';
import { parse } from 'yaml';
import { readDocument, sectionOf } from './document.ts';

const mapping = sectionOf(readDocument('docs/reference/audit.md'), 'Loki and Elasticsearch');
const blockOf = (language: string): string =>
  new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'ms').exec(mapping)?.[1] ?? '';

type Path = readonly string[];

interface Stages {
  readonly json: { readonly expressions: Readonly<Record<string, string>> };
  readonly labels: Readonly<Record<string, null>>;
  readonly structured_metadata: Readonly<Record<string, null>>;
}

const stages = Object.assign({}, ...parse(blockOf('yaml')).pipeline_stages) as Stages;

/** How the page has Loki read a line. */
export const loki = {
  /** The place of each field in a line. */
  fields: Object.fromEntries(
    Object.entries(stages.json.expressions).map(([name, expression]) => [name, pathOf(expression)]),
  ),
  labels: Object.keys(stages.labels),
  metadata: Object.keys(stages.structured_metadata),
};

/** Names with dots and slashes stand in quotes. */
function pathOf(expression: string): Path {
  return [...expression.matchAll(/"([^"]+)"|([^."]+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');
}

interface Properties {
  readonly [name: string]: { readonly type: string } | { readonly properties: Properties };
}

const { mappings } = JSON.parse(blockOf('json')) as {
  readonly mappings: { readonly properties: Properties };
};

/** The fields that the page has Elasticsearch index, with their types. */
export const elasticsearchFields = leavesOf(mappings.properties, []);

function leavesOf(
  properties: Properties,
  above: Path,
): readonly { readonly path: Path; readonly type: string }[] {
  return Object.entries(properties).flatMap(([name, field]) => {
    const path = [...above, name];
    return 'properties' in field ? leavesOf(field.properties, path) : [{ path, type: field.type }];
  });
}

/** The value there; undefined where the line has none. */
export const valueAt = (line: unknown, path: Path): unknown =>
  path.reduce<unknown>((part, name) => (part as Record<string, unknown> | undefined)?.[name], line);

/** Lucene refuses a line with a longer term. */
const maxTermBytes = 32_766;
const isTerm = (value: unknown) => typeof value === 'string' && Buffer.byteLength(value) <= maxTermBytes;
const allOf = (value: unknown, isIt: (one: unknown) => boolean): boolean => [value].flat().every(isIt);
const dateAndTime = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{1,9}Z$/;

/** Whether Elasticsearch takes a value for a field of this type; a list is as many values. */
const takes: Readonly<Record<string, (value: unknown) => boolean>> = {
  date: (value) => allOf(value, (one) => typeof one === 'string' && dateAndTime.test(one)),
  keyword: (value) => allOf(value, isTerm),
  wildcard: (value) => allOf(value, (one) => typeof one === 'string'),
  ip: (value) => allOf(value, (one) => typeof one === 'string' && isIP(one) > 0),
  short: (value) => allOf(value, (one) => Number.isInteger(one) && Math.abs(one as number) < 2 ** 15),
  flattened: (value) =>
    typeof value === 'object' && !Array.isArray(value) && Object.values(value ?? {}).every(isTerm),
};

/** The fields of a line that Elasticsearch would refuse. */
export const refusedFields = (line: unknown): readonly string[] =>
  elasticsearchFields
    .filter(({ path, type }) => {
      const value = valueAt(line, path);
      return value !== undefined && takes[type]?.(value) !== true;
    })
    .map(({ path, type }) => `${path.join('.')}, no ${type}: ${JSON.stringify(valueAt(line, path))}`);
